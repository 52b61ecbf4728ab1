// SPDX-License-Identifier: Apache-2.0
//
// The tree of a flame graph, and where its boxes lie. The rule: every byte is in it once; what has no frames stands in boxes that say so, and
// a box is never wider than what lies under it adds up to.
import type { Names } from "../data/incident";
import { codeOf, frameDetail, frameLabel, NameBook, type Code } from "../data/names";
import { sizeText } from "../parts/units";

export type FlameKind = "all" | "frame" | "token" | "unstacked" | "size" | "unknown";

export interface FlameNode {
  readonly kind: FlameKind;
  readonly key: string; // tells it from its siblings
  readonly label: string;
  readonly detail: string; // what the label leaves out
  readonly code: Code;
  readonly parent: FlameNode | null;
  readonly depth: number;
  readonly sites: number[]; // that end here
  bytes: number;
  before_bytes: number; // at the reference; 0 without one
  width_bytes: number; // the sum over its sites of the greater of both
  children: FlameNode[]; // widest first
}

export interface FlameInput {
  now: Map<number, number>; // site to bytes
  before: Map<number, number> | null;
  inverted: boolean; // from the allocation to the root
  ownOnly: boolean; // frames of libraries and native ones are left out; a stack without others is one box
}

interface Step {
  kind: FlameKind;
  key: string;
  label: string;
  detail: string;
  code: Code;
}

function frameSteps(names: Names): Step[] {
  return names.frames.map((frame, ordinal) => {
    const label = frameLabel(frame);
    if (frame.function === undefined && frame.file === undefined) {
      return { kind: "token", key: `t${frame.token ?? ordinal}`, label, detail: "", code: "unknown" };
    }
    // Frames that read alike are one box, as in every flame graph.
    return {
      kind: "frame",
      key: `f${frame.function ?? ""}\n${frame.file ?? ""}\n${frame.line ?? ""}`,
      label,
      detail: frameDetail(frame),
      code: codeOf(frame),
    };
  });
}

export class SitePaths {
  private readonly steps: Step[];
  private readonly book: NameBook;

  constructor(names: Names) {
    this.steps = frameSteps(names);
    this.book = new NameBook(names);
  }

  // From the root, or from the allocation.
  of(site: number, inverted: boolean, ownOnly: boolean): Step[] {
    const known = this.book.entry(site);
    if (known?.size_bytes !== undefined) {
      const size: Step = { kind: "size", key: `b${known.size_bytes}`, label: `blocks of ${sizeText(known.size_bytes)}`, detail: "", code: "unknown" };
      return [{ kind: "unstacked", key: "unstacked", label: "without a stack", detail: "", code: "unknown" }, size];
    }
    const frames = (known?.frames ?? []).map((frame) => this.steps[frame]).filter((step) => step !== undefined);
    if (frames.length === 0) {
      if (known?.token === undefined) return [{ kind: "unknown", key: "unknown", label: "site not known", detail: "", code: "unknown" }];
      return [{ kind: "token", key: `t${known.token}`, label: known.token, detail: "", code: "unknown" }];
    }
    if (!ownOnly || frames.every((step) => step.code === "unknown")) return inverted ? frames.reverse() : frames;
    const own = frames.filter((step) => step.code === "own");
    if (own.length > 0) return inverted ? own.reverse() : own;
    // Called as the terminal's report calls the site; the innermost frame says whose code it is.
    const label = this.book.site(site);
    return [{ kind: "frame", key: `s${label}`, label, detail: frames.map((step) => step.label).join(" > "), code: frames[frames.length - 1].code }];
  }
}

interface Growing extends FlameNode {
  byKey: Map<string, Growing>;
}

function grow(step: Step, parent: Growing | null): Growing {
  return {
    ...step,
    parent,
    depth: parent === null ? 0 : parent.depth + 1,
    sites: [],
    bytes: 0,
    before_bytes: 0,
    width_bytes: 0,
    children: [],
    byKey: new Map(),
  };
}

export function flameTree(paths: SitePaths, input: FlameInput): FlameNode {
  const root = grow({ kind: "all", key: "", label: "all live blocks", detail: "", code: "unknown" }, null);
  const sites = new Set(input.now.keys());
  if (input.before !== null) for (const site of input.before.keys()) sites.add(site);
  for (const site of sites) {
    const bytes = input.now.get(site) ?? 0;
    const before_bytes = input.before?.get(site) ?? 0;
    const width_bytes = Math.max(bytes, before_bytes);
    let node = root;
    const add = () => {
      node.bytes += bytes;
      node.before_bytes += before_bytes;
      node.width_bytes += width_bytes;
    };
    add();
    for (const step of paths.of(site, input.inverted, input.ownOnly)) {
      let child = node.byKey.get(step.key);
      if (child === undefined) {
        child = grow(step, node);
        node.byKey.set(step.key, child);
        node.children.push(child);
      }
      node = child;
      add();
    }
    node.sites.push(site);
  }
  order(root);
  return root;
}

function order(node: FlameNode): void {
  node.children.sort((a, b) => b.width_bytes - a.width_bytes || (a.key < b.key ? -1 : 1));
  for (const child of node.children) order(child);
}

// As deep along the path as the tree goes.
export function follow(root: FlameNode, path: string[]): FlameNode {
  let node = root;
  for (const key of path) {
    const child = node.children.find((candidate) => candidate.key === key);
    if (child === undefined) break;
    node = child;
  }
  return node;
}

export function pathOf(node: FlameNode): FlameNode[] {
  const path: FlameNode[] = [];
  for (let at: FlameNode | null = node; at !== null; at = at.parent) path.unshift(at);
  return path;
}

// The last node that all bytes run through: above it the graph tells nothing but names.
export function trunkEnd(root: FlameNode): FlameNode {
  let node = root;
  while (node.children.length === 1 && node.sites.length === 0 && node.children[0].children.length > 0) node = node.children[0];
  return node;
}

export interface Box {
  node: FlameNode;
  left: number; // of the width, 0 to 1
  right: number;
  row: number; // 0: the node that is looked at
}

// What is narrower than `least` of the width is left out; its room stays empty.
export function layOut(top: FlameNode, least: number): Box[] {
  const boxes: Box[] = [];
  const whole = top.width_bytes;
  if (whole <= 0) return boxes;
  const visit = (node: FlameNode, left_bytes: number) => {
    const left = left_bytes / whole;
    const right = (left_bytes + node.width_bytes) / whole;
    if (right - left < least && node !== top) return;
    boxes.push({ node, left, right, row: node.depth - top.depth });
    let at_bytes = left_bytes;
    for (const child of node.children) {
      visit(child, at_bytes);
      at_bytes += child.width_bytes;
    }
  };
  visit(top, 0);
  return boxes;
}

export function sitesUnder(node: FlameNode): number[] {
  return node.children.reduce((sites, child) => sites.concat(sitesUnder(child)), node.sites.slice());
}

export function search(root: FlameNode, text: string): { nodes: Set<FlameNode>; bytes: number } {
  const wanted = text.trim().toLowerCase();
  const nodes = new Set<FlameNode>();
  let bytes = 0;
  const visit = (node: FlameNode, within: boolean) => {
    const hit = wanted !== "" && node.kind !== "all" && (node.label.toLowerCase().includes(wanted) || node.detail.toLowerCase().includes(wanted));
    if (hit) nodes.add(node);
    // Bytes below a hit are counted with it, once.
    if (hit && !within) bytes += node.bytes;
    for (const child of node.children) visit(child, within || hit);
  };
  visit(root, false);
  return { nodes, bytes };
}
