// SPDX-License-Identifier: Apache-2.0
//
// The decision of VERDICT.md §8 and §9. The rule: integers only; every combination of interval ends is decided, and what they share stands.
import type { HypothesisName, Status } from "../data/receipt";
import type { Question } from "./question";
import { kContributionDivisor, kCorruptRequest_bytes, kLargestCard_bytes, kThreshold_permille, kUnnamedAllowance_bytes } from "./thresholds";

export const kHypotheses: readonly HypothesisName[] = ["live_set", "retention", "fragmentation", "external"];

export interface Numbers {
  available: bigint;
  need: bigint;
  margin: bigint;
  threshold: bigint;
  deficit: bigint;
  floor: bigint;
  retained: bigint;
  retainedUpper: bigint;
  removable: bigint;
  removableUpper: bigint;
  outside: bigint;
}

export interface Opinion {
  status: Status;
  qualifiers: Set<string>;
  margin: { low: bigint; high: bigint } | null;
}

export interface Decision {
  numbers: Numbers | null;
  opinions: Record<HypothesisName, Opinion>;
  qualifiers: Set<string>;
  answers: Set<string>;
}

interface Ends {
  total: bigint;
  free: bigint;
  cap: bigint | null;
  capImplied: boolean;
  retained: bigint;
}

interface Point {
  contradiction: string | null;
  answer: string | null;
  numbers: Numbers;
  qualifiers: Set<string>;
  status: Record<HypothesisName, Status>;
  own: Record<HypothesisName, Set<string>>;
}

const max = (first: bigint, ...rest: bigint[]) => rest.reduce((a, b) => (a > b ? a : b), first);
const min = (a: bigint, b: bigint) => (a < b ? a : b);
const less = (a: bigint, b: bigint) => (a > b ? a - b : 0n);
const each = <T>(make: () => T): Record<HypothesisName, T> => ({ live_set: make(), retention: make(), fragmentation: make(), external: make() });

export const activeOf = (q: Question) => q.allocated + (q.deferred ?? 0n);
export const isForeign = (q: Question) => q.victim === "foreign";
const slackOf = (q: Question) => q.reserved - activeOf(q);
const wanted = (q: Question) => (isForeign(q) ? q.segmentRequest : q.request!);
const isCertain = (q: Question) => q.basis === "marked" || q.basis === "certified";
const retainedLow = (q: Question) => (isCertain(q) ? q.retained : 0n);
// With fewer points the bound has them already.
const retainedHigh = (q: Question) => q.retained + (isCertain(q) || q.basis === "uncertified" ? q.unknownBirths : 0n);

function numbersOf(q: Question, ends: Ends): Numbers {
  const binds = !isForeign(q) && ends.cap !== null && ends.cap < ends.free + q.reserved;
  const available = binds ? ends.cap! : ends.free + (isForeign(q) ? q.releasable : q.reserved);
  const need = isForeign(q) ? q.segmentRequest : q.request! + activeOf(q);
  const margin = available - need;
  const threshold = (ends.total * kThreshold_permille) / 1000n;
  const outside = less(less(ends.total, ends.free), q.reserved);
  let removable = 0n;
  let removableUpper = 0n;
  if (!binds && q.others !== null) {
    const grown = less(less(less(outside, q.others), q.named), max(q.baselineUnattributed, kUnnamedAllowance_bytes));
    removable = removableUpper = min(outside, q.others + q.namedGrowth + grown);
  } else if (!binds) {
    removable = less(outside, max(q.baselineOutside, kUnnamedAllowance_bytes));
    removableUpper = outside;
  }
  return {
    available,
    need,
    margin,
    threshold,
    outside,
    removable,
    removableUpper,
    deficit: less(threshold, margin),
    floor: max(1n, min(threshold, max(1n, -margin, threshold / kContributionDivisor))),
    retained: ends.retained,
    retainedUpper: retainedHigh(q),
  };
}

// §9, one combination, steps as numbered there.
class Combination {
  readonly point: Point;

