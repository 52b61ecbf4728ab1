// SPDX-License-Identifier: Apache-2.0
//
// A canvas as sharp as the screen, and how wide there is room.
import { useSignal } from "@preact/signals";
import type { RefObject } from "preact";
import { useLayoutEffect } from "preact/hooks";

// Cleared, in CSS pixels.
export function sizeCanvas(canvas: HTMLCanvasElement, width_px: number, height_px: number): CanvasRenderingContext2D {
  const ratio = Math.min(3, devicePixelRatio || 1);
  const width = Math.round(width_px * ratio);
  const height = Math.round(height_px * ratio);
  if (canvas.width !== width || canvas.height !== height) {
    canvas.width = width;
    canvas.height = height;
    canvas.style.width = `${width_px}px`;
    canvas.style.height = `${height_px}px`;
  }
  const context = canvas.getContext("2d")!;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width_px, height_px);
  return context;
}

export function useWidth(box: RefObject<HTMLElement>): number {
  const width_px = useSignal(0);
  useLayoutEffect(() => {
    const element = box.current;
    if (element === null) return;
    const measure = () => {
      width_px.value = Math.floor(element.clientWidth);
    };
    measure();
    const watch = new ResizeObserver(measure);
    watch.observe(element);
    return () => watch.disconnect();
  }, []);
  return width_px.value;
}

let family = "";

// The page's own letters.
export function font(size_px: number): string {
  family ||= getComputedStyle(document.body).fontFamily;
  return `${size_px}px ${family}`;
}
