// SPDX-License-Identifier: Apache-2.0
//
// Starts the page.
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
void openDocument().finally(() => { begun.value = true; });