  constructor(
    private readonly q: Question,
    private readonly ends: Ends,
  ) {
    const status = each<Status>(() => "undecidable");
    this.point = {
      contradiction: null,
      answer: null,
      numbers: numbersOf(q, ends),
      qualifiers: new Set(),
      status,
      own: each(() => new Set<string>()),
    };
    this.point.contradiction = this.contradiction();
    if (this.point.contradiction === null) this.settle();
  }

  // 1.
  private contradiction(): string | null {
    const { q, ends } = this;
    if (wanted(q) >= kCorruptRequest_bytes) return "corrupt_size";
    const beyond = (a: bigint, b: bigint) => a > b + q.uncertainty;
    const odd =
      beyond(activeOf(q), q.reserved) ||
      beyond(q.reserved, ends.total) ||
      beyond(ends.free, ends.total) ||
      beyond(q.reserved + ends.free, ends.total);
    return odd ? "inconsistent_numbers" : null;
  }

  private settle() {
    const { q, ends, point } = this;
    const { numbers, qualifiers, status } = point;
    if (ends.capImplied && q.deviceCall === "unknown") qualifiers.add("cap_or_driver_refused");
    const tooLarge = wanted(q) > ends.total;
    if (!tooLarge && (point.answer = this.answer()) !== null) {
      qualifiers.add(point.answer);
      for (const name of kHypotheses) status[name] = "rejected";
      return;
    }
    if (tooLarge) qualifiers.add("larger_than_card"); // 3.
    if (!isForeign(q) && ends.cap !== null && ends.cap < ends.free + q.reserved) qualifiers.add("cap");
    if (numbers.margin >= numbers.threshold) this.roomy();
    else this.short();
    this.others();
    if (!isForeign(q) && !tooLarge && q.largest >= wanted(q)) {
      // 7.
      qualifiers.add("fit_unexplained");
      for (const name of kHypotheses) if (status[name] === "primary") status[name] = "undecidable";
      status.fragmentation = "undecidable";
    }
  }

  // 2.
  private answer(): string | null {
    const { q, ends, point } = this;
    const wants = q.segmentRequest;
    if (isForeign(q)) {
      if (ends.free >= wants) return "driver_refused";
      if (ends.free + q.releasable >= wants) return "cache_hoarding";
      return ends.free + slackOf(q) >= wants ? "cache_pinned" : null;
    }
    if (q.largestCompatible >= wanted(q)) {
      if (q.holeRelease === "overlaps") return "deferred_free";
      if (q.holeRelease === "unknown") point.qualifiers.add("deferred_free_possible");
      return "fit_ignored";
    }
    if (q.deviceCall !== "failed" || !q.freeObserved || ends.free < wants) return null;
    if (ends.free - wants >= point.numbers.threshold) return "driver_refused";
    point.qualifiers.add("driver_refused");
    return null;
  }

  // 4.
  private roomy() {
    const { q, point } = this;
    point.status.live_set = "rejected";
    point.status.fragmentation = "primary";
    const compatible = slackOf(q) - q.incompatible;
    const combined = compatible + point.numbers.available - q.reserved;
    point.own.fragmentation.add(compatible >= wanted(q) ? "strict" : combined >= wanted(q) ? "combined" : "incompatible");
  }

  private retentionSuffices(): boolean {
    const {
      q,
      point: { numbers: n },
    } = this;
    if (n.retained <= 0n) return false;
    return n.retained >= n.deficit || (q.requestRepeated && n.retained >= max(-n.margin, n.threshold / kContributionDivisor));
  }

