// SPDX-License-Identifier: Apache-2.0
//
// Buttons that go to instants. The rule: where the page does not hold that instant one by one it goes nowhere, least of all to another event.
import type { Count } from "../data/receipt";
import { grouped } from "../parts/units";
import { view, type ViewName } from "../session";
import { goTo, goToPeak, peakRow, rowOfTicket } from "./instant";

interface PeakShape {
  text: string;
  title?: string;
  small?: boolean;
  then?: () => void;
}

export function PeakButton({ text, title, small = true, then }: PeakShape) {
  const isHere = peakRow() !== null;
  const press = () => {
    goToPeak();
    then?.();
  };
  return (
    <button
      type="button"
      class={small ? "small" : ""}
      title={isHere ? title : "the peak is not among the events of this page"}
      disabled={!isHere}
      onClick={press}
    >
      {text}
    </button>
  );
}

// A ticket as a way to its event in a view; as text where that event is not on the page.
export function TicketButton({ ticket, to, text, title }: { ticket: Count; to: ViewName; text?: string; title?: string }) {
  const row = rowOfTicket(ticket);
  const shown = text ?? grouped(ticket);
  if (row === null) return <>{shown}</>;
  const press = () => {
    goTo(row);
    view.value = to;
  };
  return (
    <button type="button" class="plain" title={title ?? "go to this instant"} onClick={press}>
      {shown}
    </button>
  );
}
