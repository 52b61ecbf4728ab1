// SPDX-License-Identifier: Apache-2.0
//
// Fix, proof and probe of docs/receipt.md. The rule: the first row that fits; nothing is put together here, a text stands as it is printed.
import type { HypothesisName } from "../data/receipt";
import type { Decision } from "./decide";
import type { Question } from "./question";

export interface Advice {
  fix: string;
  proof: string;
}

const kFitsAfter = "the request succeeds, or the largest free extent reaches the request";
const kLessOutside = "outside bytes at the failure fall by at least the deficit";
const kRetried = "the same request succeeds when retried";

export function adviceFor(name: HypothesisName, q: Question, decision: Decision): Advice | null {
  const { status, qualifiers } = decision.opinions[name];
  if (status !== "primary" && status !== "contributing") return null;
  switch (name) {
    case "live_set":
      if (decision.qualifiers.has("larger_than_card")) {
        return { fix: "split the request: it is larger than the whole card", proof: "the largest request of the run is smaller than the card" };
      }
      if (decision.qualifiers.has("cap")) {
        return {
          fix: "raise the per-process memory limit, or lower what the step holds at once",
          proof: "the request succeeds, or peak active bytes fall by the deficit",
        };
      }
      return {
        fix: "lower what the step holds at once: batch, sequence length, activation checkpointing, sharding",
        proof: "peak active bytes fall by at least the deficit and the request succeeds",
      };
    case "retention":
      return {
        fix: "release what earlier steps still hold: drop or detach references at the largest sites listed",
        proof: "active bytes at the same point of five more steps no longer rise",
      };
    case "fragmentation":
      if (qualifiers.has("incompatible")) {
        return {
          fix: "let the pools share memory: one stream or pool for this work, nothing else changed",
          proof: "the request succeeds and incompatible free bytes fall",
        };
      }
      if (!q.expandableSegments && (q.free ?? 0n) + q.remappable >= q.segmentRequest) {
        return { fix: "expandable_segments:True on the same run, nothing else changed", proof: kFitsAfter };
      }
      return { fix: "allocate long-lived blocks before the short-lived: small survivors hold the holes apart", proof: kFitsAfter };
    case "external":
      if (qualifiers.has("in_process")) {
        return { fix: "disable the named library's buffers one at a time, or reserve headroom for them", proof: kLessOutside };
      }
      return { fix: "end or move the other holder of the card, or reserve headroom for it", proof: kLessOutside };
  }
}

const kOfAnswers: readonly (readonly [string, Advice])[] = [
  ["deferred_free", { fix: "synchronise before the large request, or retry it once: the hole was freed too late", proof: kRetried }],
  ["fit_ignored", { fix: "retry the request once: a hole that fits was there", proof: kRetried }],
  [
    "driver_refused",
    {
      fix: "look at limits outside the allocator: cgroup, MIG, handles, address space",
      proof: "the same device call succeeds with the same free bytes",
    },
  ],
  ["cache_hoarding", { fix: "empty PyTorch's cache before the library allocates, or cap the cache", proof: "the library's allocation succeeds" }],
  [
    "cache_pinned",
    { fix: "expandable_segments:True, so that the cache can give back what it does not use", proof: "the library's allocation succeeds" },
  ],
];

export function adviceForAnswers(answers: ReadonlySet<string>): Advice | null {
  return kOfAnswers.find(([answer]) => answers.has(answer))?.[1] ?? null;
}

export function probeFor(name: HypothesisName, q: Question, decision: Decision): string | null {
  if (decision.opinions[name].status !== "undecidable") return null;
  if (q.total === null && q.fromSnapshot) return "the card's size is unknown: give it with --card";
  if (q.total === null) return "the card's size was never observed: let the program ask cudaMemGetInfo, or sample the device";
  if (q.totalStated && decision.qualifiers.has("inconsistent_numbers")) {
    return "the numbers and the stated size of the card contradict each other: give another with --card";
  }
  if (decision.numbers === null) return "the numbers at the failure contradict each other or are missing: record the job from its start";
  if (name !== "fragmentation" && !(name === "external" && q.others === null) && decision.qualifiers.has("births_unknown")) {
    return q.fromRecorder
      ? "armed too late: when part of what is live was allocated is not known: arm earlier, or use standby"
      : "when part of what is live was allocated is not known: record the job from its start";
  }
  if (name === "retention") {
    if (q.basis === "too_few") return "fewer than six comparable steps ended before the failure: run longer, or mark steps";
    if (q.basis === "uncertified") return "steps could only be guessed from allocations: mark steps";
    if (q.basis === "lapped") return "the ring went round before steps could be inferred: mark steps, or enlarge the ring";
  }
  if (name === "external" && q.others === null) return "bytes of other processes are unknown: sample the device with NVML";
  if (decision.qualifiers.has("fit_unexplained")) return "stream and pool of a hole that fits are unknown: load the torch tap";
  if (q.free !== null) return "the per-process limit is unknown: note it with the Python package";
  return "device-free at the failure is unknown: let the program ask cudaMemGetInfo, or sample the device";
}
