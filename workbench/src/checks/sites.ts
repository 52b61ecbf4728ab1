// SPDX-License-Identifier: Apache-2.0
//
// What was live, by birth site and by category, at the failure and at the peak; the peak itself, lifetimes and the last allocations
// (docs/receipt.md). The rule: sites are the ordinals of the page, which are the receipt's where it names them.
import type { Count } from "../data/receipt";
import { LifeKind, kCategories } from "../history/history";
import { sumSites } from "../history/site_sums";
import { collectionsResult } from "./collections";
import { Comparison, notRecomputed, type Check, type Result, type Subject } from "./check";
import type { Failing } from "./failing";
import { reconciliationResult } from "./reconciliation";
import { requestsResult } from "./requests";
import { kListedSites, kRecentAllocations } from "./thresholds";

type Row = Record<string, unknown>;

const kFromHistory = "the page's history";

function sitesResult(failing: Failing, subject: Subject): Result {
  const sums = sumSites(subject.history, failing.scene);
  const told = subject.incident.receipt.evidence.sites as Row[];
  const compared = new Comparison();
  compared.same("evidence.sites: how many", sums.size, told.length);
  told.forEach((row, index) => {
    const sum = sums.get(Number(row.site));
    const own: Row = {
      bytes: sum?.bytes,
      block_count: sum?.blocks,
      first_step: sum?.firstStep,
      last_step: sum?.lastStep,
      phase: sum?.phase,
      category: sum?.category,
    };
    for (const [member, value] of Object.entries(own)) compared.same(`evidence.sites[${index}].${member}`, value, row[member]);
  });
  return compared.result();
}

function categoriesResult(failing: Failing, subject: Subject): Result {
  const { history } = subject;
  const own = kCategories.map((category) => ({ category, bytes: 0, block_count: 0 }));
  for (const life of failing.scene.blocks) {
    if (failing.scene.deferred.has(life)) continue;
    const sum = own[kCategories.indexOf(history.categoryOf(life, failing.row))];
    sum.bytes += history.lives.size[life];
    sum.block_count += 1;
  }
  const told = subject.incident.receipt.evidence.categories as Row[];
  const compared = new Comparison();
  const filled = own.filter((sum) => sum.block_count > 0);
  compared.same("evidence.categories: how many", filled.length, told.length);
  filled.forEach((sum, index) => {
    for (const member of ["category", "bytes", "block_count"] as const)
      compared.same(`evidence.categories[${index}].${member}`, sum[member], told[index]?.[member]);
  });
  return compared.result();
}

function librariesResult(failing: Failing, subject: Subject): Result {
  const own = subject.history.outsideByLibrary(failing.device, failing.row);
  const told = subject.incident.receipt.evidence.libraries as Row[];
  const compared = new Comparison();
  for (const row of told) compared.same(`evidence.libraries: bytes of library ${String(row.library)}`, own.get(Number(row.library)) ?? 0, row.bytes);
  const sum = [...own.values()].reduce((a, b) => a + b, 0);
  compared.same(
    "evidence.libraries: all",
    sum,
    told.reduce((a, row) => a + Number(row.bytes as Count), 0),
  );
  return compared.result();
}

async function peakResult(failing: Failing, subject: Subject): Promise<Result> {
  const { history, incident } = subject;
  const told = incident.receipt.evidence.peak as Row;
  const { window } = incident.outline;
  if (!failing.reach.wholeWindow) return notRecomputed(failing.reach.why);
  const compared = new Comparison();
  const row = history.peakRow(failing.device) ?? -1; // of a whole window it is known
  compared.same("evidence.peak.active_ticket", row < 0 ? window.first_ticket : failing.rows.of("ticket", row), told.active_ticket);
  compared.same("evidence.peak.active_bytes", history.laneAt(failing.device, "allocated", row), told.active_bytes);
  let most: { bytes: number; ticket: number } | null = null;
  for (let at = 0; at <= failing.row; ++at) {
    if ((at & 4095) === 0) await subject.pace.breathe();
    if (failing.rows.of("device", at) !== failing.device || !failing.rows.isReport(at)) continue;
    const bytes = failing.rows.of("reserved_bytes", at)!;
    if (most === null || bytes > most.bytes) most = { bytes, ticket: failing.rows.of("ticket", at)! };
  }
  compared.same("evidence.peak.reserved_bytes", most?.bytes, told.reserved_bytes);
  compared.same("evidence.peak.reserved_ticket", most?.ticket, told.reserved_ticket);
  return compared.result();
}

