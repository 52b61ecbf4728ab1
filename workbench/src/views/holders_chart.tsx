// SPDX-License-Identifier: Apache-2.0
//
// Who holds the card over time: a stack that adds up to it. The rule: a column is the state at one instant and no mixture of several, so that it adds
// up; of the events in a column it is that with most active bytes, of a run of summarised ones its last. What is not known is not drawn as free.
import { useLayoutEffect, useRef } from "preact/hooks";
import type { Incident } from "../data/incident";
import { beganLate } from "../history/before";
import { byteSteps, firstFrom, runAt } from "../parts/lane_points";
import { grouped, sizeText, stepText } from "../parts/units";
import { drawnIn, printing } from "../session";
import { font, sizeCanvas } from "./canvas";
import { kDrawnLanes, type DrawnLane, type LaneSource } from "./lanes_source";
import { kLeft_px, kRight_px, shown } from "./lanes_state";
import { colour, fillRect, patternOf, type Paint } from "./palette";

type Values = Record<DrawnLane, number>;

export interface HeldPart {
  paint: Paint;
  text: string;
  of: (at: Values) => number;
}

const kActive: HeldPart = { paint: "active", text: "active", of: (at) => at.active };
const kFree: HeldPart = { paint: "reusable", text: "free inside segments", of: (at) => Math.max(0, at.reserved - at.active) };
const kOutside: HeldPart[] = [
  { paint: "library", text: "other libraries", of: (at) => at.own_outside },
  { paint: "others", text: "other processes", of: (at) => at.other_processes },
  { paint: "residual", text: "context, modules (residual)", of: (at) => at.unattributed },
];
const kSeen = [kActive, kFree, ...kOutside];

// Where it is not known how much was there before the recording, neither is how much is free.
const kLate: HeldPart[] = [
  kActive,
  { paint: "before", text: "before recording", of: (at) => at.in_use - at.active },
  { ...kFree, of: (at) => Math.max(0, at.reserved - at.in_use) },
  { paint: "segment", text: "free, or before recording", of: (at) => (Number.isNaN(at.in_use) ? kFree.of(at) : 0) },
  ...kOutside,
];

export function heldParts(incident: Incident): HeldPart[] {
  return beganLate(incident) ? kLate : kSeen;
}
const kAxis_px = 24;

// Row with most active bytes in [first, end).
function fullest(active: ArrayLike<number>, first: number, end: number): number {
  let best = first;
  for (let row = first; row < end; ++row) if (active[row] > active[best] || Number.isNaN(active[best])) best = row;
  return best;
}

function columns(source: LaneSource, from: number, to: number, cells: number): (Values | null)[] {
  const lanes = kDrawnLanes.map((lane) => source.lane(lane));
  const rows = source.positions.rows;
  const of = (pick: (lane: number) => number) => Object.fromEntries(kDrawnLanes.map((lane, at) => [lane, pick(at)])) as Values;
  return Array.from({ length: cells }, (_, cell) => {
    const left = from + ((to - from) * cell) / cells;
    const right = from + ((to - from) * (cell + 1)) / cells;
    const run = runAt(source.positions, left);
    if (run >= 0) return of((lane) => lanes[lane].last[run]);
    const active = lanes[0].rows?.values;
    if (active === undefined) return null;
    const first = firstFrom(rows, left);
    const end = firstFrom(rows, right);
    const row = end > first ? fullest(active, first, end) : first - 1;
    return row < 0 || (first >= rows.length && end === first && left > rows[rows.length - 1]) ? null : of((lane) => lanes[lane].rows!.values[row]);
  });
}

interface ChartProps {
  parts: HeldPart[];
  source: LaneSource;
  total_bytes: number | null;
  observed: Float64Array; // places of answers of the device
  width_px: number;
}

