// SPDX-License-Identifier: Apache-2.0
//
// What the words of a receipt mean, in a sentence each. The rule: closed lists (VERDICT.md §15, docs/receipt.md), each in one table here; the words
// themselves are the receipt's.

export const kHypotheses = {
  live_set: { title: "live-set pressure", question: "Did the step need all that was in use?" },
  retention: { title: "retention", question: "Did survivors of earlier steps take the room?" },
  fragmentation: { title: "fragmentation", question: "Would it have fit, had the free bytes been in one piece?" },
  external: { title: "external pressure", question: "Was the room held outside PyTorch's allocator?" },
} as const;

export const kQualifiers: Record<string, string> = {
  corrupt_size: "The request's size is corrupt (2⁶⁰ bytes or more): nothing can be judged from it.",
  inconsistent_numbers: "The numbers at the failure contradict each other.",
  larger_than_card: "The request is larger than the whole card: no relief would make it fit.",
  deferred_free: "A fitting hole was freed only while the request was failing: blocks waited for another stream.",
  deferred_free_possible: "A fitting hole was there; whether it was freed only while the request failed is not known.",
  deferred_free_not_excluded: "Frees that wait for a stream are seen with the torch tap only, so they are not excluded.",
  fit_ignored: "A hole that fits was there and was not used.",
  fit_unexplained: "A hole that may fit was there; stream and pool of it are not known.",
  driver_refused: "The driver refused although the device had room.",
  cap: "A per-process memory limit, not the card, was what ran out.",
  cap_or_driver_refused: "Either a per-process limit that nobody noted, or a driver that refused although there was room.",
  cache_hoarding: "PyTorch's cache held, and could have given back, what the library needed.",
  cache_pinned: "PyTorch's cache held what the library needed and could not give it back.",
  near_capacity: "It would have fit, but with less than τ to spare: too close to call it anything but full.",
  growth_unmarked: "Growth would explain the failure, but steps could only be guessed from allocations.",
  too_few_boundaries: "Fewer than six comparable steps ended before the failure: retention cannot be judged.",
  boundaries_lapped: "The ring went round before steps could be inferred.",
  births_unknown: "When part of what is live was allocated is not known: the recording began later.",
  survived: "The job went on after this failure.",
  fatal: "Nothing shows that the job went on after this failure.",
  blind: "Some calls could not be seen by the recorder.",
  incomplete: "The recording began late, or had no room for an object.",
  strict: "No hole was as large as the request.",
  combined: "The holes and the free device memory together would have sufficed.",
  incompatible: "Only with free bytes of other pools, streams or size classes would it have fit.",
  would_fit_packed: "It would have fit, had the free bytes been in one piece, with less than τ to spare.",
  jointly: "Neither retained nor external bytes alone, but both together make up what was lacking.",
  inferred: "Steps were inferred from allocations or from module calls, not marked.",
  holder_unknown: "Who holds the bytes outside is not known: nobody told of other processes.",
  in_process: "Most of it is held by other libraries of this process.",
  same_job: "Most of it is held by other processes of the same job.",
  transient: "A holder that was not there a second before: it came, and may go.",
};

export const kBases: Record<string, string> = {
  marked: "the program marked them",
  certified: "steps were inferred: the events change threads once a step",
  uncertified: "steps could only be guessed from allocations",
  too_few: "fewer than six comparable steps ended",
  lapped: "the ring went round before steps could be inferred",
};

export const kFamilies: Record<string, string> = {
  none: "the sixteen runs of the heartbeat", step: "steps", optimizer: "calls of the optimizer", range: "ranges of the program",
  module: "calls of the same module",
};

export const kSources: Record<string, string> = {
  observed: "the device answered at this instant",
  carried: "by the last answer before it",
  carried_back: "by the first answer after it",
  unknown: "no answer of the device tells it",
};

export const kShapes: Record<string, string> = {
  unknown: "not known", flat: "flat", peak: "a peak, and down again", staircase: "a staircase: it grows from step to step",
  reserved_growth: "reserved grows while active does not", device_rise: "the device fills while PyTorch does not",
};

export const kUncertain: Record<string, string> = {
  records_missing: "records are missing from the window",
  events_lost: "the recorder had to drop events",
  events_lapped: "events were overwritten before they could be kept",
  late_start: "the recording began when the job already ran",
  table_incomplete: "the table of live objects was full",
  copied_while_written: "the file was copied while it was written",
  recording_dormant: "the recorder was in standby: no ring was kept",
  kinds_unknown: "records of kinds that this build does not know",
};

export const kUses: Record<string, string> = {
  unknown: "not told", parameter: "parameters", gradient: "gradients", optimizer_state: "optimizer state", buffer: "buffers", input: "inputs",
  activation: "activations",
};

export const kMembers: Record<string, string> = {
  total_bytes: "size of the card", device_free_bytes: "free on the device", reserved_bytes: "reserved", allocated_bytes: "allocated",
  deferred_bytes: "freed, waited for", cap_bytes: "per-process limit", request_bytes: "request", segment_request_bytes: "asked of the device",
  retained_bytes: "retained", boundary_count: "boundaries", growing_pairs_count: "growing pairs of five",
  kept_since_failure_bytes: "kept since an earlier failure", largest_compatible_extent_bytes: "largest hole known to fit in kind",
  largest_free_extent_bytes: "largest hole not excluded", reusable_free_bytes: "reusable", fragmented_free_bytes: "fragmented",
  incompatible_free_bytes: "incompatible", remappable_bytes: "remappable", other_processes_bytes: "other processes",
  named_library_bytes: "named libraries", named_library_growth_bytes: "growth of named libraries",
  baseline_outside_bytes: "outside at the baseline", baseline_unattributed_bytes: "unattributed at the baseline",
};
