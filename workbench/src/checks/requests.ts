// SPDX-License-Identifier: Apache-2.0
//
// Requested against granted bytes (docs/receipt.md, `requests`). The rule: only what the torch tap told of a block born in the window counts; what
// the allocator itself told of all live blocks at a failure is not in the page.
import { Comparison, notRecomputed, type Result, type Subject } from "./check";
import { reachOf } from "./rows";
import { kGranule_bytes } from "./thresholds";

export function requestsResult(subject: Subject, told: Record<string, unknown>, index: number): Result {
  const { history, incident } = subject;
  const reach = reachOf(incident);
  if (!reach.wholeWindow) return notRecomputed(reach.why);
  const scene = history.scene(Number(told.device), history.rowOf(Number(told.ticket)));
  const { lives } = history;
  const own = { granted_bytes: 0, told_block_count: 0, told_granted_bytes: 0, told_requested_bytes: 0, told_rounding_bytes: 0, told_kept_bytes: 0 };
  for (const life of scene.blocks) {
    if (scene.deferred.has(life)) continue;
    const granted = lives.size[life];
    const requested = lives.birth[life] < 0 ? NaN : lives.requested[life];
    own.granted_bytes += granted;
    if (Number.isNaN(requested)) continue;
    const rounded = Math.max(1, Math.ceil(requested / kGranule_bytes)) * kGranule_bytes;
    own.told_block_count += 1;
    own.told_granted_bytes += granted;
    own.told_requested_bytes += requested;
    own.told_rounding_bytes += rounded - requested;
    own.told_kept_bytes += granted - rounded;
  }
  const compared = new Comparison();
  for (const [member, value] of Object.entries(own)) compared.same(`evidence.requests[${index}].${member}`, value, told[member]);
  return compared.result();
}