export function HeldChart({ parts, source, total_bytes, observed, width_px }: ChartProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [from, to] = shown(source);
  const theme = drawnIn.value;
  const height_px = printing.value ? 200 : 300;
  useLayoutEffect(() => {
    const wide_px = Math.floor(width_px - kLeft_px - kRight_px);
    if (canvas.current === null || wide_px < 20) return;
    const context = sizeCanvas(canvas.current, width_px, height_px + kAxis_px);
    const stack = columns(source, from, to, wide_px);
    const most = stack.reduce(
      (top, at) =>
        at === null
          ? top
          : Math.max(
              top,
              parts.reduce((sum, part) => sum + (part.of(at) || 0), 0),
            ),
      0,
    );
    const top = Math.max(1, total_bytes ?? most);
    const scale = (height_px - 14) / (Math.max(top, most) || 1);
    const bottom_px = height_px;
    if (total_bytes !== null) {
      const high_px = total_bytes * scale;
      context.fillStyle = colour("free");
      for (const [first, end] of knownStretches(stack)) context.fillRect(kLeft_px + first, bottom_px - high_px, end - first, high_px);
    }
    drawParts(context, parts, stack, scale, bottom_px);
    drawAxes(context, source, [from, to], Math.max(top, most), scale, width_px, height_px);
    if (total_bytes !== null) drawTotal(context, total_bytes, bottom_px - total_bytes * scale, wide_px);
    context.fillStyle = colour("text");
    for (let at = firstFrom(observed, from), before = -9; at < observed.length && observed[at] <= to; ++at) {
      const x = kLeft_px + ((observed[at] - from) / (to - from)) * wide_px;
      if (x - before < 1) continue;
      context.fillRect(Math.round(x), 0, 1, 6);
      before = x;
    }
  }, [parts, source, total_bytes, observed, width_px, height_px, from, to, theme]);
  return (
    <canvas
      ref={canvas}
      class="drawn"
      role="img"
      aria-label="who holds the card, over the events shown; the table below has the numbers of the instant"
    />
  );
}

// Stretches of columns where it is known what the device had free: elsewhere what is over is as likely somebody's.
export function knownStretches(stack: (Pick<Values, "used"> | null)[]): [first: number, end: number][] {
  const found: [number, number][] = [];
  stack.forEach((at, cell) => {
    if (at === null || Number.isNaN(at.used)) return;
    const last = found[found.length - 1];
    if (last !== undefined && last[1] === cell) last[1] = cell + 1;
    else found.push([cell, cell + 1]);
  });
  return found;
}

// Column by column in runs of equal height, so that a pattern is not cut into slices.
function drawParts(context: CanvasRenderingContext2D, parts: HeldPart[], stack: (Values | null)[], scale: number, bottom_px: number): void {
  const below = new Float64Array(stack.length);
  for (const part of parts) {
    const paint = colour(part.paint);
    const pattern = patternOf(part.paint);
    let start = 0;
    for (let cell = 0; cell <= stack.length; ++cell) {
      const same =
        cell < stack.length && cell > start && heightOf(stack[cell], part) === heightOf(stack[start], part) && below[cell] === below[start];
      if (cell === start || same) continue;
      const height_px = heightOf(stack[start], part) * scale;
      if (height_px > 0) fillRect(context, paint, pattern, kLeft_px + start, bottom_px - below[start] * scale - height_px, cell - start, height_px);
      start = cell;
    }
    stack.forEach((at, cell) => {
      below[cell] += heightOf(at, part);
    });
  }
}

function heightOf(at: Values | null, part: HeldPart): number {
  return at === null ? 0 : Math.max(0, part.of(at) || 0);
}

function drawTotal(context: CanvasRenderingContext2D, total_bytes: number, y: number, wide_px: number): void {
  context.strokeStyle = colour("text");
  context.setLineDash([5, 4]);
  context.beginPath();
  context.moveTo(kLeft_px, y);
  context.lineTo(kLeft_px + wide_px, y);
  context.stroke();
  context.setLineDash([]);
  context.font = font(11);
  context.textAlign = "left";
  context.textBaseline = "top";
  const text = `the card, ${sizeText(total_bytes)}`;
  context.strokeStyle = colour("card");
  context.lineWidth = 3;
  context.strokeText(text, kLeft_px + 4, y + 3);
  context.fillStyle = colour("text");
  context.fillText(text, kLeft_px + 4, y + 3);
  context.lineWidth = 1;
}

function drawAxes(
  context: CanvasRenderingContext2D,
  source: LaneSource,
  [from, to]: [number, number],
  top: number,
  scale: number,
  width_px: number,
  height_px: number,
): void {
  context.font = font(12);
  context.fillStyle = colour("quiet");
  context.textAlign = "right";
  context.textBaseline = "middle";
  for (const step of byteSteps(top, 6)) {
    const y = height_px - step * scale;
    context.fillText(stepText(step), kLeft_px - 8, Math.min(height_px - 5, y));
    context.fillRect(kLeft_px - 5, y, 5, 1);
  }
  context.textBaseline = "top";
  const [left, right] = [Math.max(0, Math.round(source.ticketAt(from))), Math.round(source.ticketAt(to))];
  context.textAlign = "left";
  context.fillText(`ticket ${grouped(left)}`, kLeft_px, height_px + 6);
  context.textAlign = "right";
  context.fillText(grouped(right), width_px - kRight_px, height_px + 6);
}
