// SPDX-License-Identifier: Apache-2.0
//
// The drawn map: scrolling, pointer and keys. The rule: what a pointer can choose the arrow keys can, and what is under the pointer or chosen is
// said in words.
import { computed, signal, useComputed } from "@preact/signals";
import { useCallback, useEffect, useRef } from "preact/hooks";
import { counted, sizeText } from "../parts/units";
import { session, site } from "../session";
import { DrawnCanvas, type Draw } from "./drawn_canvas";
import { drawChosen, drawMap, kRow_px, stretch } from "./map_draw";
import {
  chosen,
  choose,
  fitting_count,
  layout,
  nothingHeld,
  picture,
  rangeOf,
  row_px,
  spotAtLine,
  walk,
  zoom,
  zoomMost,
  type Spot,
} from "./map_state";
import { asked, freeSums, names, scene } from "./map_scene";

const scroll_px = signal(0);
// Where the pointer is, in the canvas; what lies there changes with the instant.
const pointer = signal<{ x: number; y: number } | null>(null);
const hovered = computed((): Spot => (pointer.value === null ? null : spotUnder(pointer.value)));
const kZoomStep = 2;

function spotUnder({ x, y }: { x: number; y: number }): Spot {
  const now = picture.value;
  if (now === null || x < 0 || x >= now.layout.row_px) return null;
  return spotAtLine(now, Math.floor((y + scroll_px.value) / kRow_px) * now.layout.row_px + x);
}

function pointOf(event: MouseEvent): { x: number; y: number } {
  const bounds = (event.currentTarget as HTMLElement).getBoundingClientRect();
  return { x: event.clientX - bounds.left, y: event.clientY - bounds.top };
}

// As kFreeClasses.
const kFreeTexts = ["fits the request", "too small", "the request may not use it"];

export function spotText(spot: Spot): string {
  if (spot === null || session.value === null || scene.value === null) return "";
  if (spot.kind === "hole") {
    const extent = scene.value.free[spot.extent];
    return extent === undefined
      ? ""
      : `hole of ${sizeText(extent.size)}${asked.value === null ? "" : `, ${kFreeTexts[freeSums.value?.classes[spot.extent] ?? 0]}`}`;
  }
  const { lives } = session.value.history;
  const state = scene.value.deferred.has(spot.life) ? ", freed and still waited for" : "";
  const of = spot.life;
  const born = `${names.value.phase(lives.phase[of])}, step ${lives.step[of] + 1}`;
  return `block of ${sizeText(lives.size[of])}, ${names.value.site(lives.site[of])}, ${born}${state}`;
}

const mapText = () => {
  const now = scene.value;
  if (now === null) return "memory map";
  const counts = `${counted(now.segments.length, "segment")}, ${counted(now.blocks.length, "block")}`;
  const used = `${sizeText(now.activeBytes)} of ${sizeText(now.segmentBytes)} in use`;
  return `memory map: ${counts}, ${used}. Arrow keys walk the blocks by address, Enter shows details, plus and minus zoom.`;
};

