// SPDX-License-Identifier: Apache-2.0
//
// Live bytes of one instant by birth site, as the receipt's `sites` counts them (docs/receipt.md). The rule: what is deferred is freed, so it is
// no site's; a block whose site nobody told stands under site 0.
import { kCategories, type Category, type History, type Scene } from "./history";

export interface SiteSum {
  site: number;
  bytes: number;
  blocks: number;
  firstStep: number;
  lastStep: number;
  phase: number; // of the largest block, the first such by address
  category: Category; // that most bytes have; of equal ones the earlier in kCategories
}

interface Adding extends SiteSum {
  largest_bytes: number;
  byCategory: Float64Array;
}

export function sumSites(history: History, scene: Scene): Map<number, SiteSum> {
  const { lives } = history;
  const sums = new Map<number, Adding>();
  for (const life of scene.blocks) {
    if (scene.deferred.has(life)) continue;
    const site = lives.site[life];
    const size_bytes = lives.size[life];
    const step = lives.step[life];
    let sum = sums.get(site);
    if (sum === undefined) {
      const byCategory = new Float64Array(kCategories.length);
      sum = { site, bytes: 0, blocks: 0, firstStep: step, lastStep: step, phase: 0, category: "unknown", largest_bytes: -1, byCategory };
      sums.set(site, sum);
    }
    sum.bytes += size_bytes;
    sum.blocks += 1;
    sum.firstStep = Math.min(sum.firstStep, step);
    sum.lastStep = Math.max(sum.lastStep, step);
    if (size_bytes > sum.largest_bytes) {
      sum.largest_bytes = size_bytes;
      sum.phase = lives.phase[life];
    }
    sum.byCategory[kCategories.indexOf(history.categoryOf(life, scene.instant))] += size_bytes;
  }
  for (const sum of sums.values()) {
    let most = 0;
    for (let at = 1; at < kCategories.length; at += 1) if (sum.byCategory[at] > sum.byCategory[most]) most = at;
    sum.category = kCategories[most];
  }
  return sums;
}

export function bytesBySite(sums: Map<number, SiteSum>): Map<number, number> {
  return new Map([...sums.values()].map((sum) => [sum.site, sum.bytes]));
}
