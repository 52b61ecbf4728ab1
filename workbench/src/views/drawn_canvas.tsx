// SPDX-License-Identifier: Apache-2.0
//
// A canvas that draws itself. The rule: what is drawn depends on the signals that `draw` reads and on its size, and is drawn again when one of
// them changes; who uses it gives a text alternative.
import { effect, signal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { sizeCanvas, useWidth } from "./canvas";

export type Draw = (context: CanvasRenderingContext2D, width_px: number, height_px: number) => void;

interface CanvasProps extends Omit<JSX.HTMLAttributes<HTMLCanvasElement>, "height" | "width" | "ref"> {
  draw: Draw;
  height_px: number;
  onWidth: (width_px: number) => void;
}

// For what grows with the window, so that it is seen together with the bar of the instant.
export const window_px = signal(typeof innerHeight === "number" ? innerHeight : 900);
if (typeof addEventListener === "function")
  addEventListener("resize", () => {
    window_px.value = innerHeight;
  });

let family = "";

// The page's own letters: a canvas knows nothing of the style sheet.
export function canvasFont(style: string): string {
  family ||= getComputedStyle(document.body).fontFamily;
  return `${style} ${family}`;
}

export function DrawnCanvas({ draw, height_px, onWidth, ...attributes }: CanvasProps) {
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const width_px = useWidth(box);
  useLayoutEffect(() => onWidth(width_px), [width_px]);
  useEffect(
    () =>
      effect(() => {
        if (canvas.current === null || width_px <= 0) return;
        draw(sizeCanvas(canvas.current, width_px, height_px), width_px, height_px);
      }),
    [draw, height_px, width_px],
  );
  return (
    <div ref={box}>
      <canvas {...attributes} ref={canvas} />
    </div>
  );
}
