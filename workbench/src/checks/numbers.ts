// SPDX-License-Identifier: Apache-2.0
//
// The numbers that the verdict was decided from, and the extents at the failure, against what the page finds in the events. The rule: a number
// that the page can know only with what is not in it is not compared; "not observed" is a finding where the recording's begin is in the page.
import type { Receipt } from "../data/receipt";
import { Comparison, notRecomputed, type Check, type Result, type Subject } from "./check";
import { failingOf, type Failing } from "./failing";
import type { HoleRelease } from "./question";
import { outsideAt, type Outside } from "./outside";
import { refusedSize } from "./operation";
import { kLargeRequest_bytes, kLargeSegment_bytes, kSmallRequest_bytes, kSmallSegment_bytes } from "./thresholds";

type Found = { value: unknown } | { why: string };

const found = (value: unknown): Found => ({ value });

function extentsResult(failing: Failing, subject: Subject): Result {
  const told = subject.incident.receipt.evidence.extents!;
  const { lives } = subject.history;
  const compared = new Comparison();
  const { rows } = told;
  for (let index = 0; index < Math.max(rows.length, failing.extents.length); ++index) {
    const extent = failing.extents[index];
    const row = rows[index];
    if (extent === undefined || row === undefined) {
      compared.same(
        `evidence.extents.rows[${index}]`,
        extent === undefined ? "none" : `${extent.state} of ${extent.size} bytes`,
        row === undefined ? "none" : `${row[5]} of ${row[2]} bytes`,
      );
      break;
    }
    const live = extent.state === "live";
    // A block that is older than the recording has no birth ticket.
    const birth = live && !Number.isNaN(lives.ticket[extent.life]) && lives.ticket[extent.life] >= 0 ? lives.ticket[extent.life] : null;
    const own = [
      extent.segment.ordinal,
      extent.offset,
      extent.size,
      extent.segment.sizeClass,
      extent.segment.kind,
      extent.state,
      extent.compatibility,
      live ? lives.site[extent.life] : 0,
      birth,
    ];
    const at = birth === null ? null : { row: Math.max(0, lives.birth[extent.life]), ticket: String(birth) };
    if (!own.every((value, column) => compared.same(`evidence.extents.rows[${index}].${told.columns[column]}`, value, row[column], at))) break;
  }
  return compared.result();
}

function segmentRequest(failing: Failing): Found {
  const { rows, operation, asked, extents } = failing;
  if (operation.victim !== "pytorch") return found(asked.size_bytes);
  const request = asked.size_bytes;
  const up = (value: number, unit: number) => (unit === 0 ? value : Math.ceil(value / unit) * unit);
  if (operation.record === null && !failing.reach.wholeWindow) return { why: failing.reach.why };
  if (operation.refused !== null) {
    const asks = rows.of("size_bytes", operation.record!)!;
    if (rows.op(operation.record!) !== "cuMemCreate") return found(asks);
    const unit = refusedSize(rows, operation);
    if (unit === null) return { why: "the refused call is not in the page" };
    const tails = extents.filter((e) => {
      const ends = e.offset + e.size === e.segment.size;
      return e.state === "free" && ends && e.segment.kind === "expandable" && e.compatibility !== "incompatible";
    });
    return found(Math.max(asks, up(Math.max(0, request - Math.max(0, ...tails.map((e) => e.size))), unit)));
  }
  if (request <= Number(kSmallRequest_bytes)) return found(Number(kSmallSegment_bytes));
  return found(request < Number(kLargeRequest_bytes) ? Number(kLargeSegment_bytes) : up(request, Number(kSmallSegment_bytes)));
}

function deviceCall({ operation, scene, unseen, device, reach }: Failing, subject: Subject): Found {
  if (operation.refused !== null) return found("failed");
  if (!reach.wholeWindow && (operation.record === null || scene.segments.length === 0)) return { why: reach.why };
  const fromRecorder = subject.incident.receipt.capture.origin === "recorder";
  if (operation.record === null || !fromRecorder) return found("unknown");
  if (scene.segments.length > 0) return found("none_made");
  const segments = subject.history.lane(device, "segment");
  return found(unseen >= 0 && segments.slice(0, scene.instant + 1).some((bytes) => bytes > 0) ? "none_made" : "unknown");
}

