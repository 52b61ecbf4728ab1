// SPDX-License-Identifier: Apache-2.0
//
// The checks of the page: they agree with memsnap-replay on every fixture or say why they did not look, and each change of a page makes the right
// ones object.
import { beforeAll, describe, expect, test } from "vitest";
import type { Check } from "../../src/checks/check";
import { runChecks } from "../../src/checks/run";
import type { Incident } from "../../src/data/incident";
import type { Receipt } from "../../src/data/receipt";
import { buildHistory } from "../../src/history/build";
import { withCell, withoutRows, withReceipt } from "../../src/lesson/edit";
import { fixtureNames, openFixture, toldOf } from "./check_fixtures";

async function checksOf(incident: Incident): Promise<Check[]> {
  return runChecks(incident, await buildHistory(incident));
}

const differing = (checks: Check[]) => checks.filter(({ result }) => result.kind === "differs").map(({ id }) => id);
const resultOf = (checks: Check[], id: string) => checks.find((check) => check.id === id)!.result;

// A row of events by its kind; of several the one with that number.
function rowOf(incident: Incident, kind: string, nth = 0): number {
  const column = incident.events.column("kind");
  return Array.from({ length: incident.events.rows }, (_, row) => row).filter((row) => column.text(row) === kind)[nth];
}

test("no check of any fixture differs, and what is not recomputed has a reason", { timeout: 240_000 }, async () => {
  const names = toldOf(fixtureNames()).map(({ name }) => name);
  let compared = 0;
  for (const name of names) {
    const checks = await checksOf(await openFixture(name));
    const faults = checks.flatMap(({ id, result }) => (result.kind === "differs" ? [[id, result.difference]] : []));
    expect([name, faults]).toEqual([name, []]);
    for (const { id, result } of checks) if (result.kind === "not_recomputed") expect([id, result.why]).not.toEqual([id, ""]);
    for (const { id, result } of checks)
      if (result.kind === "not_recomputed") expect([name, id, result.why]).not.toEqual([name, id, expect.stringContaining("could not follow")]);
    compared += checks.filter(({ result }) => result.kind === "agrees").length;
  }
  expect(compared).toBeGreaterThan(60 * names.length);
});

