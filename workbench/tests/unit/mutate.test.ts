// SPDX-License-Identifier: Apache-2.0
//
// Each change of the lesson: exactly the checks that it must wake object, the incident that it was made of stays as it was, and undo is exact.
import { beforeAll, describe, expect, it } from "vitest";
import { runChecks } from "../../src/checks/run";
import type { Incident } from "../../src/data/incident";
import { faultOfReceipt } from "../../src/data/receipt_check";
import { buildHistory } from "../../src/history/build";
import type { History } from "../../src/history/history";
import { lessonIncident } from "../../src/lesson/lesson";
import { kMutations } from "../../src/lesson/mutations";

let incident: Incident;
let history: History;

beforeAll(async () => {
  incident = await lessonIncident();
  history = await buildHistory(incident);
});

async function objecting(of: Incident): Promise<string[]> {
  const checks = await runChecks(of, await buildHistory(of));
  return checks
    .filter((check) => check.result.kind === "differs")
    .map((check) => check.id)
    .sort();
}

function mutated(id: string, chosen: number | null = null): Incident {
  return kMutations.find((one) => one.id === id)!.apply(incident, history, chosen);
}

// What an allocation that is not there leaves behind: in the map, in every sum over live blocks, and against the allocator's own total.
const kOfBlocks = ["failure.extents", "ledger.active_bytes", "ledger.free_bytes", "rules.totals_allocated"];
const kOfHoles = ["fragmented_free_bytes", "largest_free_extent_bytes", "remappable_bytes"].map((name) => `numbers.ledgers.${name}`);
const kOfSites = ["sites.categories", "sites.recent", "sites.sites"];
const kOfProcesses = [
  ...["balance.0.failure", "balance.0.peak"],
  ...["expected_free_bytes", "other_processes_bytes", "unattributed_bytes"].map((name) => `ledger.${name}`),
  ...["other_process_count", "others_bytes"].map((name) => `numbers.outside.${name}`),
  ...["outline.window", "rules.order"], // the receipt counts more events than the page
];

const kObjecting: Record<string, string[]> = {
  drop_block: [...kOfBlocks, ...kOfHoles, ...kOfSites, "numbers.ledgers.uncertainty_bytes", "outline.window", "rules.order", "sites.lifetimes"],
  change_size: [...kOfBlocks, ...kOfHoles, ...kOfSites],
  merge_holes: ["failure.extents", "numbers.ledgers.largest_free_extent_bytes", "verdict.fragmentation"],
  hide_processes: kOfProcesses,
  hide_external_lane: [
    ...kOfProcesses,
    ...["device_free_bytes", "total_bytes"].map((name) => `numbers.ledgers.${name}`),
    ...["baseline_outside_bytes", "baseline_ticket", "baseline_unattributed_bytes", "earlier_outside_bytes"].map((name) => `numbers.outside.${name}`),
    ...["growth.points", "numbers.failure.free_observed_at_failure", "sites.reconciliation"],
  ],
  at_the_peak: [
    ...kOfHoles,
    ...["allocated_bytes", "device_free_bytes", "reserved_bytes"].map((name) => `numbers.ledgers.${name}`),
    ...["named_bytes", "named_growth_bytes", "others_bytes"].map((name) => `numbers.outside.${name}`),
  ],
  forge_margin: ["digests.evidence", "digests.receipt", "verdict.fragmentation", "verdict.numbers"],
  forge_margin_and_digests: ["verdict.fragmentation", "verdict.numbers"],
  swap_statuses: ["verdict.fragmentation", "verdict.live_set"],
};

describe("a change of the lesson", () => {
  it.each(kMutations.map((mutation) => mutation.id))("%s wakes exactly the checks that it must", async (id) => {
    expect(await objecting(mutated(id))).toEqual([...kObjecting[id]].sort());
  });

  it.each(kMutations.map((mutation) => mutation.id))("%s leaves what it was made of as it was", async (id) => {
    const [text, rows] = [incident.receiptText, incident.events.rows];
    mutated(id);
    expect(incident.receiptText).toBe(text);
    expect(incident.events.rows).toBe(rows);
    expect(await objecting(incident)).toEqual([]);
  });

  it("drops the block that was chosen in the map, if it is live at the failure", () => {
    const { lives, failureRow } = history;
    const weights = Array.from({ length: lives.count }, (_, life) => life).find(
      (life) => lives.size[life] === 1536 * 2 ** 20 && lives.birth[life] >= 0 && lives.kind[life] === 0,
    )!;
    expect(lives.death[weights]).toBeGreaterThan(failureRow!);
    const allocation = (of: Incident) => Array.from({ length: of.events.rows }, (_, row) => of.events.column("allocation").number(row));
    expect(allocation(incident)).toContain(lives.ticket[weights]);
    expect(allocation(mutated("drop_block", weights))).not.toContain(lives.ticket[weights]);
  });

  it("that forges without the digests is caught by them, and one that makes them anew is not", () => {
    expect(faultOfReceipt(mutated("forge_margin").receiptText)).toContain("digest");
    expect(faultOfReceipt(mutated("forge_margin_and_digests").receiptText)).toBeNull();
  });

  it("that judges the peak gives a receipt which is consistent in itself, and says that the driver refused", () => {
    const { outline, receipt, receiptText } = mutated("at_the_peak");
    expect(faultOfReceipt(receiptText)).toBeNull();
    expect(receipt.verdict.qualifiers).toContain("driver_refused");
    expect(receipt.verdict.primary).toBeNull();
    expect(outline.headline.cause).toBe("the driver refused although the device had room");
  });

  it("that merges holes keeps every sum of the map", () => {
    const sum = (of: Incident, word: string) => {
      const { columns, rows } = of.receipt.evidence.extents!;
      const [state, size] = [columns.indexOf("state"), columns.indexOf("size_bytes")];
      return rows.filter((row) => row[state] === word).reduce((bytes, row) => bytes + Number(row[size]), 0);
    };
    const merged = mutated("merge_holes");
    expect(sum(merged, "free")).toBe(sum(incident, "free"));
    expect(sum(merged, "live")).toBe(sum(incident, "live"));
    expect(merged.receipt.evidence.extents!.rows.length).toBe(incident.receipt.evidence.extents!.rows.length - 1);
  });
});