  // 5.
  private short() {
    const {
      q,
      point: { numbers: n, status, own, qualifiers },
    } = this;
    if (n.margin >= 0n) qualifiers.add("near_capacity");
    const retention = this.retentionSuffices();
    const external = n.removable >= n.deficit;
    const jointly = !retention && !external && n.retained + n.removable >= n.deficit;
    if (retention || external || jointly) {
      const retentionFirst = retention === external ? n.retained >= n.removable : retention;
      const [first, second]: HypothesisName[] = retentionFirst ? ["retention", "external"] : ["external", "retention"];
      status[first] = "primary";
      if (jointly || (retention && external)) status[second] = "contributing";
      if (jointly) for (const name of [first, second]) own[name].add("jointly");
      status.live_set = n.deficit > (retentionFirst ? n.retained : n.removable) ? "contributing" : "rejected";
    } else {
      status.live_set = "primary";
    }
    const compatible = slackOf(q) - q.incompatible;
    const packed = !isForeign(q) && n.margin >= 0n && compatible >= wanted(q) && wanted(q) > q.largest;
    status.fragmentation = packed || (q.fragmented > 0n && q.fragmented >= n.threshold) ? "contributing" : "rejected";
    if (packed) own.fragmentation.add("would_fit_packed");
  }

  // 6.
  private others() {
    const {
      q,
      point: { numbers: n, status },
    } = this;
    const short = n.margin < n.threshold;
    if (status.retention === "undecidable") {
      if (isCertain(q)) {
        status.retention = (short && this.retentionSuffices()) || n.retained >= n.floor ? "contributing" : "rejected";
      } else if (q.basis === "too_few" && q.retained < n.threshold && (!short || q.retained < n.deficit)) {
        status.retention = "rejected";
      }
    }
    if (status.external === "undecidable") {
      const standing = (removable: bigint) => (short && removable >= n.deficit ? 2 : removable >= n.floor ? 1 : 0);
      const low = standing(n.removable);
      if (low === standing(n.removableUpper)) status.external = low > 0 ? "contributing" : "rejected";
    }
  }
}

// §8: the ends to be tried, all low ones first.
function combinationsOf(q: Question): Ends[] {
  let frees = [q.free ?? 0n];
  if (q.free === null) {
    let high = less(q.total!, q.reserved);
    if (q.deviceCall === "failed") high = min(high, less(q.segmentRequest, 1n));
    frees = [0n, high];
  }
  const capImplied = q.victim === "pytorch" && q.cap === null && q.free !== null && q.free >= q.segmentRequest && q.deviceCall !== "failed";
  const caps = capImplied ? [q.reserved, q.reserved + q.segmentRequest - 1n] : [q.cap];
  const known = frees.flatMap((free) =>
    caps.flatMap((cap) => totalsTried(q, free, cap).map((total) => ({ total, free, cap, capImplied, retained: retainedLow(q) }))),
  );
  return known.flatMap((ends) => retainedTried(q, ends).map((retained) => ({ ...ends, retained })));
}

// Where births are not known: the low end, between the ends where a status may turn, and the high end.
function retainedTried(q: Question, ends: Ends): bigint[] {
  const [low, high] = [retainedLow(q), retainedHigh(q)];
  if (!isCertain(q)) return [low];
  const n = numbersOf(q, ends);
  const turns = [n.floor, max(-n.margin, n.threshold / kContributionDivisor), n.deficit - n.removable, n.removable, n.deficit, high];
  return [low, ...turns.filter((turn) => turn > low && turn <= high)];
}

function totalsTried(q: Question, free: bigint, cap: bigint | null): bigint[] {
  if (q.total !== null) return [q.total];
  const low = q.reserved + free;
  const high = max(low, kLargestCard_bytes);
  const turns = [low + kUnnamedAllowance_bytes + (q.others === null ? 0n : q.others + q.named)];
  const { margin } = numbersOf(q, { total: low, free, cap, capImplied: false, retained: retainedLow(q) });
  if (margin >= 0n) turns.push((1000n * (margin + 1n) + kThreshold_permille - 1n) / kThreshold_permille);
  return [low, ...turns.filter((total) => total > low && total < high), ...(high > low ? [high] : [])];
}

