// SPDX-License-Identifier: Apache-2.0
//
// What is drawn over the lanes: the card's size, the peak, and the refused request to scale on what was in use.
import { cardBytes, peakTicket } from "../data/card";
import type { Incident } from "../data/incident";
import { beganLate } from "../history/before";
import { drawn, sizeText } from "../parts/units";
import { device } from "../session";
import type { Line, Mark } from "./lanes_chart";
import type { LaneSource } from "./lanes_source";
import { patternOf } from "./palette";

const kOutermost: Line[] = [
  { lane: "used", paint: "used", filled: false, width: 1.25 },
  { lane: "reserved", paint: "segment", filled: true },
];
const kActive: Line = { lane: "active", paint: "active", filled: true, width: 1.75 };
const kInside = [...kOutermost, kActive];
const kInsideLate: Line[] = [...kOutermost, { lane: "in_use", paint: "before", filled: true }, kActive];

// From the whole device inwards.
export function insideOf(incident: Incident): Line[] {
  return beganLate(incident) ? kInsideLate : kInside;
}

export function totalBytes(incident: Incident): number | null {
  return drawn(cardBytes(incident.receipt.evidence, device.value));
}

export function marksOf(incident: Incident, source: LaneSource): Mark[] {
  const { evidence } = incident.receipt;
  const marks: Mark[] = [];
  const peak = drawn(peakTicket(evidence, device.value));
  if (peak !== null) marks.push({ at: source.ofTicket(peak), paint: "peak", text: "peak", dash: [2, 3] });
  const { failure, ledgers } = evidence;
  if (failure !== null && failure.device === device.value) {
    const asked = drawn(failure.request_bytes ?? failure.segment_request_bytes) ?? 0;
    const active = drawn(failure.request_bytes === null ? ledgers?.reserved_bytes : (ledgers?.active_bytes ?? ledgers?.allocated_bytes)) ?? 0;
    const mark: Mark = { at: source.ofTicket(Number(failure.ticket)), paint: "request", text: "failure" };
    // A size that is corrupt would leave no room for anything else.
    const fits = asked < 4 * Math.max(1, totalBytes(incident) ?? asked);
    if (fits) mark.box = { from_bytes: active, to_bytes: active + asked, text: `asked ${sizeText(asked)}`, pattern: patternOf("request") };
    marks.push(mark);
  }
  return marks;
}