function uncertainty(failing: Failing, subject: Subject): Found {
  const uncertain = subject.incident.receipt.capture.uncertain as string[];
  const { history } = subject;
  const { rows, device, row: f } = failing;
  const whole = uncertain.filter((word) => word !== "kinds_unknown" && word !== "records_missing" && word !== "table_incomplete");
  const gap = rows.of("ticket", f)! - subject.incident.outline.window.exact_first_ticket !== f;
  if (whole.length === 0 && !gap) {
    if (uncertain.includes("table_incomplete")) return { why: "when the live table was full is not in the page" };
    return failing.reach.wholeWindow || uncertain.length === 0 ? found(0) : { why: failing.reach.why };
  }
  if (whole.length === 0 && uncertain.includes("kinds_unknown")) return { why: "which missing tickets are of unknown kinds is not in the page" };
  let last = f;
  while (last >= 0 && !(rows.of("device", last) === device && rows.isReport(last))) --last;
  if (last < 0) return failing.reach.wholeWindow ? found(0) : { why: failing.reach.why };
  return found(Math.abs(rows.of("allocated_bytes", last)! - history.laneAt(device, "allocated", last)));
}

// When the hole that fits was released; null where no rule of the decision asks for it.
export function holeReleaseOf(failing: Failing, subject: Subject): HoleRelease | null {
  const { rows, extents, asked, operation, row: f, device, scene } = failing;
  const holes = extents.filter((e) => e.state === "free" && e.compatibility === "compatible" && e.size >= asked.size_bytes);
  if (holes.length === 0) return null;
  const { exact_first_ticket } = subject.incident.outline.window;
  const { wholeWindow } = failing.reach;
  let asking = operation.refused;
  if (subject.incident.receipt.capture.origin !== "recorder") {
    asking = exact_first_ticket;
    for (let row = f - 1; row >= 0; --row) {
      if (rows.of("device", row) !== device || rows.kind(row) !== "block_alloc") continue;
      asking = rows.of("ticket", row)! + 1;
      break;
    }
  }
  if (!wholeWindow && (asking === null || asking <= exact_first_ticket)) return null; // it may be before the page
  if (asking === null) return "unknown";
  for (let row = f - 1; row >= 0 && rows.of("ticket", row)! >= asking; --row) {
    if (rows.of("device", row) !== device || rows.kind(row) !== "tap_free_completed") continue;
    const place = rows.of("place_bytes", row);
    if (place === null) return null;
    const end = place + (rows.of("size_bytes", row) ?? 0);
    if (holes.some((hole) => place < hole.segment.place + hole.offset + hole.size && end > hole.segment.place + hole.offset)) return "overlaps";
  }
  return scene.tapSeen && asking >= exact_first_ticket ? "separate" : "unknown";
}

// An unknown is only a finding when the recording's begin is in the page.
function observed(value: number | null, failing: Failing): Found {
  return value === null && !failing.reach.fromBirth ? { why: failing.reach.why } : found(value);
}

// That something was not seen is no finding either where it may be before or behind the page.
function seen<T>(value: T | null, isKnown: boolean, { reach }: Failing): Found {
  return value === null || (!isKnown && !reach.wholeWindow) ? { why: reach.why } : found(value);
}

type Entry = readonly [member: string, title: string, told: unknown, found: Found];

