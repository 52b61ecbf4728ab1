// SPDX-License-Identifier: Apache-2.0
//
// What can be done with a file. The rule: a choice is offered only when the file was read for it, so that one that is chosen can fail by its
// content alone.
import { lookAt } from "../data/look";
import { partsOfText } from "../data/parts";
import { plainText } from "../data/names";
import { opened } from "../session";
import { openBeside, openComparison, openPage, openReceipt, openReceiptBeside, problemText } from "./opening";

export interface Choice {
  label: string;
  run: () => void | Promise<void>;
}

export interface Look {
  name: string; // as it can be shown
  what: string;
  facts: string[];
  command: string | null;
  choices: Choice[];
  pair: { before: Choice["run"]; after: Choice["run"] } | null; // one incident, that may be either side of a comparison
  failed: boolean;
}

// What a browser can hold as one text, with room to work.
const kPage_bytes_most = 400 * 2 ** 20;
const kJson_bytes_most = 256 * 2 ** 20;

const kInstead = "open it instead";
const kBeside = "compare: it is the run AFTER";

function one(found: Look, instead: Choice["run"], beside: Choice["run"] | null): Look {
  const pair = beside === null ? null : { before: instead, after: beside };
  if (opened.value === null) return { ...found, choices: [{ label: "open it", run: instead }], pair };
  const choices = [{ label: kInstead, run: instead }, ...(beside === null ? [] : [{ label: kBeside, run: beside }])];
  return { ...found, choices, pair };
}

// Two incidents that were given together.
export function pairsOf([first, second, ...more]: Look[]): Choice[] {
  if (first === undefined || second === undefined || more.length > 0) return [];
  const compare = (before: Look, after: Look): Choice[] => {
    const [a, b] = [before.pair, after.pair];
    if (a === null || b === null) return [];
    const run = async () => {
      await a.before();
      await b.after();
    };
    return [{ label: `compare: ${before.name} is BEFORE, ${after.name} is AFTER`, run }];
  };
  return [...compare(first, second), ...compare(second, first)];
}

async function read(file: File, sort: "page" | "receipt" | "diff", found: Look): Promise<Look> {
  if (file.size > (sort === "page" ? kPage_bytes_most : kJson_bytes_most))
    return { ...found, facts: ["It is too large to be read from here.", ...(sort === "page" ? ["Open it in a tab of its own."] : [])] };
  const text = await file.text();
  if (sort === "diff") return { ...found, choices: [{ label: "show it", run: () => openComparison(text) }] };
  if (sort === "receipt")
    return one(
      found,
      () => openReceipt(text),
      () => openReceiptBeside(text),
    );
  const page = partsOfText(text);
  if (page === null && !/<\/html>\s*$/.test(text.slice(-256)))
    return { ...found, what: "This page of memsnap's is cut off. Copy it again, or make it again: memsnap-replay RING --html FILE." };
  if (page === null) return { ...found, what: "This is the workbench itself: a page of memsnap's without an incident in it." };
  const two = page.after !== null || page.diff !== null;
  return one(found, () => openPage(page), two ? null : () => openBeside(page.before));
}

export async function look(file: File): Promise<Look> {
  const name = plainText(file.name);
  try {
    const { sort, what, facts, command } = await lookAt(file);
    const found: Look = { name, what, facts, command, choices: [], pair: null, failed: false };
    return sort === "page" || sort === "receipt" || sort === "diff" ? await read(file, sort, found) : found;
  } catch (error) {
    // A file that went away, a folder, or a text that no browser holds.
    const told = error instanceof DOMException ? "The browser could not read it." : problemText(error);
    return { name, what: told, facts: [], command: null, choices: [], pair: null, failed: true };
  }
}
