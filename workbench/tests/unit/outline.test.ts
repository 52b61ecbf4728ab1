// SPDX-License-Identifier: Apache-2.0
//
// What a page says of itself: the checks make each sentence again from the receipt, and object to one that was changed; what they cannot make again
// they say.
import { beforeAll, describe, expect, test } from "vitest";
import type { Check } from "../../src/checks/check";
import { outlineChecks } from "../../src/checks/outline";
import { causeOf, eventOf, titleOf } from "../../src/checks/outline_sentences";
import { runChecksOfReceipt } from "../../src/checks/run";
import type { Incident, Outline } from "../../src/data/incident";
import { receiptIncident } from "../../src/data/receipt_incident";
import { withReceipt } from "../../src/lesson/edit";
import { fixtureNames, openFixture } from "./check_fixtures";

const differing = (checks: readonly Check[]) => checks.filter(({ result }) => result.kind === "differs").map(({ id }) => id);
const resultOf = (checks: readonly Check[], id: string) => checks.find((check) => check.id === id)!.result;

test("the first sentences of every fixture are those that its receipt makes", { timeout: 240_000 }, async () => {
  let count = 0;
  const causes = new Set<string>();
  for (const name of fixtureNames()) {
    const incident = await openFixture(name).catch(() => null); // a recording that is refused has no page
    if (incident === null) continue;
    const { receipt, outline } = incident;
    const { before, who, after } = eventOf(receipt);
    const { title, event, cause } = outline.headline;
    expect([name, titleOf(receipt), causeOf(receipt)]).toEqual([name, title, cause]);
    if (who === null) expect([name, event!.startsWith(before) && event!.endsWith(after)]).toEqual([name, true]);
    else expect([name, before + who + after]).toEqual([name, event]);
    expect([name, differing(outlineChecks(incident, true))]).toEqual([name, []]);
    causes.add((cause ?? "").replace(/[:,].*$/, ""));
    ++count;
  }
  expect(count).toBeGreaterThan(150);
  expect(causes.size).toBeGreaterThan(8);
});

describe("a page that was changed", () => {
  let incident: Incident;
  beforeAll(async () => {
    incident = await openFixture("six_part");
  });
  const changed = (change: Partial<Outline>): Incident => ({ ...incident, outline: { ...incident.outline, ...change } });
  const said = (change: Partial<Outline["headline"]>) => changed({ headline: { ...incident.outline.headline, ...change } });

  const kChanges: [string, string, () => Incident][] = [
    ["a green title", "outline.title", () => said({ title: "NO FAILURE" })],
    ["another request", "outline.event", () => said({ event: "PyTorch asked for 9.00 GiB" })],
    ["another cause", "outline.cause", () => said({ cause: "external pressure: 3.66 GiB held outside PyTorch, 0.10 GiB were lacking" })],
    ["no cause", "outline.cause", () => said({ cause: null })],
    ["the place of a frame that nobody has", "outline.at", () => said({ at: "bobs_function (bob.py:99)" })],
    ["a note that praises it", "outline.notes", () => changed({ notes: [...incident.outline.notes, "This page was verified by memsnap-oracle."] })],
    ["another number of events", "outline.window", () => changed({ window: { ...incident.outline.window, event_count: 3 } })],
    ["births that nobody knows", "outline.window", () => changed({ window: { ...incident.outline.window, births_known_from_ticket: 5 } })],
    ["another device", "outline.window", () => changed({ devices: [0, 1] })],
    ["a clock that it has not", "outline.window", () => changed({ clock: !incident.outline.clock })],
    [
      "names that it denies",
      "outline.with_names",
      () => ({ ...changed({ with_names: false }), names: { ...incident.names, frames: [{ function: "f", file: "/x/a.py", line: 3 }] } }),
    ],
    ["the name of a file that it denies", "outline.with_names", () => changed({ with_names: false, file: "ring.bin" })],
    [
      "another token of a site",
      "outline.tokens",
      () => ({ ...incident, names: { ...incident.names, sites: incident.names.sites.map((one) => ({ ...one, token: "site-0000000000000000" })) } }),
    ],
  ];
  test.each(kChanges)("%s: %s objects", (_what, id, make) => {
    expect(differing(outlineChecks(make(), true))).toContain(id);
    expect(differing(outlineChecks(incident, true))).toEqual([]);
  });

  test("a frame of names may stand in the place, and the text of a name is said to be unchecked", () => {
    const names = { ...incident.names, frames: [{ function: "step", file: "/x/train.py", line: 3 }] };
    const checks = outlineChecks({ ...said({ at: "step (train.py:3), in forward" }), names }, true);
    expect(resultOf(checks, "outline.at")).toMatchObject({ kind: "agrees" });
    expect(resultOf(checks, "outline.names")).toMatchObject({ kind: "not_recomputed", why: expect.stringContaining("memsnap-oracle does not look") });
    expect(resultOf(checks, "outline.file").kind).toBe("not_recomputed");
  });

  test("another library than those that names have does not ask", async () => {
    const foreign = await openFixture("foreign_live_set");
    const { headline } = foreign.outline;
    expect(headline.event).toContain("library 2");
    const bob = { ...foreign, outline: { ...foreign.outline, headline: { ...headline, event: headline.event!.replace("library 2", "user bob") } } };
    expect(differing(outlineChecks(bob, true))).toEqual(["outline.event"]);
  });

  test("before the events are read, a forged number and a forged sentence are found already", async () => {
    const forged = withReceipt(
      incident,
      (receipt) => {
        receipt.verdict.hypotheses!.external.status = "contributing";
      },
      false,
    );
    expect(differing(await runChecksOfReceipt(incident))).toEqual([]);
    expect(differing(await runChecksOfReceipt(forged))).toEqual(["digests.receipt", "verdict.external"]);
    expect(differing(await runChecksOfReceipt(said({ title: "NO FAILURE" })))).toEqual(["outline.title"]);
  });

  test("of a receipt alone the page holds nothing against it that the page itself put together", async () => {
    const checks = await runChecksOfReceipt(receiptIncident(incident.receiptText).incident);
    expect(differing(checks)).toEqual([]);
    expect(new Set(checks.map(({ group }) => group))).toEqual(new Set(["digests", "verdict"]));
  });
});
