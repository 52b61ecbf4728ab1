// SPDX-License-Identifier: Apache-2.0
//
// Starts the page. The rule: the static line, which says what is wrong when nothing starts, goes when the page stands.
import { render } from "preact";
import { openDocument } from "./views/opening";
import { begun } from "./session";
import { Page } from "./views/page";
import { followPrinting } from "./views/print";
import { followTheme } from "./views/theme";
import "./style.css";

followTheme();
followPrinting();
render(<Page />, document.getElementById("page")!);
document.getElementById("unread")!.remove();
void openDocument().finally(() => { begun.value = true; });
