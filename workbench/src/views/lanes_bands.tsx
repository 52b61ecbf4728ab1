// SPDX-License-Identifier: Apache-2.0
//
// Steps and phases under the lanes, on the same axis. The rule: what is too narrow for a stretch of its own is drawn as one, never left out.
import { useLayoutEffect, useRef } from "preact/hooks";
import type { Incident } from "../data/incident";
import { grouped } from "../parts/units";
import { drawnIn } from "../session";
import { font, sizeCanvas } from "./canvas";
import { bandsOf, type Bands } from "./lanes_ranges";
import type { LaneSource } from "./lanes_source";
import { kLeft_px, kRight_px, shown } from "./lanes_state";
import { book } from "./names";
import { colour, fillRect, ordinalColour, ordinalPattern } from "./palette";

const kRow_px = 18;

// The first of the texts that fits; none where all are too long.
function drawText(context: CanvasRenderingContext2D, texts: string[], x: number, y: number, width_px: number): void {
  if (width_px < 12) return;
  context.font = font(11);
  const text = texts.find((one) => context.measureText(one).width <= width_px - 7);
  if (text === undefined) return;
  context.textBaseline = "middle";
  context.textAlign = "left";
  context.lineWidth = 3;
  context.strokeStyle = colour("card");
  context.strokeText(text, x + 4, y + kRow_px / 2 - 1);
  context.fillStyle = colour("text");
  context.fillText(text, x + 4, y + kRow_px / 2 - 1);
}

function drawSteps(context: CanvasRenderingContext2D, bands: Bands, place: (row: number) => number, right_px: number): void {
  let before = kLeft_px;
  let odd = false;
  for (let at = 0; at <= bands.steps.length; ++at) {
    const open = at === bands.steps.length;
    const x = open ? right_px : Math.min(right_px, Math.max(kLeft_px, place(bands.steps[at])));
    odd = !odd;
    if (x - before < 1 && !open) continue;
    context.fillStyle = colour(odd ? "line" : "ground");
    context.fillRect(before, 0, x - before, kRow_px - 2);
    const number = open ? (bands.stepNumber.at(-1) ?? 0) + 1 : bands.stepNumber[at];
    if (x > before && bands.steps.length > 0) drawText(context, [`step ${grouped(number)}`, grouped(number)], before, 0, x - before);
    before = x;
    if (x >= right_px) break;
  }
}

function drawRanges(
  context: CanvasRenderingContext2D,
  bands: Bands,
  name: (phase: number) => string,
  place: (row: number) => number,
  right_px: number,
): void {
  const reached = new Map<number, number>();
  for (const range of bands.ranges) {
    const from = Math.max(kLeft_px, place(range.from));
    const to = Math.min(right_px, place(range.to));
    if (to < kLeft_px || from > right_px || to <= (reached.get(range.depth) ?? -1)) continue;
    const width_px = Math.max(1, to - from);
    const y = kRow_px * (1 + range.depth);
    fillRect(context, ordinalColour(range.phase), ordinalPattern(range.phase), from, y, width_px, kRow_px - 2);
    drawText(context, [name(range.phase)], from, y, width_px);
    reached.set(range.depth, Math.floor(from + width_px));
  }
}

export function LaneBands({ incident, source, width_px }: { incident: Incident; source: LaneSource; width_px: number }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const bands = bandsOf(incident);
  const rows = bands.deepest + 1;
  const theme = drawnIn.value;
  const [from, to] = shown(source);
  const nothing = bands.steps.length === 0 && bands.ranges.length === 0;
  useLayoutEffect(() => {
    if (canvas.current === null || width_px < 80) return;
    const context = sizeCanvas(canvas.current, width_px, kRow_px * rows);
    const right_px = width_px - kRight_px;
    const place = (row: number) => kLeft_px + ((source.positions.rows[row] - from) / (to - from)) * (right_px - kLeft_px);
    const names = book(incident);
    context.font = font(11);
    context.fillStyle = colour("quiet");
    context.textAlign = "right";
    context.textBaseline = "middle";
    context.fillText("steps", kLeft_px - 8, kRow_px / 2);
    if (bands.ranges.length > 0) context.fillText("phases", kLeft_px - 8, kRow_px * 1.5);
    drawSteps(context, bands, place, right_px);
    drawRanges(context, bands, (phase) => names.phase(phase), place, right_px);
  }, [incident, source, width_px, theme, from, to]);
  if (nothing) return <p class="small quiet">No step and no phase was marked in these events.</p>;
  return (
    <>
      <canvas
        ref={canvas}
        class="drawn"
        role="img"
        aria-label={`${grouped(bands.steps.length)} steps and ${grouped(bands.ranges.length)} phases over the same axis`}
      />
      {bands.threads > 1 && <p class="tiny quiet">Phases of the thread whose ranges cover most; {bands.threads - 1} other threads have some too.</p>}
    </>
  );
}

// Which part of the axis has its events one by one, where not all of it has.
export function LaneKnown({ incident, source }: { incident: Incident; source: LaneSource }) {
  const { window } = incident.outline;
  if (window.exact_event_count >= window.event_count || source.positions.rows.length === 0) return null;
  const [from, to] = shown(source);
  const rows = source.positions.rows;
  const share = (place: number) => Math.min(100, Math.max(0, ((place - from) / (to - from)) * 100));
  const [left, right] = [share(rows[0]), share(rows[rows.length - 1])];
  return (
    <div class="lane-known tiny" style={{ marginLeft: `${kLeft_px}px`, marginRight: `${kRight_px}px` }}>
      <span class="lane-exact" style={{ left: `${left}%`, width: `${right - left}%` }} />
      <span class="lane-known-text">thick line: the {grouped(window.exact_event_count)} events that are here one by one; elsewhere summarised</span>
    </div>
  );
}
