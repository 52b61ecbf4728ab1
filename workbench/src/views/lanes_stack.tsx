// SPDX-License-Identifier: Apache-2.0
//
// What lies over one axis, and how it is moved: pointer, wheel and keys belong to the stack of charts, so that all of it stays aligned.
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { amountText } from "../parts/units";
import { device, instant, reference, session, span } from "../session";
import { useWidth } from "./canvas";
import { goTo, goToLandmark, instantText, lastRow } from "./instant";
import type { LaneSource } from "./lanes_source";
import { choose, hovered, instantPlace, keepInSight, kLeft_px, kRight_px, pan, show, shown, zoom } from "./lanes_state";

// Selecting with the pointer: a click sets the instant, a drag zooms, a drag with shift moves.
function usePointer(source: LaneSource, wide_px: number) {
  const held = useRef<{ x: number; moved: boolean; from: number; to: number; pans: boolean } | null>(null);
  const selected = useSignal<[number, number] | null>(null);
  const [from, to] = shown(source);
  const xOf = (event: PointerEvent) => event.clientX - (event.currentTarget as HTMLElement).getBoundingClientRect().left - kLeft_px;
  const at = (x: number) => from + Math.min(1, Math.max(0, x / wide_px)) * (to - from);
  return {
    selected,
    onPointerDown: (event: PointerEvent) => {
      if (event.button !== 0) return;
      held.current = { x: xOf(event), moved: false, from, to, pans: event.shiftKey };
      (event.currentTarget as HTMLElement).setPointerCapture(event.pointerId);
    },
    onPointerMove: (event: PointerEvent) => {
      const x = xOf(event);
      hovered.value = x < 0 || x > wide_px ? null : at(x);
      const pressed = held.current;
      if (pressed === null) return;
      if (Math.abs(x - pressed.x) > 4) pressed.moved = true;
      if (!pressed.moved) return;
      if (!pressed.pans) {
        selected.value = [Math.max(0, Math.min(pressed.x, x)), Math.min(wide_px, Math.max(pressed.x, x))];
        return;
      }
      const width = pressed.to - pressed.from;
      const start = Math.min(source.to - width, Math.max(source.from, pressed.from - ((x - pressed.x) / wide_px) * width));
      show(source, start, start + width);
    },
    onPointerUp: (event: PointerEvent) => {
      const pressed = held.current;
      held.current = null;
      if (pressed === null) return;
      if (selected.value !== null) show(source, at(selected.value[0]), at(selected.value[1]));
      else if (!pressed.moved) choose(source, at(xOf(event)));
      selected.value = null;
    },
    // The browser took the gesture for its own, as for scrolling.
    onPointerCancel: () => {
      held.current = null;
      selected.value = null;
      hovered.value = null;
    },
    onPointerLeave: () => {
      hovered.value = null;
    },
  };
}

function useWheel(box: { current: HTMLElement | null }, source: LaneSource, wide_px: number): void {
  useEffect(() => {
    const element = box.current;
    if (element === null) return;
    const turn = (event: WheelEvent) => {
      const whole = span.value === null;
      // The page scrolls where there is nothing to zoom out of.
      if (whole && event.deltaY > 0 && event.deltaX === 0) return;
      event.preventDefault();
      if (Math.abs(event.deltaX) > Math.abs(event.deltaY) || event.shiftKey) return pan(source, ((event.deltaX || event.deltaY) / wide_px) * 0.8);
      const [from, to] = shown(source);
      const x = event.clientX - element.getBoundingClientRect().left - kLeft_px;
      zoom(source, Math.exp(Math.max(-60, Math.min(60, event.deltaY)) / 150), from + Math.min(1, Math.max(0, x / wide_px)) * (to - from));
    };
    element.addEventListener("wheel", turn, { passive: false });
    return () => element.removeEventListener("wheel", turn);
  }, [source, wide_px]);
}

const kKeyStep = 0.1; // of what is shown, with shift

function press(source: LaneSource, event: KeyboardEvent): void {
  const [from, to] = shown(source);
  const here = instantPlace(source, instant.value);
  const middle = here >= from && here <= to ? here : (from + to) / 2;
  const jump = (part: number) => choose(source, Math.min(to, Math.max(from, here + part * (to - from))));
  const keys: Record<string, () => void> = {
    ArrowLeft: () => (event.shiftKey ? jump(-kKeyStep) : goTo(instant.value - 1)),
    ArrowRight: () => (event.shiftKey ? jump(kKeyStep) : goTo(instant.value + 1)),
    ArrowUp: () => goToLandmark(1),
    ArrowDown: () => goToLandmark(-1),
    "+": () => zoom(source, 0.5, middle),
    "=": () => zoom(source, 0.5, middle),
    "-": () => zoom(source, 2, middle),
    PageUp: () => pan(source, -0.8),
    PageDown: () => pan(source, 0.8),
    Home: () => choose(source, from),
    End: () => choose(source, to),
  };
  const act = keys[event.key];
  if (act === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  act();
}

function Overlay({ source, wide_px, selected }: { source: LaneSource; wide_px: number; selected: [number, number] | null }) {
  const [from, to] = shown(source);
  const line = (place: number | null, kind: string) => {
    if (place === null || place < from || place > to) return null;
    return <span class={`lane-line ${kind}`} style={{ left: `${kLeft_px + ((place - from) / (to - from)) * wide_px}px` }} />;
  };
  return (
    <div class="lane-over" aria-hidden="true">
      {session.value !== null && reference.value !== null && line(instantPlace(source, reference.value), "compared")}
      {session.value !== null && line(instantPlace(source, instant.value), "chosen")}
      {line(hovered.value, "pointed")}
      {selected !== null && <span class="lane-selected" style={{ left: `${kLeft_px + selected[0]}px`, width: `${selected[1] - selected[0]}px` }} />}
    </div>
  );
}

interface StackProps {
  source: LaneSource;
  label: string;
  children: (width_px: number) => ComponentChildren;
}

// To whoever cannot see it, it is a slider of the instant.
export function LaneStack({ source, label, children }: StackProps) {
  const box = useRef<HTMLDivElement>(null);
  const width_px = useWidth(box);
  const wide_px = Math.max(1, width_px - kLeft_px - kRight_px);
  const { selected, ...pointer } = usePointer(source, wide_px);
  useWheel(box, source, wide_px);
  const row = instant.value;
  useLayoutEffect(() => {
    if (session.value !== null && row >= 0) keepInSight(source);
  }, [row, source]);
  const active = session.value === null ? NaN : session.value.history.laneAt(device.value, "active", row);
  const text = `${instantText(row)}${Number.isNaN(active) ? "" : `, active ${amountText(active)}`}`;
  return (
    <div
      ref={box}
      class="lane-stack"
      role="slider"
      tabIndex={0}
      aria-label={label}
      aria-valuemin={-1}
      aria-valuemax={Math.max(-1, lastRow())}
      aria-valuenow={row}
      aria-valuetext={text}
      onKeyDown={(event) => press(source, event)}
      {...pointer}
    >
      {children(width_px)}
      <Overlay source={source} wide_px={wide_px} selected={selected.value} />
    </div>
  );
}
