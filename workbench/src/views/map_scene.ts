// SPDX-License-Identifier: Apache-2.0
//
// What several views ask of the chosen instant, computed once for all of them and only while one of them is shown.
import { computed } from "@preact/signals";
import type { Names } from "../data/incident";
import { NameBook } from "../data/names";
import { unseenAt } from "../history/before";
import { askedAt, sumFree } from "../history/compatibility";
import { sumSites } from "../history/site_sums";
import { device, instant, opened, reference, session } from "../session";

const kNoNames: Names = { sites: [], frames: [], phases: [], libraries: [], dimensions: [] };

export const scene = computed(() => session.value?.history.scene(device.value, instant.value) ?? null);

export const referenceScene = computed(() =>
  session.value === null || reference.value === null ? null : session.value.history.scene(device.value, reference.value),
);

export const asked = computed(() => {
  const open = session.value;
  return open === null ? null : askedAt(open.incident, open.history, device.value, instant.value);
});

export const freeSums = computed(() => (scene.value === null ? null : sumFree(scene.value, asked.value)));

// Bytes from before the recording that are in no block; null: not known.
export const unseen = computed(() => {
  const open = session.value;
  return open === null ? 0 : unseenAt(open.incident, open.history, device.value, instant.value);
});

export const siteSums = computed(() => (session.value === null || scene.value === null ? null : sumSites(session.value.history, scene.value)));

export const referenceSums = computed(() =>
  session.value === null || referenceScene.value === null ? null : sumSites(session.value.history, referenceScene.value),
);

// Steps ended at an instant; before the first event those that the oldest of the page knows.
export const stepsEnded = computed(() => {
  const open = session.value;
  if (open === null || open.incident.events.rows === 0) return 0;
  return open.incident.events.column("step").at(Math.max(0, instant.value)) ?? 0;
});

export const names = computed(() => new NameBook((session.value?.incident ?? opened.value)?.names ?? kNoNames));
