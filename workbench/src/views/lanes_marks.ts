// SPDX-License-Identifier: Apache-2.0
//
// What is drawn over the lanes: the card's size, the peak, and the refused request to scale on what was in use.
import type { Incident } from "../data/incident";
import { drawn, sizeText } from "../parts/units";
import { device } from "../session";
import type { Line, Mark } from "./lanes_chart";
import type { LaneSource } from "./lanes_source";
import { patternOf } from "./palette";

export const kInside: Line[] = [
  { lane: "used", paint: "used", filled: false, width: 1.25 },
  { lane: "reserved", paint: "segment", filled: true },
  { lane: "active", paint: "active", filled: true, width: 1.75 },
];

export function totalBytes(incident: Incident): number | null {
  const { evidence } = incident.receipt;
  const one = device.value;
  const told = evidence.holders.find((balance) => balance.device === one && balance.total_bytes !== null)?.total_bytes ?? null;
  return drawn(evidence.failure?.device === one ? (evidence.ledgers?.total_bytes ?? told) : told);
}

function peakTicket(incident: Incident): number | null {
  const { evidence } = incident.receipt;
  const peak = evidence.peak as { active_ticket: number | string } | null;
  if (peak !== null && evidence.failure?.device === device.value) return drawn(peak.active_ticket);
  return drawn(evidence.holders.find((one) => one.device === device.value && one.instant === "peak")?.ticket);
}

export function marksOf(incident: Incident, source: LaneSource): Mark[] {
  const { evidence } = incident.receipt;
  const marks: Mark[] = [];
  const peak = peakTicket(incident);
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
