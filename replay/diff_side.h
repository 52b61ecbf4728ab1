// SPDX-License-Identifier: Apache-2.0
//
// What one side of a before/after comparison comes down to, whether it was read from a ring or from a
// receipt. The rule: what a side does not know is unknown, never 0; a receipt simply knows less.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "json.h"
#include "measure.h"

namespace memsnap {

// A compared number, and how it came to be known.
struct Amount {
    std::optional<Wide> value;
    Provenance provenance = Provenance::unknown;

    static Amount observed(Wide value) { return {value, Provenance::observed}; }
    static Amount derived(Wide value) { return {value, Provenance::derived}; }
    bool known() const { return value.has_value(); }
};

// How the job of a side came out.
enum class Ending : uint8_t {
    no_incident,
    survived,  // it ran out of memory and went on
    fatal,
    lost,  // it ran out of memory, and no evidence of that is left
};

// A fact that both sides must share, unless it was declared as changed.
struct CohortValue {
    std::string field;
    Json value;
    bool known = true;
};

struct SideFailure {
    int device = -1;
    std::string allocator;
    Wide request_bytes = 0;
    bool followed = false;
};

// The explained failure of a side.
struct SideIncident {
    int device = -1;
    std::string allocator;
    std::string primary;                  // empty: none
    std::string answer;                   // the qualifier that is itself the answer; empty: none
    std::vector<std::string> qualifiers;  // of the verdict and of the primary hypothesis
    std::string fix, proof;
    std::string inequality;  // of the primary: what ideal packing says
    uint64_t steps_ended_count = 0;
    Amount request, segment_request, device_free, largest_free_extent, incompatible_free;
    Amount need, margin, threshold, deficit;
};

// Active bytes at the same point of the last steps.
struct StepGrowth {
    uint64_t boundary_count = 0;
    uint64_t growing_pairs_count = 0;  // of five
    Wide rise_bytes = 0;               // over the last five pairs of consecutive points
    Wide spaced_rise_bytes = 0;        // over the last five spaced pairs
    uint64_t spaced_steps_count = 1;   // that those pairs span
};

// How often a ring saw what the failing side asked for being granted.
struct Grants {
    uint64_t count = 0;
    bool exact = false;          // nothing of the ring's history is missing up to the instant looked at
    uint64_t largest_bytes = 0;  // the largest block granted or refused
    Amount slack_bytes;          // reserved less allocated, just after the grant that was asked for
    Amount device_free_bytes;    // as last observed before that grant
};

struct DiffSide {
    std::string label;  // for the screen only
    bool from_ring = false;
    std::string origin = "recorder";  // who told the events
    bool total_stated = false;        // the card's size, by a person
    std::string evidence_digest, receipt_digest;
    std::string verdict;  // canonical text
    std::vector<CohortValue> cohort;
    Ending ending = Ending::no_incident;
    bool ended_well = false;  // the process exited with status 0
    uint64_t steps_ended_count = 0;
    std::optional<SideIncident> incident;
    std::vector<SideFailure> failures;
    Amount total, peak_active, peak_reserved, outside, retained, boundaries_per_kilosecond;
    bool peak_is_whole = false;  // of the whole run, not of a window of it
    std::optional<StepGrowth> growth;
    std::optional<Grants> grants;  // of the request of BEFORE; nullopt from a receipt
};

}  // namespace memsnap
