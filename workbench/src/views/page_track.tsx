// SPDX-License-Identifier: Apache-2.0
//
// The slider of the instant, on the outline of what was active: where something rose is seen before one goes there.
import { useLayoutEffect, useRef } from "preact/hooks";
import { Extremes } from "../parts/extremes";
import { device, drawnIn, instant, reference, session } from "../session";
import { colour } from "./palette";
import { failureRow, goTo, instantText, lastRow } from "./instant";
import { sizeCanvas, useWidth } from "./canvas";

const kHeight_px = 30;

export function InstantTrack() {
  const canvas = useRef<HTMLCanvasElement>(null);
  const box = useRef<HTMLDivElement>(null);
  const width_px = useWidth(box);
  const last = lastRow();
  const now = session.value;
  const theme = drawnIn.value;
  const one = device.value;
  const compared = reference.value;
  useLayoutEffect(() => {
    if (now === null || canvas.current === null || width_px < 2) return;
    const context = sizeCanvas(canvas.current, width_px, kHeight_px);
    const active = new Extremes(now.history.lane(one, "active"));
    const top = active.over(0, last + 1)?.greatest ?? 1;
    const x = (row: number) => ((row + 1) / (last + 1)) * width_px;
    context.fillStyle = colour("reusable");
    for (let at = 0; at < width_px; ++at) {
      const from = Math.floor((at / width_px) * (last + 1));
      const run = active.over(from, Math.max(from + 1, Math.floor(((at + 1) / width_px) * (last + 1))));
      if (run === null) continue;
      const height_px = (run.greatest / Math.max(1, top)) * (kHeight_px - 4);
      context.fillRect(at, kHeight_px - height_px, 1, height_px);
    }
    const mark = (row: number | null, paint: string) => {
      if (row === null) return;
      context.fillStyle = paint;
      context.fillRect(Math.min(width_px - 2, Math.max(0, x(row) - 1)), 0, 2, kHeight_px);
    };
    mark(now.history.peakRow(one), colour("peak"));
    mark(compared, colour("others"));
    mark(failureRow(), colour("request"));
  }, [now, width_px, theme, one, compared]);
  return (
    <div class="track" ref={box}>
      <canvas ref={canvas} aria-hidden="true" />
      <input
        type="range"
        aria-label="instant"
        min={-1}
        max={last}
        step={1}
        value={instant.value}
        aria-valuetext={instantText(instant.value)}
        onInput={(event) => goTo(Number(event.currentTarget.value))}
      />
    </div>
  );
}
