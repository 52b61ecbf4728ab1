// SPDX-License-Identifier: Apache-2.0
//
// The instant that all views share: a slider over the events, steps, jumps, and playing. The rule: whoever cannot see is told the instant as well,
// once it rests.
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { amountText, grouped } from "../parts/units";
import { device, instant, playing, reference, session } from "../session";
import {
  eventText,
  failureRow,
  goTo,
  goToFailure,
  goToLandmark,
  goToTicket,
  instantText,
  landmarkText,
  lastRow,
  ticketOf,
  timeText,
  togglePlaying,
} from "./instant";
import { InstantTrack } from "./page_track";
import { PeakButton } from "./instant_buttons";

const kPlayed_ms = 120; // between two events

function usePlaying(): void {
  useEffect(() => {
    if (!playing.value) return;
    const timer = setInterval(() => {
      if (instant.value >= lastRow()) playing.value = false;
      else goTo(instant.value + 1);
    }, kPlayed_ms);
    return () => clearInterval(timer);
  }, [playing.value]);
}

function Spoken() {
  const spoken = useSignal("");
  const row = instant.value;
  useEffect(() => {
    const timer = setTimeout(() => {
      const active = session.value === null || row < 0 ? NaN : session.value.history.lane(device.value, "active")[row];
      spoken.value = `${instantText(row)}, ${eventText(row, amountText)}${Number.isNaN(active) ? "" : `, active ${amountText(active)}`}`;
    }, 400);
    return () => clearTimeout(timer);
  }, [row, device.value]);
  return (
    <p class="visually-hidden" aria-live="polite">
      {spoken.value}
    </p>
  );
}

function Ticket() {
  const ticket = ticketOf(instant.value);
  const go = (event: Event) => {
    event.preventDefault();
    const input = (event.currentTarget as HTMLFormElement).elements.namedItem("ticket") as HTMLInputElement;
    const typed = Number(input.value.replace(/[,\s]/g, ""));
    if (input.value !== "" && Number.isFinite(typed)) goToTicket(typed);
    input.value = "";
    input.blur();
  };
  return (
    <form class="row" onSubmit={go}>
      <label class="small quiet" for="ticket">
        ticket
      </label>
      <input
        id="ticket"
        name="ticket"
        type="text"
        inputMode="numeric"
        size={9}
        autocomplete="off"
        placeholder={ticket === null ? "start" : grouped(ticket)}
      />
    </form>
  );
}

export function InstantBar() {
  usePlaying();
  const row = instant.value;
  const landmark = landmarkText(row);
  const time = timeText(row);
  return (
    <section class="instant screen-only" aria-label="instant">
      <div class="row instant-row">
        <div class="instant-buttons">
          <div class="row" role="group" aria-label="steps">
            <button
              type="button"
              aria-label="previous allocation or failure"
              title="previous allocation or failure  ["
              onClick={() => goToLandmark(-1)}
            >
              <span aria-hidden="true">«</span>
            </button>
            <button type="button" aria-label="−1, one event back" title="one event back  ," onClick={() => goTo(row - 1)}>
              −1
            </button>
            <button type="button" aria-pressed={playing.value} title="play, pause  Space" onClick={togglePlaying}>
              {playing.value ? "pause" : "play"}
            </button>
            <button type="button" aria-label="+1, one event on" title="one event on  ." onClick={() => goTo(row + 1)}>
              +1
            </button>
            <button type="button" aria-label="next allocation or failure" title="next allocation or failure  ]" onClick={() => goToLandmark(1)}>
              <span aria-hidden="true">»</span>
            </button>
          </div>
          <div class="row" role="group" aria-label="jumps">
            <PeakButton text="peak" title="p" small={false} />
            {failureRow() !== null && (
              <button type="button" title="f" onClick={goToFailure}>
                failure
              </button>
            )}
            <Ticket />
            <button
              type="button"
              title="r"
              aria-pressed={reference.value !== null}
              onClick={() => {
                reference.value = reference.value === null ? row : null;
              }}
            >
              {reference.value === null ? "compare with here" : `compared with ${instantText(reference.value)}`}
            </button>
          </div>
        </div>
        <p class="instant-text small">
          <strong>{instantText(row)}</strong>
          {landmark !== null && <span class="landmark"> {landmark}</span>}
          {time !== null && <span class="quiet"> {time}</span>} <span>{eventText(row, amountText)}</span>
        </p>
      </div>
      <InstantTrack />
      <Spoken />
    </section>
  );
}
