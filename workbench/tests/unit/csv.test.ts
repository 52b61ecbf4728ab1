// SPDX-License-Identifier: Apache-2.0
//
// Exports: the same bytes as memsnap-replay writes, or a refusal with the command; and nothing with a name in it.
import { expect, test } from "vitest";
import type { Check, Pace } from "../../src/checks/check";
import { checksExport, ledgerExport, receiptExport, sitesExport, type Export } from "../../src/checks/exports";
import { faultOfCsv, mayStandIn } from "../../src/checks/redaction";
import type { Incident } from "../../src/data/incident";
import { ledgerColumns } from "../../src/data/ledger_csv";
import { canonicalText } from "../../src/data/receipt_digest";
import { openFixture, toldOf } from "./check_fixtures";

const kFixtures = [
  "six_part",
  "categories",
  "collections",
  "deferred_free",
  "dimension_effects",
  "expandable_pages",
  "handles_shared",
  "recovered",
  "two_devices",
];
const pace: Pace = { breathe: async () => {} };
const textOf = (made: Export) => (made.kind === "file" ? made.pieces.join("") : made.why);

test.each(kFixtures)("%s: receipt and ledger are those of memsnap-replay, byte for byte", async (name) => {
  const [told] = toldOf([name]);
  const incident = await openFixture(name);
  expect(textOf(receiptExport(incident))).toBe(told.receipt);
  expect(textOf(await ledgerExport(incident, pace))).toBe(told.ledger);
});

test("of a page that holds a part of the events the ledger is refused, with the command that writes it", async () => {
  const incident = await openFixture("six_part");
  const { window } = incident.outline;
  const part: Incident = {
    ...incident,
    outline: { ...incident.outline, command: ["--at", "48"], window: { ...window, event_count: window.event_count + 1 } },
  };
  const made = await ledgerExport(part, pace);
  expect(made.kind === "refused" && made.command).toMatch(/^memsnap-replay \S+ --at 48 --csv ledger\.csv$/);
});

test("files are called by the receipt's digest, never by the ring", async () => {
  const incident = await openFixture("six_part");
  const made = [receiptExport(incident), await ledgerExport(incident, pace), sitesExport(incident), checksExport(incident, [])];
  const start = `memsnap-${incident.receipt.digest.receipt.slice(0, 12)}-`;
  expect(made.map((one) => (one.kind === "file" ? one.name : one.why))).toEqual(
    ["receipt.json", "ledger.csv", "sites.csv", "checks.csv"].map((what) => start + what),
  );
});

test("a receipt with names leaves without them, and is the same receipt", async () => {
  const incident = await openFixture("six_part");
  const names = {
    sites: [{ site: 1, frames: [{ function: "forward", file: "/home/user/model.py", line: 41 }] }],
    phases: [],
    libraries: [],
    dimensions: [],
  };
  const receipt = { ...incident.receipt, names };
  const made = receiptExport({ ...incident, receipt, receiptText: canonicalText(receipt) });
  expect(textOf(made)).toBe(incident.receiptText);
});

test("a name that was put in place of a word, a number or a token stops each export", async () => {
  const incident = await openFixture("six_part");
  const secret = "/home/user/model.py";
  const words = { ...incident.events.words, kind: incident.events.words.kind.map(() => secret) };
  const column = (name: string) => ({
    ...incident.events.column(name),
    at: () => 0,
    number: () => 0,
    filled: () => true,
    text: () => (name === "kind" ? secret : "0"),
  });
  const planted: Incident = {
    ...incident,
    events: { ...incident.events, rows: incident.events.rows, words, names: incident.events.names, has: (name) => incident.events.has(name), column },
  };
  const ledger = await ledgerExport(planted, pace);
  expect(ledger.kind).toBe("refused");
  expect(textOf(ledger)).toContain("column kind");
  const receipt = structuredClone(incident.receipt);
  (receipt.dictionary.sites as { token: string }[])[0].token = secret;
  expect(sitesExport({ ...incident, receipt }).kind).toBe("refused");
  expect(receiptExport({ ...incident, receipt, receiptText: canonicalText(receipt) }).kind).toBe("refused");
  const check: Check = {
    id: secret,
    group: "digests",
    title: secret,
    from: secret,
    result: { kind: "differs", difference: { row: null, ticket: secret, member: secret, page: secret, told: secret } },
  };
  expect(textOf(checksExport(planted, [check]))).toBe("check,result,compared_count,ticket,page,told\n,differs,,,,\n");
  for (const made of [ledger, sitesExport({ ...incident, receipt })]) expect(textOf(made)).not.toContain(secret);
});

test("cells are integers, closed words, tokens or empty", () => {
  expect(
    [
      ["kind", "block_alloc"],
      ["op", "cudaMalloc"],
      ["op", "cuMemMap"],
      ["object", ""],
      ["token", "site-0123456789abcdef"],
      ["value", "-5"],
    ].filter(([column, cell]) => !mayStandIn(column, cell)),
  ).toEqual([]);
  const refused = [
    ["kind", "forward"],
    ["kind", ""],
    ["op", "curl"],
    ["op", "cuda/../x"],
    ["object", "attention"],
    ["token", "site-1"],
    ["token", "forward"],
    ["size_bytes", "1e5"],
    ["size_bytes", "0x10"],
  ];
  expect(refused.filter(([column, cell]) => mayStandIn(column, cell))).toEqual([]);
  expect(faultOfCsv("1,2\n", ["ticket", "size_bytes"])).toBeNull();
  expect(faultOfCsv("1,2\n3\n", ["ticket", "size_bytes"])).toContain("1 cells");
  expect(faultOfCsv("1,2", ["ticket", "size_bytes"])).toContain("cut");
  expect(ledgerColumns).toHaveLength(42);
});
