// SPDX-License-Identifier: Apache-2.0
//
// Histories of a few rows written by hand, and short ways to ask them.
import { buildHistory } from "../../src/history/build";
import type { History, Lane } from "../../src/history/history";
import { madeIncident, type MadeRow } from "./made_incident";

export async function historyOf(rows: MadeRow[], begin: MadeRow[] = [], failure: { ticket: number; device: number } | null = null): Promise<History> {
  return buildHistory(await madeIncident(rows, begin, failure));
}

export const lane = (history: History, name: Lane, device = 0) => [...history.lane(device, name)];
export const broken = (history: History) => [...history.broken].map(([rule, { count, row }]) => `${rule} ${count} from ${row}`);