// §10, for both ends of each relief.
function marginsOf(n: Numbers): Record<HypothesisName, [bigint, bigint]> {
  const pair = (a: bigint, b = a): [bigint, bigint] => [a, b];
  const fragmentation = pair(n.margin - n.threshold);
  if (n.margin >= n.threshold) {
    const rest = pair(n.threshold - n.margin);
    return { live_set: rest, retention: rest, fragmentation, external: rest };
  }
  return {
    live_set: pair(n.deficit - max(n.retained, n.removable)),
    retention: pair(n.retained - n.deficit, n.retainedUpper - n.deficit),
    fragmentation,
    external: pair(n.removable - n.deficit, n.removableUpper - n.deficit),
  };
}

const shared = (a: Set<string>, b: Set<string>) => new Set([...a].filter((word) => b.has(word)));

function share(points: Point[]): Decision {
  const [first] = points;
  const decision: Decision = {
    numbers: first.numbers,
    opinions: each(() => ({ status: "undecidable" as Status, qualifiers: new Set<string>(), margin: null })),
    qualifiers: points.map((point) => point.qualifiers).reduce(shared),
    answers: new Set(),
  };
  for (const name of kHypotheses) {
    const margins = points.flatMap((point) => marginsOf(point.numbers)[name]);
    decision.opinions[name] = {
      status: points.every((point) => point.status[name] === first.status[name]) ? first.status[name] : "undecidable",
      qualifiers: points.map((point) => point.own[name]).reduce(shared),
      margin: { low: margins.reduce(min), high: max(margins[0], ...margins) },
    };
  }
  if (points.every((point) => point.answer !== null)) {
    for (const point of points) decision.answers.add(point.answer!);
    for (const answer of decision.answers) decision.qualifiers.add(answer);
  }
  return decision;
}

// §9, the last part: what is missing is judged once.
function addMissing(q: Question, decision: Decision) {
  const { retention, external } = decision.opinions;
  const { numbers: n, qualifiers } = decision;
  if (q.victim === "pytorch" && q.deferred === null) qualifiers.add("deferred_free_not_excluded");
  if (q.basis === "certified" || q.basis === "uncertified" || (q.basis === "marked" && q.moduleCalls)) retention.qualifiers.add("inferred");
  if (n === null) return;
  if (retention.status === "undecidable") {
    if (q.basis === "uncertified" && n.deficit > 0n && n.retainedUpper >= n.deficit) qualifiers.add("growth_unmarked");
    if (isCertain(q) && q.unknownBirths > 0n) qualifiers.add("births_unknown");
    if (q.basis === "too_few") qualifiers.add("too_few_boundaries");
    if (q.basis === "lapped") qualifiers.add("boundaries_lapped");
  }
  const relief = n.removable > 0n ? n.removable : n.removableUpper;
  if (external.status === "rejected" || relief <= 0n) return;
  if (q.others === null) external.qualifiers.add("holder_unknown");
  if (2n * q.namedGrowth >= relief) external.qualifiers.add("in_process");
  if (q.sharesJob) external.qualifiers.add("same_job");
  if (q.earlierOutside !== null && 2n * (n.outside - q.earlierOutside) >= relief) external.qualifiers.add("transient");
}

export function decide(q: Question): Decision {
  const nothing: Decision = {
    numbers: null,
    opinions: each(() => ({ status: "undecidable" as Status, qualifiers: new Set<string>(), margin: null })),
    qualifiers: new Set(),
    answers: new Set(),
  };
  let decision = nothing;
  if (q.request !== null && q.request >= kCorruptRequest_bytes) {
    nothing.qualifiers.add("corrupt_size");
  } else if (q.request !== null && (q.total !== null || q.free !== null)) {
    const all = combinationsOf(q).map((ends) => new Combination(q, ends).point);
    const sound = all.filter((point) => point.contradiction === null);
    if (sound.length > 0) decision = share(sound);
    else nothing.qualifiers.add(all[all.length - 1].contradiction!);
  }
  addMissing(q, decision);
  return decision;
}