export function MapCanvas() {
  const box = useRef<HTMLDivElement>(null);
  const rows_px = useComputed(() => (layout.value?.row_count ?? 1) * kRow_px + 4);
  const height_px = Math.min(fitting_count.value * kRow_px, rows_px.value);

  const draw = useCallback<Draw>((context, _width_px, canvas_px) => {
    if (picture.value === null) return;
    drawMap(context, picture.value, scroll_px.value, canvas_px);
    for (const [spot, strong] of [
      [hovered.value, false],
      [chosen.value, true],
    ] as const) {
      if (spot !== null) drawChosen(context, picture.value, rangeOf(picture.value, spot), scroll_px.value, canvas_px, strong);
    }
  }, []);

  const show = (spot: Spot) => {
    const now = picture.peek();
    if (spot === null || now === null || box.current === null) return;
    const found = stretch(now.layout, rangeOf(now, spot));
    if (found === null) return;
    const y = Math.floor(found.from_px / now.layout.row_px) * kRow_px;
    const { scrollTop, clientHeight } = box.current;
    if (y < scrollTop || y + kRow_px > scrollTop + clientHeight) box.current.scrollTop = y - clientHeight / 2;
  };
  useEffect(() => show(chosen.value), [chosen.value]);

  // What is chosen, else the middle of what is seen, stays in sight.
  const zoomTo = (factor: number) => {
    const before = picture.value;
    if (before === null || box.current === null) return;
    const middle = (scroll_px.value + box.current.clientHeight / 2) / kRow_px;
    const part = middle / before.layout.row_count;
    zoom.value = Math.min(zoomMost.value, Math.max(1, factor));
    requestAnimationFrame(() => {
      if (box.current === null || layout.value === null) return;
      if (chosen.value !== null) show(chosen.value);
      else box.current.scrollTop = part * layout.value.row_count * kRow_px - box.current.clientHeight / 2;
    });
  };

  // The block above or below: at the same column of another row.
  const leap = (rows: number) => {
    const now = picture.value;
    if (now === null) return;
    const found = chosen.value === null ? null : stretch(now.layout, rangeOf(now, chosen.value));
    if (found === null) return walk(now, 1);
    for (
      let line_px = found.from_px + 0.5 + rows * now.layout.row_px;
      line_px >= 0 && line_px < now.layout.row_count * now.layout.row_px;
      line_px += rows * now.layout.row_px
    ) {
      const spot = spotAtLine(now, line_px);
      if (spot !== null) return choose(spot);
    }
  };

  const press = (event: KeyboardEvent) => {
    const now = picture.value;
    if (now === null || event.ctrlKey || event.metaKey || event.altKey) return;
    const { blocks } = now.scene;
    const actions: Record<string, () => void> = {
      ArrowRight: () => walk(now, 1),
      ArrowLeft: () => walk(now, -1),
      ArrowDown: () => leap(1),
      ArrowUp: () => leap(-1),
      Home: () => choose(blocks.length === 0 ? null : { kind: "block", life: blocks[0] }),
      End: () => choose(blocks.length === 0 ? null : { kind: "block", life: blocks[blocks.length - 1] }),
      Enter: () => document.getElementById("map-details")?.focus(),
      Escape: () => choose(null),
      "+": () => zoomTo(zoom.value * kZoomStep),
      "=": () => zoomTo(zoom.value * kZoomStep),
      "-": () => zoomTo(zoom.value / kZoomStep),
      h: () => choose(now.free.largest === null ? null : { kind: "hole", extent: now.free.largest }),
      s: () => {
        if (chosen.value?.kind === "block") site.value = now.lives.site[chosen.value.life];
      },
    };
    const action = actions[event.key];
    if (action === undefined) return;
    event.preventDefault();
    action();
  };

  return (
    <div class="stack map-drawn">
      <div class="row small between">
        <p class="map-under" aria-hidden="true">
          {spotText(hovered.value ?? chosen.value) || (
            <span class="quiet">{nothingHeld.value ? "Nothing is held at this instant." : "Point at a block, or walk with the arrow keys."}</span>
          )}
        </p>
        <div class="row" role="group" aria-label="zoom of the map">
          <button type="button" disabled={zoom.value <= 1} aria-label="zoom out" onClick={() => zoomTo(zoom.value / kZoomStep)}>
            −
          </button>
          <span>{sizeText(Math.max(1, Math.round(layout.value?.bytesPerPx ?? 1)))} a pixel</span>
          <button type="button" disabled={zoom.value >= zoomMost.value} aria-label="zoom in" onClick={() => zoomTo(zoom.value * kZoomStep)}>
            +
          </button>
        </div>
      </div>
      <div
        class="map-scroll"
        ref={box}
        style={{ height: `${height_px}px` }}
        onScroll={(event) => {
          scroll_px.value = event.currentTarget.scrollTop;
        }}
      >
        <div style={{ height: `${rows_px.value}px` }}>
          <div class="map-stuck">
            <DrawnCanvas
              class="drawn"
              draw={draw}
              height_px={height_px}
              onWidth={(width) => {
                row_px.value = width - 1;
              }}
              role="img"
              tabIndex={0}
              aria-label={mapText()}
              aria-describedby="map-chosen"
              onKeyDown={press}
              onPointerMove={(event) => {
                pointer.value = pointOf(event);
              }}
              onPointerLeave={() => {
                pointer.value = null;
              }}
              onClick={(event) => choose(spotUnder(pointOf(event)))}
              onDblClick={() => zoomTo(zoom.value * kZoomStep * kZoomStep)}
            />
          </div>
        </div>
      </div>
      <p id="map-chosen" class="visually-hidden" aria-live="polite">
        {spotText(chosen.value)}
      </p>
    </div>
  );
}
