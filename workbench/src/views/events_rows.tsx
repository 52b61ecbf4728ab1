// SPDX-License-Identifier: Apache-2.0
//
// A table of as many rows as there are, of which those in sight are made. The rule: browsers end a page at some millions of pixels, so beyond that
// the scroll bar stands for the rows in proportion, and the wheel and the keys still go row by row.
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { grouped } from "../parts/units";
import { window_px } from "./drawn_canvas";
import type { ShownColumn } from "./events_columns";

export const kRow_px = 24;
const kBeside_px = 460; // what stands above and below the rows
const kLongest_px = 6_000_000;

function headText({ name, doc, fromReplay }: ShownColumn): string {
  const unit = doc.unit === "" ? "" : ` (${doc.unit})`;
  return `${name}: ${doc.meaning}${unit}; ${fromReplay ? "derived by memsnap-replay" : doc.mark}`;
}

interface RowsProps {
  count: number;
  rowAt: (index: number) => number; // row of the table
  indexOf: (row: number) => number; // the last index whose row is not behind; −1: none
  columns: ShownColumn[];
  chosen: number; // row; −1: none
  isHit: (row: number) => boolean;
  onChoose: (row: number) => void;
  onOpen: (row: number) => void;
  onCopy: (row: number) => void;
  onHit: (direction: 1 | -1) => void;
}

export function EventRows({ count, rowAt, indexOf, columns, chosen, isHit, onChoose, onOpen, onCopy, onHit }: RowsProps) {
  const box = useRef<HTMLDivElement>(null);
  const first = useSignal(0); // index in sight
  const seen_count = Math.min(count, Math.max(10, Math.floor((window_px.value - kBeside_px) / kRow_px)));
  const last_first = Math.max(0, count - seen_count);
  const long_px = Math.min(count * kRow_px, kLongest_px);
  const scrollable_px = (element: HTMLElement) => element.scrollHeight - element.clientHeight;
  const asked_px = useRef(-1); // the scroll position that we set ourselves

  const show = (index: number) => {
    first.value = Math.min(last_first, Math.max(0, Math.round(index)));
    if (box.current === null) return;
    const to_px = last_first === 0 ? 0 : Math.round((first.value / last_first) * scrollable_px(box.current));
    asked_px.current = to_px;
    box.current.scrollTop = to_px;
  };
  const scrolled = (event: Event) => {
    const element = event.currentTarget as HTMLElement;
    const at_px = element.scrollTop;
    if (Math.abs(at_px - asked_px.current) < 1) return;
    asked_px.current = -1;
    first.value = Math.min(last_first, Math.round((at_px / Math.max(1, scrollable_px(element))) * last_first));
  };
  const wheel_px = useRef(0); // what is left of less than a row
  useEffect(() => {
    const element = box.current!;
    const wheel = (event: WheelEvent) => {
      if (event.ctrlKey || event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY) || long_px < kLongest_px) return;
      event.preventDefault();
      wheel_px.current += event.deltaMode === 0 ? event.deltaY : event.deltaY * kRow_px;
      const rows = Math.trunc(wheel_px.current / kRow_px);
      wheel_px.current -= rows * kRow_px;
      if (rows !== 0) show(first.value + rows);
    };
    element.addEventListener("wheel", wheel, { passive: false });
    return () => element.removeEventListener("wheel", wheel);
  }, [count, seen_count]);

  const at = chosen < 0 ? -1 : indexOf(chosen);
  useEffect(() => {
    if (at < 0) return show(Math.min(first.value, last_first));
    if (at < first.value) show(at - Math.floor(seen_count / 3));
    else if (at >= first.value + seen_count) show(at - Math.floor((seen_count * 2) / 3));
    else show(first.value);
  }, [chosen, count]);

  // The bar of the instant covers the foot of the window; where the window is low it would cover the row.
  useEffect(() => {
    const frame = requestAnimationFrame(() => {
      const row = box.current?.querySelector("[aria-selected=true]")?.getBoundingClientRect();
      const bar_px = document.querySelector(".instant")?.getBoundingClientRect().top ?? innerHeight;
      const below_px = (row?.bottom ?? 0) - Math.min(innerHeight, bar_px);
      if (below_px > 0) scrollBy(0, below_px + kRow_px);
    });
    return () => cancelAnimationFrame(frame);
  }, [chosen, count]);

  const press = (event: KeyboardEvent) => {
    if (count === 0 || event.altKey) return;
    const go = (index: number) => onChoose(rowAt(Math.min(count - 1, Math.max(0, index))));
    const exact = at >= 0 && rowAt(at) === chosen;
    const actions: Record<string, () => void> = {
      ArrowDown: () => go(at + 1),
      ArrowUp: () => go(exact ? at - 1 : at),
      PageDown: () => go(at + seen_count),
      PageUp: () => go(at - seen_count),
      Home: () => go(0),
      End: () => go(count - 1),
      n: () => onHit(1),
      N: () => onHit(-1),
      Enter: () => {
        if (exact) onOpen(chosen);
      },
      c: () => {
        if (exact) onCopy(chosen);
      },
    };
    const action = actions[event.key];
    if (action === undefined || ((event.ctrlKey || event.metaKey) && event.key !== "c")) return;
    event.preventDefault();
    action();
  };

  const begin = Math.min(first.value, last_first);
  const grid = columns.map(({ name, width_rem }) => (name === "site" ? `minmax(${width_rem}rem, 1fr)` : `${width_rem}rem`)).join(" ");
  const indices = Array.from({ length: seen_count }, (_, offset) => begin + offset);
  return (
    <div
      class="events-scroll"
      ref={box}
      role="grid"
      tabIndex={0}
      aria-label="events"
      aria-rowcount={count + 1}
      aria-colcount={columns.length}
      aria-activedescendant={at >= begin && at < begin + seen_count ? `event-${at}` : undefined}
      style={{ height: `${(seen_count + 1) * kRow_px + 18}px` }}
      onScroll={scrolled}
      onKeyDown={press}
    >
      <div class="events-row events-head" role="row" aria-rowindex={1} style={{ gridTemplateColumns: grid }}>
        {columns.map((column) => (
          <span role="columnheader" class={column.number ? "number" : ""} title={headText(column)}>
            {column.name}
          </span>
        ))}
      </div>
      <div style={{ height: `${long_px}px`, minWidth: "max-content" }} role="presentation">
        <div class="events-seen" role="presentation">
          {indices.map((index) => {
            const row = rowAt(index);
            return (
              <div
                key={index}
                id={`event-${index}`}
                role="row"
                aria-rowindex={index + 2}
                aria-selected={row === chosen}
                class={`events-row${row === chosen ? " events-chosen" : ""}${isHit(row) ? " events-hit" : ""}`}
                style={{ gridTemplateColumns: grid }}
                onClick={() => onChoose(row)}
                onDblClick={() => onOpen(row)}
              >
                {columns.map((column) => {
                  const { text, title } = column.cell(row);
                  return (
                    <span role="gridcell" class={column.number ? "number" : ""} title={title ?? text}>
                      {text}
                    </span>
                  );
                })}
              </div>
            );
          })}
        </div>
      </div>
      {count === 0 && <p class="small quiet events-none">{grouped(0)} events</p>}
    </div>
  );
}
