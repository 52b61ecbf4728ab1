// SPDX-License-Identifier: Apache-2.0
//
// The drawn flame graph: boxes, pointer and keys. The rule: what a pointer can choose the arrow keys can; a colour says whose code it is, or with
// its sign in the text how much grew or shrank.
import { computed, signal } from "@preact/signals";
import { useCallback, useEffect, useRef } from "preact/hooks";
import type { Code } from "../data/names";
import { sitesUnder, type Box, type FlameNode } from "../history/flame";
import { changeText, shareText, sizeText } from "../parts/units";
import { drawnIn, site } from "../session";
import { canvasFont, DrawnCanvas, type Draw } from "./drawn_canvas";
import { boxes, chosenNode, chooseNode, depth, differs, hits, top, tree, wanted, width_px, zoomTo } from "./flame_state";
import { colour, diverging, ramp } from "./palette";

export const kRow_px = 21;
const kText_px = 26; // narrower boxes have no text

const pointer = signal<{ x: number; y: number } | null>(null);

export const kCodeTexts: Record<Code, string> = {
  own: "your code",
  torch: "PyTorch",
  library: "other libraries",
  native: "native code",
  unknown: "not named",
};
export const kCodeNames: Record<Code, string> = { own: "diverging-4", torch: "ramp-1", library: "ramp-0", native: "free", unknown: "line" };

function codeColour(code: Code): string {
  if (code === "own") return diverging(1 / 3);
  if (code === "torch") return ramp(1 / 6);
  if (code === "library") return ramp(0);
  return colour(code === "native" ? "free" : "line");
}

// −1: gone since the reference, 1: new since then. What changed at all has a colour of its own.
function growth(node: FlameNode): number {
  if (node.bytes === node.before_bytes || node.width_bytes === 0) return 0;
  const part = (node.bytes - node.before_bytes) / node.width_bytes;
  return Math.sign(part) * (1 / 3 + (2 / 3) * Math.abs(part));
}

// Of the darkest two steps each way the ground is dark in the light theme and light in the dark one.
function ink(part: number): string {
  const step = Math.abs(Math.round((part + 1) * 3) - 3);
  if (step === 3 || (step === 2 && drawnIn.value === "dark")) return colour("card");
  return colour("text");
}

export function nodeText(node: FlameNode): string {
  const whole = tree.value?.bytes ?? 0;
  const change = differs.value ? `, ${changeText(node.bytes - node.before_bytes)} since the reference` : "";
  return `${node.label}: ${sizeText(node.bytes)}, ${shareText(node.bytes, whole) || "0 %"} of all${change}`;
}

function boxText(node: FlameNode): string {
  return differs.value && node.bytes !== node.before_bytes ? `${changeText(node.bytes - node.before_bytes)} ${node.label}` : node.label;
}

// Boxes that a site runs through.
const marked = computed(() => {
  const nodes = new Set<FlameNode>();
  if (site.value === null) return nodes;
  for (const { node } of boxes.value) {
    if (!node.sites.includes(site.value)) continue;
    for (let at: FlameNode | null = node; at !== null; at = at.parent) nodes.add(at);
  }
  return nodes;
});

function fitted(context: CanvasRenderingContext2D, text: string, room_px: number): string {
  let shown = text;
  for (
    let letters = text.length;
    letters > 1;
    letters = Math.min(shown.length - 2, Math.floor((shown.length * room_px) / context.measureText(shown).width))
  ) {
    if (letters < text.length) shown = `${text.slice(0, letters - 1)}…`;
    if (context.measureText(shown).width <= room_px) return shown;
  }
  return "";
}

function drawBox(context: CanvasRenderingContext2D, box: Box, whole_px: number): void {
  const { node } = box;
  const x = box.left * whole_px;
  const y = box.row * kRow_px;
  const width = Math.max(0.75, (box.right - box.left) * whole_px - 1);
  const part = growth(node);
  const sought = wanted.value.trim() !== "";
  const hit = hits.value.nodes.has(node);
  context.globalAlpha = (sought && !hit) || (marked.value.size > 0 && !marked.value.has(node)) ? 0.35 : 1;
  context.fillStyle = differs.value ? diverging(part) : codeColour(node.code);
  context.fillRect(x, y, width, kRow_px - 1);
  if (hit || marked.value.has(node)) {
    context.fillStyle = colour("chosen");
    context.fillRect(x, y + kRow_px - 4, width, 3);
  }
  if (width >= kText_px) {
    context.fillStyle = differs.value ? ink(part) : colour("text");
    context.fillText(fitted(context, boxText(node), width - 8), x + 4, y + kRow_px / 2);
  }
  context.globalAlpha = 1;
}

