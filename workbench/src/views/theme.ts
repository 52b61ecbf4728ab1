// SPDX-License-Identifier: Apache-2.0
//
// Light and dark: as the system has it until the reader says otherwise, which is forgotten with the page.
import { effect } from "@preact/signals";
import { drawnIn, printing, theme } from "../session";

export function followTheme(): void {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const apply = () => {
    const wanted = theme.value === "system" ? (dark.matches ? "dark" : "light") : theme.value;
    const drawn = printing.value ? "light" : wanted;
    document.documentElement.dataset.theme = drawn;
    drawnIn.value = drawn;
  };
  dark.addEventListener("change", apply);
  effect(apply);
}

export function nextTheme(): void {
  theme.value = drawnIn.value === "dark" ? "light" : "dark";
}
