// SPDX-License-Identifier: Apache-2.0
//
// Buttons of the axis: which stretch is shown, and in which order.
import type { Incident } from "../data/incident";
import { axis, instant, session, span } from "../session";
import type { LaneSource } from "./lanes_source";
import { instantPlace, showAround, shown, zoom } from "./lanes_state";

export function LaneTools({ incident, source }: { incident: Incident; source: LaneSource }) {
  const [from, to] = shown(source);
  const middle = instantPlace(source, instant.value);
  const around = middle >= from && middle <= to ? middle : (from + to) / 2;
  const failure = session.value?.history.failureRow ?? null;
  return (
    <div class="row between screen-only">
      <div class="row" role="group" aria-label="stretch">
        <button type="button" aria-label="zoom in" onClick={() => zoom(source, 0.5, around)}>
          +
        </button>
        <button type="button" aria-label="zoom out" onClick={() => zoom(source, 2, around)} disabled={span.value === null}>
          −
        </button>
        <button
          type="button"
          onClick={() => {
            span.value = null;
          }}
          disabled={span.value === null}
        >
          whole window
        </button>
        {failure !== null && (
          <button type="button" onClick={() => showAround(source, failure)}>
            around the failure
          </button>
        )}
        <button type="button" onClick={() => showAround(source, instant.value)}>
          around the instant
        </button>
      </div>
      <div class="row" role="group" aria-label="axis">
        <button
          type="button"
          aria-pressed={axis.value === "events"}
          onClick={() => {
            axis.value = "events";
          }}
        >
          event order
        </button>
        <button
          type="button"
          aria-pressed={axis.value === "time"}
          disabled={!incident.outline.clock}
          title={incident.outline.clock ? "since the first event" : "the recording tells no time"}
          onClick={() => {
            axis.value = "time";
          }}
        >
          real time
        </button>
      </div>
    </div>
  );
}
