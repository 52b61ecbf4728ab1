// SPDX-License-Identifier: Apache-2.0
//
// What the receipt tells of one card. The rule: the ledgers are those of the failing device; another card is known by its balances alone.
import type { Balance, Count, Evidence } from "./receipt";

const balanceOf = (evidence: Evidence, device: number, wanted: (one: Balance) => boolean) =>
  evidence.holders.find((one) => one.device === device && wanted(one));

export function cardBytes(evidence: Evidence, device: number): Count | null {
  const told = balanceOf(evidence, device, (one) => one.total_bytes !== null)?.total_bytes ?? null;
  return evidence.failure?.device === device ? (evidence.ledgers?.total_bytes ?? told) : told;
}

// Of the peak; null where the receipt tells of none.
export function peakTicket(evidence: Evidence, device: number): Count | null {
  const peak = evidence.peak as { active_ticket: Count } | null | undefined;
  if (peak !== null && peak !== undefined && evidence.failure?.device === device) return peak.active_ticket;
  return balanceOf(evidence, device, (one) => one.instant === "peak")?.ticket ?? null;
}
