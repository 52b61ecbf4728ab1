// SPDX-License-Identifier: Apache-2.0
//
// One page after another: what belongs to the one before goes, and what cannot be read disturbs nothing.
import { expect, test, vi } from "vitest";
import { partsOfText, type PackedPage } from "../../src/data/parts";
import { opened, problem, session } from "../../src/session";
import { query } from "../../src/views/events_state";
import { top_keys, wanted } from "../../src/views/flame_state";
import { rowOfTicket } from "../../src/views/instant";
import { hole, zoom } from "../../src/views/map_state";
import { openPage } from "../../src/views/opening";
import { pageOf } from "../support/pages";

const page = (fixture: string, options: string[] = []): PackedPage => partsOfText(pageOf(`../fixtures/${fixture}`, options))!;
vi.setConfig({ testTimeout: 30_000 }); // of a machine that is busy

const read = () => vi.waitFor(() => expect(session.value).not.toBeNull(), { timeout: 20_000 });

test("what was looked for in one page is not looked for in the next", async () => {
  await openPage(page("six_part"));
  await read();
  [query.value, wanted.value, top_keys.value, hole.value, zoom.value] = ["kind:ok", "forward", ["a"], 4096, 8];
  await openPage(page("retention"));
  expect([query.value, wanted.value, top_keys.value, hole.value, zoom.value]).toEqual(["", "", null, null, 1]);
  await read();
});

test("a page that cannot be read leaves the one that is still being read as it is", async () => {
  await openPage(page("six_part"));
  expect(session.value).toBeNull();
  const whole = page("retention");
  const cut = { ...whole, before: new Map([...whole.before, ["names", "AAAA"]]) };
  await expect(openPage(cut)).rejects.toThrow("names");
  await read();
  expect(session.value!.incident.receiptText).toBe(opened.value!.receiptText);
  expect(session.value!.incident.receipt.verdict.primary).toBe("external");
  expect(problem.value).toBeNull();
});

test("a ticket whose event is not on the page leads nowhere, not to another event", async () => {
  await openPage(page("six_part", ["--html-events", "8"]));
  await read();
  const { events, outline } = session.value!.incident;
  const first = events.column("ticket").at(0)!;
  expect(first).toBeGreaterThan(outline.window.first_ticket);
  expect(rowOfTicket(first)).toBe(0);
  expect(rowOfTicket(first - 1)).toBeNull();
  expect(rowOfTicket(outline.window.end_ticket + 9)).toBeNull();
});
