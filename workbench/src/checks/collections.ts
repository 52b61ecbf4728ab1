// SPDX-License-Identifier: Apache-2.0
//
// What Python's cyclic garbage collection freed up to the failure (docs/receipt.md, `collections`). The rule: a block that is freed on a thread
// with a collection open is freed in it; which threads have one open is told by the events alone.
import { Comparison, notRecomputed, type Result, type Subject } from "./check";
import type { Failing } from "./failing";
import { kListedSites } from "./thresholds";

const kCollection = 5; // family of a range

interface SiteSum {
  bytes: number;
  blocks: number;
  first: number; // row
}

export async function collectionsResult(failing: Failing, subject: Subject): Promise<Result> {
  const { rows, pace } = subject;
  const told = subject.incident.receipt.evidence.collections as Record<string, unknown>;
  if (!failing.reach.wholeWindow) return notRecomputed(failing.reach.why);
  const open = new Map<number, number | null>(); // thread by the ticket of the begin
  const bySite = new Map<number, SiteSum>();
  const freed = { bytes: 0, blocks: 0 };
  let passes = 0;
  const deaths = new Set<number>(); // rows that ended a block of the device
  const { lives } = subject.history;
  for (let life = 0; life < lives.count; ++life) {
    if (lives.kind[life] === 0 && lives.device[life] === failing.device && lives.death[life] <= failing.row) deaths.add(lives.death[life]);
  }
  const ranges = rows.ofKinds("phase_begin", "phase_end").some((row) => rows.of("code", row) === kCollection);
  let looked = 0;
  for (const row of ranges ? rows.ofKinds("phase_begin", "phase_end", "block_free") : []) {
    if (row > failing.row) break;
    if ((++looked & 4095) === 0) await pace.breathe();
    const thread = rows.of("thread", row);
    if (rows.kind(row) === "phase_begin") {
      if (rows.of("code", row) === kCollection) open.set(rows.of("ticket", row)!, thread);
    } else if (rows.kind(row) === "phase_end") {
      const begin = rows.of("cause", row);
      if (begin !== null && open.get(begin) === thread && open.delete(begin)) ++passes;
    } else if (deaths.has(row) && [...open.values()].includes(thread)) {
      const [site, size] = [rows.of("site", row) ?? 0, rows.of("size_bytes", row) ?? 0];
      const sum = bySite.get(site) ?? { bytes: 0, blocks: 0, first: row };
      bySite.set(site, sum);
      sum.bytes += size;
      sum.blocks += 1;
      freed.bytes += size;
      freed.blocks += 1;
    }
  }
  const compared = new Comparison();
  const step = rows
    .ofKinds("step")
    .filter((row) => row <= failing.row)
    .pop();
  compared.same("evidence.collections.pass_count", passes, told.pass_count);
  compared.same("evidence.collections.freed_bytes", freed.bytes, told.freed_bytes);
  compared.same("evidence.collections.freed_block_count", freed.blocks, told.freed_block_count);
  compared.same("evidence.collections.switched_off", step === undefined ? null : ((rows.of("code", step) ?? 0) & 1) !== 0, told.switched_off);
  const own = [...bySite].sort(([, a], [, b]) => b.bytes - a.bytes || a.first - b.first).slice(0, kListedSites);
  const list = told.rows as Record<string, unknown>[];
  compared.same("evidence.collections: how many sites", own.length, list.length);
  own.forEach(([site, sum], index) => {
    compared.same(`evidence.collections.rows[${index}].site`, site, list[index]?.site);
    compared.same(`evidence.collections.rows[${index}].bytes`, sum.bytes, list[index]?.bytes);
    compared.same(`evidence.collections.rows[${index}].block_count`, sum.blocks, list[index]?.block_count);
  });
  return compared.result();
}