describe("a change of the page", () => {
  let incident: Incident;
  beforeAll(async () => {
    incident = await openFixture("six_part");
  });
  const forged = async (edit: (receipt: Receipt) => void) => checksOf(withReceipt(incident, edit, true));

  test("a block that is left out: order, totals, ledger, extents and sites object, at its place", async () => {
    const row = rowOf(incident, "block_alloc", 1);
    const checks = await checksOf(withoutRows(incident, (one) => one === row));
    for (const id of ["rules.order", "rules.totals_allocated", "ledger.active_bytes", "failure.extents", "sites.sites", "growth.retained"]) {
      expect([id, resultOf(checks, id).kind]).toEqual([id, "differs"]);
    }
    expect(resultOf(checks, "ledger.active_bytes")).toMatchObject({ difference: { ticket: "9", member: "active_bytes" } });
    expect(differing(checks).filter((id) => id.startsWith("verdict") || id.startsWith("digests"))).toEqual([]);
  });

  test("a freed block whose birth is left out is unmatched", async () => {
    const row = rowOf(incident, "block_alloc", 6);
    expect(differing(await checksOf(withoutRows(incident, (one) => one === row)))).toContain("rules.free_unmatched");
  });

  test("another size of a block: totals and the free that does not fit object", async () => {
    const row = rowOf(incident, "block_alloc", 6);
    const checks = await checksOf(withCell(incident, "size_bytes", row, incident.events.column("size_bytes").number(row) - 512));
    for (const id of ["rules.totals_allocated", "rules.free_mismatch", "ledger.active_bytes"]) expect(differing(checks)).toContain(id);
  });

  test("a size that is no multiple of 512, a block on another and one beyond its segment are named by their rules", async () => {
    const row = rowOf(incident, "block_alloc", 1);
    const size = incident.events.column("size_bytes").number(row);
    const place = incident.events.column("place_bytes").number(row);
    expect(differing(await checksOf(withCell(incident, "size_bytes", row, size + 1)))).toContain("rules.block_size");
    expect(differing(await checksOf(withCell(incident, "place_bytes", row, place - 512)))).toContain("rules.block_overlap");
    expect(
      differing(await checksOf(withCell(incident, "place_bytes", row, incident.events.column("place_bytes").number(rowOf(incident, "block_alloc"))))),
    ).toContain("rules.block_live_twice");
    expect(differing(await checksOf(withCell(incident, "size_bytes", row, 2 ** 30)))).toContain("rules.block_outside_segment");
  });

  test("reported totals that cannot be are named by their rules", async () => {
    const row = rowOf(incident, "block_alloc", 2);
    expect(differing(await checksOf(withCell(incident, "allocated_bytes", row, 2 ** 40)))).toEqual(
      expect.arrayContaining(["rules.totals_allocated", "rules.totals_reserved"]),
    );
  });

  test("two holes that became one: the extents object, with both values", async () => {
    const checks = await forged((receipt) => {
      const { rows } = receipt.evidence.extents!;
      rows.splice(7, 3, [...rows[7].slice(0, 2), 12 * 2 ** 20, ...rows[7].slice(3)]);
    });
    expect(differing(checks)).toEqual(["failure.extents"]);
    expect(resultOf(checks, "failure.extents")).toMatchObject({
      difference: { member: "evidence.extents.rows[7].size_bytes", page: "4194304", told: "12582912" },
    });
  });

  test("the external lane that is hidden: the card, the others and the balances object, the state of the allocator does not", async () => {
    const kinds = new Set(["mem_info", "device_sample", "process_sample"]);
    const kind = incident.events.column("kind");
    const checks = await checksOf(withoutRows(incident, (row) => kinds.has(kind.text(row))));
    const ids = differing(checks);
    for (const id of [
      "rules.order",
      "numbers.ledgers.total_bytes",
      "numbers.ledgers.device_free_bytes",
      "numbers.outside.others_bytes",
      "numbers.outside.baseline_ticket",
      "balance.0.failure",
    ])
      expect(ids).toContain(id);
    for (const id of ["failure.extents", "numbers.ledgers.reserved_bytes", "sites.sites", "ledger.active_bytes", "growth.retained"])
      expect(ids).not.toContain(id);
  });

  test("a status that is swapped: the verdict objects, and nothing else", async () => {
    const checks = await forged((receipt) => {
      receipt.verdict.hypotheses!.external.status = "contributing";
      receipt.verdict.hypotheses!.retention.status = "primary";
    });
    expect(differing(checks).sort()).toEqual(["verdict.external", "verdict.retention"]);
  });

  test("evidence that was changed with its digests made anew: the number objects, and the verdict that no longer follows", async () => {
    const checks = await forged((receipt) => {
      receipt.evidence.ledgers!.device_free_bytes = 100 * 2 ** 20;
    });
    expect(differing(checks)).toEqual(expect.arrayContaining(["numbers.ledgers.device_free_bytes", "verdict.numbers"]));
    expect(differing(checks).some((id) => id.startsWith("digests"))).toBe(false);
  });

  test("a receipt that was changed and not stamped anew: its digests object", async () => {
    const checks = await checksOf(
      withReceipt(
        incident,
        (receipt) => {
          receipt.evidence.ledgers!.unseen_segment_bytes = 512;
        },
        false,
      ),
    );
    expect(differing(checks).sort()).toEqual(["digests.evidence", "digests.receipt", "numbers.ledgers.unseen_segment_bytes"]);
  });

  test("a result of the replay that was changed: its column objects, at the event", async () => {
    const derived = await incident.derived();
    const column = (name: string) => {
      const of = derived.column(name);
      if (name !== "held_bytes") return of;
      return {
        name,
        type: of.type,
        number: (row: number) => of.number(row) + (row === 20 ? 512 : 0),
        at: (row: number) => of.at(row),
        filled: (row: number) => of.filled(row),
        text: (row: number) => of.text(row),
      };
    };
    const table = { rows: derived.rows, words: derived.words, names: derived.names, has: (name: string) => derived.has(name), column };
    const checks = await checksOf({ ...incident, derived: async () => table });
    expect(differing(checks)).toEqual(["ledger.held_bytes"]);
    expect(resultOf(checks, "ledger.held_bytes")).toMatchObject({ difference: { row: 20, ticket: "20" } });
  });
});

test("a page that holds a part of the events says what it could not look at, and finds no difference", async () => {
  const checks = await checksOf(await openFixture("six_part", ["--html-events", "16"]));
  expect(differing(checks)).toEqual([]);
  expect(resultOf(checks, "failure.extents").kind).toBe("agrees");
  expect(resultOf(checks, "sites.lifetimes").kind).toBe("not_recomputed");
});