async function lifetimesResult(failing: Failing, subject: Subject): Promise<Result> {
  if (!failing.reach.wholeWindow) return notRecomputed(failing.reach.why);
  const { lives } = subject.history;
  const told = subject.incident.receipt.evidence.lifetimes as Row;
  const own = { born_count: 0, freed_count: 0, longest_ticks: null as number | null, total_ticks: 0 };
  for (let life = 0; life < lives.count; ++life) {
    if ((life & 4095) === 0) await subject.pace.breathe();
    const born =
      lives.kind[life] === LifeKind.block && lives.device[life] === failing.device && lives.birth[life] >= 0 && lives.birth[life] <= failing.row;
    if (!born) continue;
    own.born_count += 1;
    if (lives.death[life] > failing.row) continue;
    const ticks = failing.rows.of("ticket", lives.death[life])! - lives.ticket[life];
    own.freed_count += 1;
    own.total_ticks += ticks;
    own.longest_ticks = Math.max(own.longest_ticks ?? 0, ticks);
  }
  const compared = new Comparison();
  for (const [member, value] of Object.entries(own)) compared.same(`evidence.lifetimes.${member}`, value, told[member]);
  return compared.result();
}

function recentResult(failing: Failing, subject: Subject): Result {
  const { rows } = failing;
  const told = subject.incident.receipt.evidence.recent as Row[];
  const births: number[] = [];
  for (let row = failing.row - 1; row >= 0 && births.length < kRecentAllocations; --row) {
    if (rows.kind(row) === "block_alloc" && rows.of("device", row) === failing.device) births.unshift(row);
  }
  if (births.length < told.length && !failing.reach.wholeWindow) return notRecomputed(failing.reach.why);
  const live = new Set(
    [...failing.scene.blocks].filter((life) => !failing.scene.deferred.has(life)).map((life) => subject.history.lives.ticket[life]),
  );
  const threads = [...new Set(births.map((row) => rows.of("thread", row)))];
  const compared = new Comparison();
  compared.same("evidence.recent: how many", births.length, told.length);
  births.forEach((row, index) => {
    const ticket = rows.of("ticket", row)!;
    const own: Row = {
      ticket,
      size_bytes: rows.of("size_bytes", row),
      site: rows.of("site", row),
      live: live.has(ticket),
      thread: threads.indexOf(rows.of("thread", row)) + 1,
    };
    for (const [member, value] of Object.entries(own))
      compared.same(`evidence.recent[${index}].${member}`, value, told[index]?.[member], rows.at(row));
  });
  return compared.result();
}

function peakSitesResult(subject: Subject, told: Row, failing: Failing | null): Result {
  const { history, incident } = subject;
  const device = Number(told.device);
  const { window } = incident.outline;
  if (window.exact_event_count !== window.event_count) return notRecomputed("the page holds a part of the window one by one");
  const isFailing = failing !== null && String(failing.ticket) === String(told.ticket);
  const row = isFailing ? failing.row : (history.peakRow(device) ?? -1);
  const sums = sumSites(history, history.scene(device, row));
  const rows = told.rows as Row[];
  const compared = new Comparison();
  compared.same("evidence.peak_sites.ticket", row < 0 ? window.first_ticket : incident.events.column("ticket").at(row), told.ticket);
  compared.same("evidence.peak_sites.site_count", sums.size, told.site_count);
  compared.same(
    "evidence.peak_sites.bytes",
    [...sums.values()].reduce((sum, one) => sum + one.bytes, 0),
    told.bytes,
  );
  const largest = [...sums.values()]
    .map((sum) => sum.bytes)
    .sort((a, b) => b - a)
    .slice(0, kListedSites);
  rows.forEach((stated, index) => {
    const sum = sums.get(Number(stated.site));
    compared.same(`evidence.peak_sites.rows[${index}]: its place in the order`, largest[index], stated.bytes);
    const own: Row = { bytes: sum?.bytes, block_count: sum?.blocks, category: sum?.category, phase: sum?.phase };
    for (const [member, value] of Object.entries(own)) compared.same(`evidence.peak_sites.rows[${index}].${member}`, value, stated[member]);
  });
  return compared.result();
}

function siteGrowthResult(failing: Failing, subject: Subject): Result {
  const told = subject.incident.receipt.evidence.site_growth as Row | null;
  if (told === null) return notRecomputed("there are no two points to compare");
  const { history, incident } = subject;
  if (Number(told.from_ticket) < incident.outline.window.exact_first_ticket) return notRecomputed("its first point is not in the page");
  const bytesAt = (ticket: unknown) => sumSites(history, history.scene(failing.device, history.rowOf(Number(ticket))));
  const [from, to] = [bytesAt(told.from_ticket), bytesAt(told.to_ticket)];
  const compared = new Comparison();
  const changed = [...new Set([...from.keys(), ...to.keys()])].filter((site) => (from.get(site)?.bytes ?? 0) !== (to.get(site)?.bytes ?? 0));
  const rows = told.rows as Row[];
  compared.same("evidence.site_growth: how many sites", Math.min(changed.length, kListedSites), rows.length);
  rows.forEach((row, index) => {
    compared.same(`evidence.site_growth.rows[${index}].from_bytes`, from.get(Number(row.site))?.bytes ?? 0, row.from_bytes);
    compared.same(`evidence.site_growth.rows[${index}].to_bytes`, to.get(Number(row.site))?.bytes ?? 0, row.to_bytes);
  });
  return compared.result();
}

