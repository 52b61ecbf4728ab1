// SPDX-License-Identifier: Apache-2.0
//
// What the page says of itself (docs/page.md, outline and names), held against the receipt, the names and the tables beside it. The rule: a
// sentence that follows from them is made again; what only the recording knows is listed as not recomputed, and nothing is left out silently.
import type { Incident } from "../data/incident";
import { holdsNames, plainText } from "../data/names";
import type { Count, Receipt } from "../data/receipt";
import { big } from "../parts/units";
import { agrees, Comparison, differs, notRecomputed, type Check, type Result } from "./check";
import { expectedNotes } from "./outline_notes";
import { causeOf, eventOf, titleOf } from "./outline_sentences";

function one(member: string, page: unknown, told: unknown): Result {
  if (page === null && told === null) return agrees();
  const compared = new Comparison();
  compared.same(member, page, told);
  return compared.result();
}

// A library in a sentence: its name (cut), its number, or that it is not known.
function mayAsk(who: string, { names }: Incident): boolean {
  if (who === "unknown library" || /^library [0-9]{1,5}$/.test(who)) return true;
  const begin = who.replace(/(…|\.\.)$/, "");
  const is = (name: string) => name === who || (begin !== who && name.startsWith(begin));
  // The terminal spells what cannot be shown in another way.
  return names.libraries.some(({ name }) => name !== undefined && (is(name) || plainText(name) !== name));
}

function eventResult(incident: Incident): Result {
  const { before, who, after } = eventOf(incident.receipt);
  const member = "headline.event";
  const told = incident.outline.headline.event;
  if (who !== null || told === null) return one(member, who === null ? `${before}a library${after}` : before + who + after, told);
  const fits = told.startsWith(before) && told.endsWith(after) && told.length >= before.length + after.length;
  if (!fits) return differs(member, `${before}(a library)${after}`, told);
  const library = told.slice(before.length, told.length - after.length);
  return mayAsk(library, incident) ? agrees(1, told) : differs(member, "a library that names has", library);
}

// A site as names have it, or function (file:line) of frames that are in names, as often as they are in the sentence.
function placeResult({ outline, names, receipt }: Incident): Result {
  const { at } = outline.headline;
  if (at === null) return agrees();
  if (receipt.evidence.failure === null) return differs("headline.at", "no place, for there is no failure", at);
  const site = at.replace(/, in [^()]*$/, "");
  if (names.sites.some(({ label, token }) => label === site || token === site)) return agrees(1, at);
  let count = 0;
  for (const place of at.matchAll(/\(([^()]+):([0-9]+)\)/g)) {
    const [before, file, line] = [at.slice(0, place.index).trimEnd(), place[1], Number(place[2])];
    const known = names.frames.some(
      (frame) => frame.line === line && (frame.file ?? "").endsWith(file) && before.endsWith((frame.function ?? "").replace(/^.*\./, "")),
    );
    if (!known) return differs("headline.at", "no such frame in names", place[0]);
    ++count;
  }
  return count > 0 ? agrees(count) : notRecomputed("names have no such site; it shows no line of a file");
}

function namesFlagResult({ outline, names }: Incident): Result {
  if (outline.with_names) return agrees(1, String(outline.with_names));
  if (holdsNames(names)) return differs("with_names", "names have texts", "false");
  return outline.file === null ? agrees(1, String(outline.with_names)) : differs("file", "none in a page without names", outline.file);
}

function windowResult({ outline, receipt, levels, events }: Incident, whole: boolean): Result {
  const { window } = outline;
  const { capture } = receipt;
  const compared = new Comparison();
  const count = (name: string) => big(capture[name] as Count);
  compared.same("window.keyframe", capture.failure_seen_in === "keyframe", window.keyframe);
  if (capture.start_mode !== "late") compared.same("window.births_known_from_ticket", 0, window.births_known_from_ticket);
  if (!window.keyframe) {
    compared.same("window.first_ticket", capture.first_ticket, window.first_ticket);
    compared.same("window.end_ticket", capture.end_ticket, window.end_ticket);
    const accepted = count("end_ticket") - count("first_ticket") - count("missing_count") - count("unknown_kind_count");
    compared.same("window.event_count", accepted, window.event_count);
  }
  const devices = new Set(Array.from({ length: levels.rows }, (_, row) => levels.column("device").number(row)));
  // A window without events has no levels.
  if (levels.rows > 0) compared.same("devices", [...devices], outline.devices);
  if (!whole) return compared.result();
  compared.same("window.exact_event_count", events.rows, window.exact_event_count);
  if (events.rows > 0) {
    // A ticket that is lost there has no row.
    const first = events.column("ticket").number(0);
    if (first < window.exact_first_ticket) compared.same("window.exact_first_ticket", first, window.exact_first_ticket);
    compared.same("clock", events.column("time_ns").filled(0), outline.clock);
  }
  return compared.result();
}

function notesResult(incident: Incident): Result {
  const compared = new Comparison();
  const { expected, told } = expectedNotes(incident);
  for (let at = 0; at < Math.max(expected.length, told.length); ++at) compared.same(`notes[${at}]`, expected[at], told[at]);
  return compared.result();
}

type Entry = Record<string, unknown>;

// A token of the receipt's dictionary is the one that names have for the same ordinal.
function tokensResult(receipt: Receipt, incident: Incident): Result {
  const compared = new Comparison();
  const lists = { sites: "site", phases: "phase", libraries: "library", dimensions: "dimension" } as const;
  for (const [list, ordinal] of Object.entries(lists) as [keyof typeof lists, string][]) {
    const entries = new Map((incident.names[list] as unknown as Entry[]).map((entry) => [String(entry[ordinal]), entry]));
    for (const told of (receipt.dictionary[list] ?? []) as Entry[]) {
      const own = entries.get(String(told[ordinal]));
      if (own !== undefined) compared.same(`names.${list}[${String(told[ordinal])}].token`, told.token, own.token);
    }
  }
  return compared.result();
}

const kNamesWhy =
  "only the file of names beside the recording knows them: no event and no receipt holds the text of a name, and memsnap-oracle does not look at " +
  "it. memsnap-replay, on the recording, prints them again";

// `whole`: the events are there too.
export function outlineChecks(incident: Incident, whole: boolean): Check[] {
  const { outline, receipt } = incident;
  const { headline } = outline;
  const check = (id: string, title: string, from: string, result: Result): Check => ({ id: `outline.${id}`, group: "outline", title, from, result });
  const named = holdsNames(incident.names);
  return [
    check("title", "what happened, in capitals", "the receipt's evidence", one("headline.title", titleOf(receipt), headline.title)),
    check("event", "the sentence of what happened", "the receipt's evidence", eventResult(incident)),
    check("cause", "the sentence of the cause", "the receipt's verdict and its numbers", one("headline.cause", causeOf(receipt), headline.cause)),
    check("at", "the place of the failure", "the frames in names", placeResult(incident)),
    check("window", "window, keyframe, clock and devices", "the receipt, levels and events", windowResult(incident, whole)),
    check("notes", "the notes at the top", "the receipt, levels and window", notesResult(incident)),
    check("with_names", "whether the page holds names", "names", namesFlagResult(incident)),
    check("tokens", "tokens of sites, phases, libraries, dimensions", "the receipt's dictionary", tokensResult(receipt, incident)),
    check("names", "names of functions, files, phases, libraries", "", named ? notRecomputed(kNamesWhy) : agrees(0)),
    check("file", "name of the recording and options that chose the incident", "", notRecomputed("neither stands in a recording")),
  ];
}
