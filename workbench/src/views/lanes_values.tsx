// SPDX-License-Identifier: Apache-2.0
//
// Exact values of the lanes at the instant and under the pointer, and the same in words for who cannot see the lanes.
import type { Incident } from "../data/incident";
import type { History } from "../history/history";
import { runAt } from "../parts/lane_points";
import { amountText, exactText, grouped } from "../parts/units";
import { device, instant, session } from "../session";
import { Scroll, Swatch } from "./common";
import { instantText, peakRow, timeText } from "./instant";
import { drawnLanes, type DrawnLane, type LaneSource } from "./lanes_source";
import { hovered } from "./lanes_state";
import { patternOf, type Paint } from "./palette";

export const kLaneWords: Record<DrawnLane, { text: string; paint: Paint; known: string }> = {
  active: { text: "active", paint: "active", known: "derived" },
  in_use: { text: "active and before recording", paint: "before", known: "derived" },
  reserved: { text: "reserved", paint: "segment", known: "derived" },
  used: { text: "device used", paint: "used", known: "derived" },
  own_outside: { text: "other libraries", paint: "library", known: "observed" },
  other_processes: { text: "other processes", paint: "others", known: "observed" },
  unattributed: { text: "context, modules", paint: "residual", known: "residual" },
};

// Before the first row the state is that of `begin`, which lanes, being after rows, do not have.
function valueAt(history: History, one: number, lane: DrawnLane, row: number): number {
  return history.laneAt(one, lane, row);
}

function underPointer(source: LaneSource, lane: DrawnLane): { text: string; title: string } {
  const at = hovered.value;
  if (at === null) return { text: "", title: "" };
  const data = source.lane(lane);
  const run = runAt(source.positions, at);
  if (run >= 0) {
    const [least, greatest] = [data.least[run], data.greatest[run]];
    if (Number.isNaN(least)) return { text: "not known", title: "" };
    const title = `${exactText(least)} to ${exactText(greatest)}`;
    return { text: least === greatest ? amountText(least) : `${amountText(least)} to ${amountText(greatest)}`, title };
  }
  const value = data.rows?.values[source.rowAt(at)] ?? NaN;
  return Number.isNaN(value) ? { text: "not known", title: "" } : { text: amountText(value), title: exactText(value) };
}

function pointerText(source: LaneSource): string {
  const at = hovered.value;
  if (at === null) return "under the pointer";
  const run = runAt(source.positions, at);
  if (run < 0) return instantText(source.rowAt(at));
  return `a run before ticket ${grouped(Math.round(source.ticketAt(source.positions.runTo[run])) + 1)}`;
}

export function LaneValues({ incident, source }: { incident: Incident; source: LaneSource }) {
  const now = session.value;
  const row = instant.value;
  const time = timeText(row);
  return (
    <Scroll label="values of the lanes">
      <table class="lane-values">
        <caption>
          {instantText(row)}
          {time !== null && `, ${time} after the first event`}
        </caption>
        <thead>
          <tr>
            <th scope="col">lane</th>
            <th scope="col" class="number">
              at the instant
            </th>
            <th scope="col" class="number">
              exactly
            </th>
            <th scope="col" class="number pointer">
              {pointerText(source)}
            </th>
            <th scope="col">known as</th>
          </tr>
        </thead>
        <tbody>
          {drawnLanes(incident).map((lane) => {
            const { text, paint, known } = kLaneWords[lane];
            const value = now === null ? NaN : valueAt(now.history, device.value, lane, row);
            const pointed = underPointer(source, lane);
            return (
              <tr>
                <th scope="row" class="nowrap">
                  <Swatch name={paint} pattern={patternOf(paint)} /> {text}
                </th>
                <td class="number">{Number.isNaN(value) ? <span class="quiet">not known</span> : amountText(value)}</td>
                <td class="number mono tiny">{Number.isNaN(value) ? "" : grouped(value)}</td>
                <td class="number" title={pointed.title}>
                  {pointed.text}
                </td>
                <td class="quiet">{known}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </Scroll>
  );
}

// The lanes at the instants that matter.
export function LaneWords({ incident }: { incident: Incident }) {
  const now = session.value;
  if (now === null) return null;
  const { history } = now;
  const lanes = drawnLanes(incident);
  const last = history.rows - 1;
  const rows: [string, number][] = [["begin", -1]];
  const peak = peakRow();
  if (peak !== null) rows.push(["peak", peak]);
  if (history.failureRow !== null && incident.receipt.evidence.failure?.device === device.value) rows.push(["failure", history.failureRow]);
  rows.push(["end", last], ["instant", instant.value]);
  return (
    <details class="small">
      <summary>The lanes as a table</summary>
      <Scroll label="the lanes as a table">
        <table>
          <caption>
            bytes at the instants that matter; exactly, without rounding{peak === null && "; the peak is not among the events of this page"}
          </caption>
          <thead>
            <tr>
              <th scope="col">at</th>
              <th scope="col">event</th>
              {lanes.map((lane) => (
                <th scope="col" class="number">
                  {kLaneWords[lane].text}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map(([name, row]) => (
              <tr>
                <th scope="row">{name}</th>
                <td>{instantText(row)}</td>
                {lanes.map((lane) => {
                  const value = valueAt(history, device.value, lane, row);
                  return <td class="number">{Number.isNaN(value) ? "not known" : grouped(value)}</td>;
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
    </details>
  );
}
