// SPDX-License-Identifier: Apache-2.0
//
// Where the lesson is: its incident, the part that is shown, the change that was made and what the checks say of it. The rule: the incident as it
// was read is kept, so that undo is exact.
import { batch, signal } from "@preact/signals";
import type { Check } from "../checks/check";
import { runChecks } from "../checks/run";
import type { Incident } from "../data/incident";
import { buildHistory } from "../history/build";
import type { History } from "../history/history";
import { kChapters } from "../lesson/chapters";
import { lessonIncident } from "../lesson/lesson";
import type { Mutation } from "../lesson/mutations";
import { instant, life, opened, reference, session, view } from "../session";
import { openMade } from "./opening";

export interface Told {
  before: Check[];
  after: Check[];
}

export const chapter = signal<number | null>(null); // the part that is shown
export const mutation = signal<Mutation | null>(null);
export const told = signal<Told | null>(null); // of the change; null: none, or the checks still run

let whole: { incident: Incident; history: History; checks: Promise<Check[]> } | null = null;
let asked = 0;

// Whether what is open is the lesson, changed or not.
export function inLesson(): boolean {
  return opened.value?.outline.synthetic === true;
}

async function readWhole() {
  if (whole === null) {
    const incident = await lessonIncident();
    const history = await buildHistory(incident);
    whole = { incident, history, checks: runChecks(incident, history) };
  }
  return whole;
}

export async function startLesson(): Promise<void> {
  const { incident } = await readWhole();
  batch(() => {
    chapter.value = null;
    mutation.value = null;
    told.value = null;
  });
  await openMade(incident);
  document.getElementById("view")?.focus(); // the button that was pressed is gone
}

export function showChapter(index: number): void {
  const { incident, history } = session.value!;
  const { view: where, row, reference: from } = kChapters[index];
  batch(() => {
    chapter.value = index;
    view.value = where;
    instant.value = row(incident, history);
    reference.value = from === undefined ? null : from(incident, history);
  });
}

export async function change(to: Mutation | null): Promise<void> {
  const turn = ++asked;
  const { incident, history, checks } = await readWhole();
  const chosen = chosenBlock();
  batch(() => {
    mutation.value = to;
    told.value = null;
  });
  if (to === null) return openMade(incident);
  const changed = to.apply(incident, history, chosen);
  const marked: Incident = {
    ...changed,
    outline: { ...changed.outline, notes: [`Changed by hand: ${to.title}. Undo it in the lesson.`, ...changed.outline.notes] },
  };
  await openMade(marked);
  if (turn !== asked) return;
  const after = await runChecks(marked, session.value!.history);
  if (turn === asked) told.value = { before: await checks, after };
}

// A block that was chosen in the memory map, as the unchanged incident numbers it.
function chosenBlock(): number | null {
  return mutation.value === null ? life.value : null;
}
