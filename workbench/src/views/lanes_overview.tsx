// SPDX-License-Identifier: Apache-2.0
//
// The whole window in little, and the stretch of it that the lanes show: drag it, or drag anew.
import { useLayoutEffect, useRef } from "preact/hooks";
import type { Incident } from "../data/incident";
import { beganLate } from "../history/before";
import { sample } from "../parts/lane_points";
import { drawnIn } from "../session";
import { sizeCanvas } from "./canvas";
import type { DrawnLane, LaneSource } from "./lanes_source";
import { kLeft_px, kRight_px, show, shown } from "./lanes_state";
import { colour, type Paint } from "./palette";

const kHeight_px = 40;
const kEdge_px = 7;

type Grip = "move" | "left" | "right" | "new";

export function LaneOverview({ incident, source, width_px }: { incident: Incident; source: LaneSource; width_px: number }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const grip = useRef<{ kind: Grip; at: number; from: number; to: number } | null>(null);
  const theme = drawnIn.value;
  const wide_px = width_px - kLeft_px - kRight_px;
  const [from, to] = shown(source);
  const whole = source.to - source.from;
  const left_px = kLeft_px + ((from - source.from) / whole) * wide_px;
  const right_px = kLeft_px + ((to - source.from) / whole) * wide_px;

  useLayoutEffect(() => {
    if (canvas.current === null || wide_px < 20) return;
    const context = sizeCanvas(canvas.current, width_px, kHeight_px);
    const lanes: [DrawnLane, Paint][] = [
      ["used", "residual"],
      ["reserved", "reusable"],
      ...(beganLate(incident) ? [["in_use", "before"] as [DrawnLane, Paint]] : []),
      ["active", "active"],
    ];
    const points = sample(
      source.positions,
      lanes.map(([lane]) => source.lane(lane)),
      source.from,
      source.to,
      Math.floor(wide_px),
    );
    const top = Math.max(1, ...points.y.flat().map((value) => value ?? 0));
    lanes.forEach(([, paint], at) => {
      context.fillStyle = colour(paint);
      const x = (place: number) => kLeft_px + ((place - source.from) / whole) * wide_px;
      points.x.forEach((place, index) => {
        const value = points.y[at][index];
        if (value === null || value < 0) return;
        const height_px = (value / top) * (kHeight_px - 4);
        const end = Math.min(x(source.to), x(points.x[index + 1] ?? source.to));
        context.fillRect(x(place), kHeight_px - height_px, Math.max(1, end - x(place)), height_px);
      });
    });
  }, [source, width_px, theme]);

  const placeOf = (event: PointerEvent) => {
    const x = event.clientX - (event.currentTarget as HTMLElement).getBoundingClientRect().left;
    return source.from + Math.min(1, Math.max(0, (x - kLeft_px) / wide_px)) * whole;
  };
  const down = (event: PointerEvent) => {
    const x = event.clientX - (event.currentTarget as HTMLElement).getBoundingClientRect().left;
    const kind: Grip =
      Math.abs(x - left_px) < kEdge_px
        ? "left"
        : Math.abs(x - right_px) < kEdge_px
          ? "right"
          : x > left_px && x < right_px && (from > source.from || to < source.to)
            ? "move"
            : "new";
    grip.current = { kind, at: placeOf(event), from, to };
    (event.currentTarget as HTMLElement).setPointerCapture(event.pointerId);
  };
  const move = (event: PointerEvent) => {
    const held = grip.current;
    if (held === null) return;
    const at = placeOf(event);
    if (held.kind === "left") show(source, Math.min(at, held.to), held.to);
    else if (held.kind === "right") show(source, held.from, Math.max(at, held.from));
    else if (held.kind === "new") show(source, Math.min(at, held.at), Math.max(at, held.at));
    else {
      const by = Math.min(source.to - held.to, Math.max(source.from - held.from, at - held.at));
      show(source, held.from + by, held.to + by);
    }
  };
  const release = () => {
    grip.current = null;
  };
  return (
    <div
      class="lane-overview"
      aria-hidden="true"
      onPointerDown={down}
      onPointerMove={move}
      onPointerUp={release}
      onPointerCancel={release}
      onDblClick={() => show(source, source.from, source.to)}
    >
      <canvas ref={canvas} class="drawn" />
      <span class="brush" style={{ left: `${left_px}px`, width: `${Math.max(2, right_px - left_px)}px` }} />
    </div>
  );
}
