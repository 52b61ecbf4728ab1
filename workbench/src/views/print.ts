// SPDX-License-Identifier: Apache-2.0
//
// Paper: verdict, split, lanes and sites below one another, light. The browser lays the page out as soon as the event has been handled, so what is
// drawn for paper is drawn inside it.
import { options } from "preact";
import { printing } from "../session";

function layOut(paper: boolean): void {
  if (printing.value === paper) return;
  const before = options.debounceRendering;
  options.debounceRendering = (draw) => draw();
  printing.value = paper;
  options.debounceRendering = before;
}

export function followPrinting(): void {
  addEventListener("beforeprint", () => layOut(true));
  addEventListener("afterprint", () => layOut(false));
  const paper = matchMedia("print");
  paper.addEventListener("change", () => layOut(paper.matches));
}
