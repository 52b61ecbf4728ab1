// SPDX-License-Identifier: Apache-2.0
//
// Starts the page.
import { render } from "preact";
import { Page } from "./views/page";

render(<Page />, document.getElementById("page")!);
