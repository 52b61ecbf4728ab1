// SPDX-License-Identifier: Apache-2.0
//
// What a log's messages come to: each incident with its verdict, and what would settle what is open. The
// rule: numbers of two instants are never joined; what text cannot tell is undecidable, and said to be.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "analysis.h"
#include "triage_scan.h"

namespace memsnap {

// clang-format off
#define MEMSNAP_TRIAGE_MISSING(X) \
    X(request) X(total) X(device_free) X(reserved) X(allocated) X(active) X(cap) X(other_processes) X(steps)
// clang-format on
#define MEMSNAP_ENUMERATOR(name) name,
enum class Missing : uint8_t {
    MEMSNAP_TRIAGE_MISSING(MEMSNAP_ENUMERATOR)
};
#undef MEMSNAP_ENUMERATOR
std::string_view name(Missing missing);

struct TriagedIncident {
    LogMessage message;
    Analysis analysis;      // only its incident is there
    uint64_t order = 0;     // from 1, in the log
    uint64_t process = 0;   // from 1: of one rank, process or device
    std::string_view kind;  // of the closed list of docs/triage.md
    std::vector<Missing> missing;
    std::string_view next;                    // the one measurement that settles most; empty: nothing is open
    std::optional<uint64_t> statistics_line;  // whose numbers were used
    std::optional<uint64_t> other_statistics_line;  // of another instant
    bool grew = false;                              // more is allocated than at the process's failure before
    const Incident& incident() const { return *analysis.incident; }
};

struct Triage {
    LogFindings log;
    std::vector<TriagedIncident> incidents;  // in the order of the log
    std::vector<LogRefusal> refusals;        // that no error followed
    uint64_t process_count = 0;

    int exit_status() const;
};

Triage triage(LogFindings log);

// The closed list of next measurements.
std::string_view next_measurement(const TriagedIncident& one);

}  // namespace memsnap