function boxAt(x: number, y: number): Box | null {
  const row = Math.floor(y / kRow_px);
  const at = x / Math.max(1, width_px.value);
  return boxes.value.find((box) => box.row === row && at >= box.left && at < box.right) ?? null;
}

export const hoveredNode = computed((): FlameNode | null =>
  pointer.value === null ? null : (boxAt(pointer.value.x, pointer.value.y)?.node ?? null),
);

function frame(context: CanvasRenderingContext2D, node: FlameNode | null, line_px: number, whole_px: number): void {
  const box = node === null ? undefined : boxes.value.find((one) => one.node === node);
  if (box === undefined) return;
  context.strokeStyle = colour("chosen");
  context.lineWidth = line_px;
  context.strokeRect(box.left * whole_px + 1, box.row * kRow_px + 1, Math.max(1, (box.right - box.left) * whole_px - 3), kRow_px - 3);
}

export function open(node: FlameNode): void {
  chooseNode(node);
  if (node.children.length > 0) zoomTo(node);
  const under = sitesUnder(node);
  if (under.length === 1) site.value = under[0];
}

function sibling(node: FlameNode, step: 1 | -1): FlameNode {
  const siblings = node.parent?.children ?? [node];
  return siblings[Math.min(siblings.length - 1, Math.max(0, siblings.indexOf(node) + step))];
}

export function FlameCanvas() {
  const box = useRef<HTMLDivElement>(null);
  const height_px = depth.value * kRow_px;
  const draw = useCallback<Draw>((context, whole_px) => {
    context.font = canvasFont("12px");
    context.textBaseline = "middle";
    for (const one of boxes.value) drawBox(context, one, whole_px);
    frame(context, hoveredNode.value, 1, whole_px);
    frame(context, chosenNode.value, 2.5, whole_px);
  }, []);

  const chosen = chosenNode.value;
  useEffect(() => {
    const found = boxes.peek().find((one) => one.node === chosen);
    if (found === undefined || box.current === null) return;
    const y = found.row * kRow_px;
    if (y < box.current.scrollTop || y + kRow_px > box.current.scrollTop + box.current.clientHeight)
      box.current.scrollTop = y - box.current.clientHeight / 2;
  }, [chosen]);

  const press = (event: KeyboardEvent) => {
    if (top.value === null || event.ctrlKey || event.metaKey || event.altKey) return;
    const at = chosenNode.value ?? top.value;
    const actions: Record<string, () => void> = {
      ArrowDown: () => chooseNode(chosenNode.value === null ? at : (at.children[0] ?? at)),
      ArrowUp: () => {
        if (at !== top.value) chooseNode(at.parent);
      },
      ArrowRight: () => chooseNode(at === top.value ? at : sibling(at, 1)),
      ArrowLeft: () => chooseNode(at === top.value ? at : sibling(at, -1)),
      Home: () => chooseNode(top.value),
      Enter: () => open(at),
      Backspace: () => zoomTo(top.value?.parent ?? null),
      Escape: () => {
        chooseNode(null);
        zoomTo(null);
      },
      "/": () => document.getElementById("flame-search")?.focus(),
    };
    const action = actions[event.key];
    if (action === undefined) return;
    event.preventDefault();
    action();
  };

  const pointOf = (event: MouseEvent) => {
    const bounds = (event.currentTarget as HTMLElement).getBoundingClientRect();
    return { x: event.clientX - bounds.left, y: event.clientY - bounds.top };
  };
  const click = (event: MouseEvent) => {
    const { x, y } = pointOf(event);
    const found = boxAt(x, y);
    if (found !== null) open(found.node);
  };
  const told = hoveredNode.value ?? chosen;
  return (
    <div class="stack">
      <p class="flame-under small" aria-hidden="true" title={told?.detail}>
        {told === null ? "Point at a box, or walk with the arrow keys; Enter goes into it." : nodeText(told)}
      </p>
      <div class="flame-scroll" ref={box}>
        <DrawnCanvas
          class="drawn"
          draw={draw}
          height_px={height_px}
          onWidth={(width) => {
            width_px.value = width;
          }}
          role="img"
          tabIndex={0}
          aria-describedby="flame-chosen"
          aria-label="flame graph of what is live: arrow keys walk the boxes, Enter goes into one, Backspace back, Escape shows all, / searches"
          onKeyDown={press}
          onClick={click}
          onPointerMove={(event) => {
            pointer.value = pointOf(event);
          }}
          onPointerLeave={() => {
            pointer.value = null;
          }}
        />
      </div>
      <p id="flame-chosen" class="visually-hidden" aria-live="polite">
        {chosen === null ? "" : nodeText(chosen)}
      </p>
    </div>
  );
}