// OOM reports of PyTorch's caching allocator: each one in the page is listed, and each listed one is in the page.
function failuresResult(subject: Subject): Result {
  const { events, outline, receipt } = subject.incident;
  if (outline.window.keyframe) return notRecomputed("the failure is shown in the window of its keyframe");
  const column = (name: string) => events.column(name);
  const [ticket, device, size] = ["ticket", "device", "size_bytes"].map(column);
  const own = subject.rows
    .ofKinds("block_oom")
    .map((row) => `ticket ${ticket.text(row)}, device ${device.text(row) || "-1"}, ${size.text(row)} bytes`);
  const { exact_first_ticket, exact_event_count, event_count } = outline.window;
  const last = exact_event_count < event_count && events.rows > 0 ? ticket.number(events.rows - 1) : Infinity;
  const told = (receipt.evidence.failures as Row[])
    .filter((one) => one.allocator === "pytorch" && Number(one.ticket) >= exact_first_ticket && Number(one.ticket) <= last)
    .map((one) => `ticket ${String(one.ticket)}, device ${String(one.device)}, ${String(one.request_bytes)} bytes`);
  const compared = new Comparison();
  for (let index = 0; index < Math.max(own.length, told.length); ++index)
    compared.same(`evidence.failures[${index}]`, own[index] ?? null, told[index] ?? null);
  return compared.result();
}

const kNotFollowed: readonly (readonly [string, string, string])[] = [
  [
    "refusals",
    "refused device calls, near misses, and which failure was got over",
    "what came after a failure is judged with the header and the boundary table, which are not in the page",
  ],
  ["dimension_effects", "effects of noted dimensions", "the page does not follow noted dimensions"],
  ["shapes", "shapes of the lanes without a failure", "the pinned samples and peaks are not in the page"],
];

export async function siteChecks(subject: Subject, failing: Failing | null): Promise<Check[]> {
  const { receipt } = subject.incident;
  const check = (id: string, title: string, from: string, result: Result): Check => ({ id: `sites.${id}`, group: "sites", title, from, result });
  const checks = [check("failures", "every reported out-of-memory failure is listed", "events", failuresResult(subject))];
  if (failing !== null) {
    checks.push(
      check("sites", "live bytes by birth site at the failure", kFromHistory, sitesResult(failing, subject)),
      check("categories", "live bytes by category at the failure", kFromHistory, categoriesResult(failing, subject)),
      check("libraries", "bytes of this process outside PyTorch's allocator, by library", kFromHistory, librariesResult(failing, subject)),
      check("peak", "the peaks up to the failure", kFromHistory, await peakResult(failing, subject)),
      check("lifetimes", "lifetimes of blocks", kFromHistory, await lifetimesResult(failing, subject)),
      check("recent", "the last allocations before the failure", "events", recentResult(failing, subject)),
      check(
        "reconciliation",
        "how well the device's answers agree with each other",
        "events and the page's history",
        await reconciliationResult(failing, subject),
      ),
      check("collections", "what Python's garbage collection freed", "events", await collectionsResult(failing, subject)),
      check("site_growth", "growth by site from the first point to the last", kFromHistory, siteGrowthResult(failing, subject)),
    );
  }
  if (receipt.evidence.failure === null || failing !== null) {
    for (const told of receipt.evidence.peak_sites as Row[]) {
      checks.push(
        check(
          `peak_sites.${String(told.device)}`,
          `live bytes by birth site at the peak of device ${String(told.device)}`,
          kFromHistory,
          peakSitesResult(subject, told, failing),
        ),
      );
    }
  }
  for (const [index, told] of (receipt.evidence.requests as Row[]).entries()) {
    const title = `requested against granted bytes on device ${String(told.device)}`;
    checks.push(check(`requests.${String(told.device)}`, title, "what the torch tap told in events", requestsResult(subject, told, index)));
  }
  const isThere = (member: unknown) => member !== null && member !== undefined && !(Array.isArray(member) && member.length === 0);
  const notFollowed = kNotFollowed.filter(([id]) => id === "refusals" || isThere(receipt.evidence[id]));
  return [...checks, ...notFollowed.map(([id, title, why]) => check(id, title, "", notRecomputed(why)))];
}
