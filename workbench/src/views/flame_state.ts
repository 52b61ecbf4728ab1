// SPDX-License-Identifier: Apache-2.0
//
// What the flame graph shows. The rule: a box is known by its path of keys, so that zoom and choice stay while the instant moves.
import { computed, signal } from "@preact/signals";
import { flameTree, follow, layOut, pathOf, search, SitePaths, trunkEnd, type FlameNode } from "../history/flame";
import { bytesBySite } from "../history/site_sums";
import { ofIncident, session } from "../session";
import { referenceSums, siteSums } from "./map_scene";

export const inverted = signal(false);
export const ownOnly = signal(true);
export const wanted = ofIncident(""); // searched for
export const top_keys = ofIncident<string[] | null>(null); // null: where the bytes part
export const chosen_keys = ofIncident<string[] | null>(null);
export const width_px = signal(0);

const paths = computed(() => (session.value === null ? null : new SitePaths(session.value.incident.names)));

export const tree = computed((): FlameNode | null => {
  if (paths.value === null || siteSums.value === null) return null;
  const before = referenceSums.value === null ? null : bytesBySite(referenceSums.value);
  return flameTree(paths.value, { now: bytesBySite(siteSums.value), before, inverted: inverted.value, ownOnly: ownOnly.value });
});

export const differs = computed(() => referenceSums.value !== null);

export const top = computed((): FlameNode | null => {
  if (tree.value === null) return null;
  return top_keys.value === null ? trunkEnd(tree.value) : follow(tree.value, top_keys.value);
});

const kLeast_px = 1;

export const boxes = computed(() => (top.value === null || width_px.value <= 0 ? [] : layOut(top.value, kLeast_px / width_px.value)));

export const depth = computed(() => boxes.value.reduce((most, box) => Math.max(most, box.row), 0) + 1);

export const hits = computed(() => (tree.value === null ? { nodes: new Set<FlameNode>(), bytes: 0 } : search(tree.value, wanted.value)));

// Bytes of what is searched for in the frames that are left out; 0 where a box has it, or where none is left out.
export const hiddenHit_bytes = computed((): number => {
  if (!ownOnly.value || hits.value.nodes.size > 0 || wanted.value.trim() === "" || paths.value === null || siteSums.value === null) return 0;
  const whole = flameTree(paths.value, { now: bytesBySite(siteSums.value), before: null, inverted: inverted.value, ownOnly: false });
  return search(whole, wanted.value).bytes;
});

export function keysOf(node: FlameNode): string[] {
  return pathOf(node)
    .slice(1)
    .map((one) => one.key);
}

// Null when nothing is chosen, or when the box is not there at this instant.
export const chosenNode = computed((): FlameNode | null => {
  if (tree.value === null || chosen_keys.value === null) return null;
  const node = follow(tree.value, chosen_keys.value);
  return node.depth === chosen_keys.value.length ? node : null;
});

export function chooseNode(node: FlameNode | null): void {
  chosen_keys.value = node === null ? null : keysOf(node);
}

export function zoomTo(node: FlameNode | null): void {
  top_keys.value = node === null ? null : keysOf(node);
}