function entriesOf(failing: Failing, outside: Outside, subject: Subject, receipt: Receipt): Entry[] {
  const { sums, operation, reach } = failing;
  const { failure, ledgers } = receipt.evidence;
  const told = receipt.evidence.outside as Record<string, unknown>;
  const l = ledgers!;
  const pinned = (value: unknown): Found => (reach.fromBirth ? found(value) : { why: reach.why });
  const chosen: Found = { why: "the recording is an import, whose baseline was chosen when it was made" };
  const baseline = (value: unknown): Found => (outside.imported ? chosen : pinned(value));
  const failedSamples = String(receipt.capture.samples_failed_count) !== "0";
  const sharesJob = failedSamples
    ? { why: "samples failed, and which ones is not in the page" }
    : seen(outside.sharesJob, outside.samplesBefore >= 2, failing);
  const foreign = operation.victim === "foreign";
  // A sample stands for an answer of the operation only where there was none.
  const answered = foreign || operation.observation !== null;
  const freeBytes = answered || reach.wholeWindow ? observed(outside.free, failing) : { why: reach.why };
  return [
    ["failure.allocator", "whose allocation failed", failure!.allocator, found(operation.victim)],
    ["failure.device", "the failing device", failure!.device, found(failing.device)],
    ["failure.request_bytes", "the failed request R", failure!.request_bytes, found(foreign ? null : failing.asked.size_bytes)],
    ["failure.segment_request_bytes", "the segment request N", failure!.segment_request_bytes, segmentRequest(failing)],
    ["failure.device_call", "whether a device call failed", failure!.device_call, deviceCall(failing, subject)],
    ["failure.steps_ended_count", "steps ended before the failure", failure!.steps_ended_count, found(failing.rows.of("step", failing.row))],
    [
      "failure.free_observed_at_failure",
      "whether free bytes were observed at the failure",
      failure!.free_observed_at_failure,
      seen(outside.freeObserved, outside.freeObserved, failing),
    ],
    ["ledgers.total_bytes", "the card's size T", l.total_bytes, operation.observation === null ? pinned(outside.total) : found(outside.total)],
    ["ledgers.device_free_bytes", "device-free F", l.device_free_bytes, freeBytes],
    ["ledgers.reserved_bytes", "reserved V", l.reserved_bytes, found(failing.reserved)],
    ["ledgers.allocated_bytes", "allocated A", l.allocated_bytes, found(failing.allocated)],
    ["ledgers.deferred_bytes", "deferred P", l.deferred_bytes, found(failing.deferred)],
    ["ledgers.cap_bytes", "the cap", l.cap_bytes, observed(outside.cap, failing)],
    ["ledgers.largest_free_extent_bytes", "the largest free extent L2", l.largest_free_extent_bytes, found(sums.largest)],
    ["ledgers.largest_compatible_extent_bytes", "the largest compatible extent L1", l.largest_compatible_extent_bytes, found(sums.largestCompatible)],
    ["ledgers.reusable_free_bytes", "reusable free bytes", l.reusable_free_bytes, found(sums.reusable)],
    ["ledgers.fragmented_free_bytes", "fragmented free bytes", l.fragmented_free_bytes, found(sums.fragmented)],
    ["ledgers.incompatible_free_bytes", "incompatible free bytes", l.incompatible_free_bytes, found(sums.incompatible)],
    ["ledgers.remappable_bytes", "remappable bytes", l.remappable_bytes, found(sums.remappable)],
    ["ledgers.releasable_bytes", "releasable bytes W", l.releasable_bytes, found(sums.releasable)],
    ["ledgers.unseen_segment_bytes", "segments that nobody saw", l.unseen_segment_bytes, found(failing.unseen)],
    ["ledgers.uncertainty_bytes", "the uncertainty of declared losses", l.uncertainty_bytes, uncertainty(failing, subject)],
    ["outside.others_bytes", "bytes of other processes", told.others_bytes, observed(outside.others, failing)],
    ["outside.other_process_count", "other processes", told.other_process_count, observed(outside.otherProcesses, failing)],
    ["outside.named_bytes", "bytes of named libraries", told.named_bytes, found(outside.named)],
    ["outside.baseline_ticket", "the baseline", told.baseline_ticket, baseline(outside.baselineTicket)],
    ["outside.baseline_outside_bytes", "outside bytes at the baseline", told.baseline_outside_bytes, baseline(outside.baselineOutside)],
    [
      "outside.named_growth_bytes",
      "growth of named libraries",
      told.named_growth_bytes,
      outside.namedGrowth === null ? { why: "what libraries hold behind handles is summed, not told apart by birth" } : baseline(outside.namedGrowth),
    ],
    [
      "outside.baseline_unattributed_bytes",
      "unattributed bytes at the baseline",
      told.baseline_unattributed_bytes,
      baseline(outside.baselineUnattributed),
    ],
    ["outside.earlier_outside_bytes", "the least outside bytes a second before", told.earlier_outside_bytes, pinned(outside.earlier)],
    ["outside.holder_shares_job", "whether the holder is of this job", told.holder_shares_job, sharesJob],
  ];
}

export function numberChecks(subject: Subject): { checks: Check[]; failing: Failing | null } {
  const receipt = subject.incident.receipt;
  const failing = failingOf(subject);
  if ("why" in failing) {
    const check: Check = {
      id: "numbers",
      group: "numbers",
      title: "the numbers at the failure",
      from: "begin and events",
      result: notRecomputed(failing.why),
    };
    return { checks: [check], failing: null };
  }
  const outside = outsideAt(subject.history, failing);
  const checks: Check[] = [
    {
      id: "failure.extents",
      group: "failure",
      title: "every extent at the failure",
      from: "the page's history at the failing event",
      result: extentsResult(failing, subject),
    },
  ];
  for (const [member, title, told, own] of entriesOf(failing, outside, subject, receipt)) {
    const compared = new Comparison();
    if ("value" in own) compared.same(`evidence.${member}`, own.value, told, failing.rows.at(failing.row));
    const result = "value" in own ? compared.result() : notRecomputed(own.why);
    checks.push({ id: `numbers.${member}`, group: "numbers", title, from: "begin and events", result });
  }
  return { checks, failing };
}
