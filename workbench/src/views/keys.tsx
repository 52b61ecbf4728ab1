// SPDX-License-Identifier: Apache-2.0
//
// Keys that work everywhere, and the list of them. The rule: the list is made of the table that the keys are handled by, so that it cannot lie.
// What a view does with arrows and Enter while it has the focus stands in `kViewKeys`.
import { useEffect, useRef } from "preact/hooks";
import { pressOpen } from "./open";
import { goTo, goToFailure, goToLandmark, goToPeak, lastRow, togglePlaying } from "./instant";
import { axis, helping, instant, reference, span, view } from "../session";
import type { ViewEntry } from "./page";
import { nextTheme } from "./theme";

interface Key {
  key: string;
  text: string;
  press: () => void;
}

export const kGlobalKeys: Key[] = [
  { key: ",", text: "one event back", press: () => goTo(instant.value - 1) },
  { key: ".", text: "one event on", press: () => goTo(instant.value + 1) },
  { key: "[", text: "previous allocation or failure", press: () => goToLandmark(-1) },
  { key: "]", text: "next allocation or failure", press: () => goToLandmark(1) },
  { key: "f", text: "to the failure", press: goToFailure },
  { key: "p", text: "to the peak", press: goToPeak },
  { key: "e", text: "to the last event", press: () => goTo(lastRow()) },
  { key: "g", text: "to a ticket: type it, Enter", press: () => document.getElementById("ticket")?.focus() },
  {
    key: "r",
    text: "compare with this instant, or no more",
    press: () => {
      reference.value = reference.value === null ? instant.value : null;
    },
  },
  {
    key: " ",
    text: "play, pause",
    press: togglePlaying,
  },
  {
    key: "x",
    text: "event order or real time",
    press: () => {
      axis.value = axis.value === "events" ? "time" : "events";
    },
  },
  {
    key: "a",
    text: "lanes show the whole window",
    press: () => {
      span.value = null;
    },
  },
  { key: "o", text: "open a file", press: pressOpen },
  { key: "t", text: "light or dark", press: nextTheme },
  {
    key: "?",
    text: "this list",
    press: () => {
      helping.value = !helping.value;
    },
  },
];

const kViewKeys: [string, string][] = [
  ["← →", "tabs: the next view; slider, lanes: one event (shift: a tenth of what is shown)"],
  ["↑ ↓", "lanes: next and previous allocation; tables: rows"],
  ["+ −", "lanes, memory map: zoom"],
  ["Home End", "first and last of what is shown"],
  ["PgUp PgDn", "lanes: move the stretch; events: a page of rows"],
  ["Enter", "choose, open what is chosen; flame graph: into the frame"],
  ["Esc", "close, go back; flame graph: all of it"],
  ["arrows", "memory map: blocks by address, rows above and below; flame graph: frames"],
  ["h s", "memory map: the largest hole; highlight the site"],
  ["Backspace /", "flame graph: out of the frame; search"],
  ["n N c", "events: next and previous hit; copy the row"],
];

// Where letters are text, or the focused thing has keys of its own.
function takesKeys(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable ||
      ["TEXTAREA", "SELECT"].includes(target.tagName) ||
      (target instanceof HTMLInputElement && !["range", "checkbox", "radio", "button"].includes(target.type)))
  );
}

export function useKeys(views: () => ViewEntry[]): void {
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || takesKeys(event.target)) return;
      // A button is pressed by the space bar.
      if (event.key === " " && event.target instanceof HTMLElement && event.target.matches("button, a, summary, [role=tab], [role=option], input"))
        return;
      if (!helping.value && document.querySelector("dialog[open]") !== null) return;
      if (event.key === "Escape" && helping.value) helping.value = false;
      if (helping.value && event.key !== "?") return;
      const entry = views().find((one) => one.key === event.key);
      const key = kGlobalKeys.find((one) => one.key === event.key);
      if (entry === undefined && key === undefined) return;
      event.preventDefault();
      if (entry !== undefined) view.value = entry.id;
      else key!.press();
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, []);
}

export function KeyList({ views }: { views: ViewEntry[] }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const shown = helping.value;
  useEffect(() => {
    if (shown) dialog.current?.showModal();
    else dialog.current?.close();
  }, [shown]);
  const row = (key: string, text: string) => (
    <tr>
      <th scope="row">
        <kbd>{key === " " ? "Space" : key}</kbd>
      </th>
      <td>{text}</td>
    </tr>
  );
  return (
    <dialog
      ref={dialog}
      class="keys"
      aria-labelledby="keys-title"
      onClose={() => {
        helping.value = false;
      }}
    >
      <div class="row between">
        <h2 id="keys-title">Keys</h2>
        <button
          type="button"
          onClick={() => {
            helping.value = false;
          }}
        >
          close
        </button>
      </div>
      <div class="columns">
        <table>
          <caption>everywhere</caption>
          <tbody>{kGlobalKeys.map((key) => row(key.key, key.text))}</tbody>
        </table>
        <div class="stack">
          <table>
            <caption>views</caption>
            <tbody>{views.map((entry) => row(entry.key, entry.title))}</tbody>
          </table>
          <table>
            <caption>where the focus is</caption>
            <tbody>{kViewKeys.map(([key, text]) => row(key, text))}</tbody>
          </table>
        </div>
      </div>
    </dialog>
  );
}