// What decided each of them lies before or behind the events of such a page.
test.each([
  "async_backend", "baseline_after_growth", "deferred_free", "edge_slow_leak_reached", "fit_ignored", "neighbour_same_job", "survived_then_fatal",
])("%s, summarised to four events, is not called forged", async (name) => {
  const checks = await checksOf(await openFixture(name, ["--html-events", "4"]));
  expect(checks.flatMap(({ id, result }) => (result.kind === "differs" ? [[id, result.difference]] : []))).toEqual([]);
});

test("progress is told from the first group to the last, in order", async () => {
  const incident = await openFixture("six_part");
  const seen: number[] = [];
  await runChecks(incident, await buildHistory(incident), ({ done, of }) => {
    seen.push(done);
    expect(done).toBeLessThanOrEqual(of);
  });
  expect(seen).toEqual([...seen].sort((a, b) => a - b));
  expect(seen[0]).toBe(0);
  expect(new Set(seen).size).toBe(seen.length);
});

// One number of the evidence that is another, in a receipt whose digests fit it: the check that it belongs to must object.
const kForged: [string, string, (evidence: Receipt["evidence"]) => void][] = [
  [
    "six_part",
    "sites.sites",
    (e) => {
      e.sites![0].bytes = 512;
    },
  ],
  [
    "six_part",
    "sites.categories",
    (e) => {
      (e.categories as { bytes: number }[])[0].bytes = 512;
    },
  ],
  [
    "six_part",
    "sites.libraries",
    (e) => {
      (e.libraries as { bytes: number }[])[0].bytes = 512;
    },
  ],
  [
    "six_part",
    "sites.peak",
    (e) => {
      (e.peak as Record<string, unknown>).active_ticket = 1;
    },
  ],
  [
    "six_part",
    "sites.lifetimes",
    (e) => {
      (e.lifetimes as Record<string, unknown>).longest_ticks = 1;
    },
  ],
  [
    "six_part",
    "sites.recent",
    (e) => {
      (e.recent as Record<string, unknown>[])[3].live = (e.recent as Record<string, unknown>[])[3].live !== true;
    },
  ],
  [
    "six_part",
    "sites.reconciliation",
    (e) => {
      (e.reconciliation as Record<string, unknown>).mismatch_count = 0;
    },
  ],
  [
    "six_part",
    "sites.site_growth",
    (e) => {
      (e.site_growth as { rows: Record<string, unknown>[] }).rows[0].to_bytes = 512;
    },
  ],
  [
    "six_part",
    "sites.peak_sites.0",
    (e) => {
      (e.peak_sites as { site_count: number }[])[0].site_count = 9;
    },
  ],
  [
    "six_part",
    "sites.failures",
    (e) => {
      (e.failures as { request_bytes: number }[])[0].request_bytes = 512;
    },
  ],
  [
    "six_part",
    "growth.points",
    (e) => {
      e.growth!.points.rows[2][1] = 512;
    },
  ],
  [
    "six_part",
    "growth.retained",
    (e) => {
      e.growth!.survivors[0].step_count = 3;
    },
  ],
  [
    "six_part",
    "balance.0.peak",
    (e) => {
      e.holders[0].unattributed_bytes = 512;
    },
  ],
  [
    "six_part",
    "balance.0.failure",
    (e) => {
      e.holders[1].fragmented_free_bytes = 512;
    },
  ],
  [
    "collections",
    "sites.collections",
    (e) => {
      (e.collections as Record<string, unknown>).freed_bytes = 512;
    },
  ],
  [
    "requests_told",
    "sites.requests.0",
    (e) => {
      (e.requests as Record<string, unknown>[])[0].told_kept_bytes = 1;
    },
  ],
  [
    "managed_and_pinned",
    "balance.beside.0.failure",
    (e) => {
      (e.holders[1] as unknown as Record<string, unknown>).pinned_bytes = 512;
    },
  ],
];

test.each(kForged)("%s with another number in its evidence: %s objects", async (name, id, edit) => {
  const incident = await openFixture(name);
  expect(resultOf(await checksOf(incident), id).kind).toBe("agrees");
  const checks = await checksOf(withReceipt(incident, (receipt) => edit(receipt.evidence), true));
  expect(resultOf(checks, id).kind).toBe("differs");
  expect(differing(checks).filter((one) => one.startsWith("digests"))).toEqual([]);
});
