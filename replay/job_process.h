// SPDX-License-Identifier: Apache-2.0
//
// One process of a job, as its own recording tells it: when it was seen, what it failed of, who held its
// card, how it ended. The rule: the verdict is the one that the recording gets on its own; a time is
// CLOCK_REALTIME by the recording's clock anchors, and unknown where it has none.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis.h"
#include "recording.h"
#include "report_text.h"
#include "result.h"

namespace memsnap {

enum class JobIncident : uint8_t {
    none,
    survived,  // the process went on
    fatal,
    lost  // counted, or on no known device: nothing can be decided about it
};

// Another process that held the card at the failure, as NVML told.
struct CardHolder {
    uint32_t pid = 0;  // in the pid namespace of who asked
    uint64_t bytes = 0;
};

// The greatest of the whole run, but for `device_used`: of what the file still holds.
struct JobPeaks {
    std::optional<uint64_t> allocated_bytes, reserved_bytes, outside_bytes, device_used_bytes;
};

// Active bytes at the same point of the last steps.
struct JobSteps {
    BoundaryFamily family = BoundaryFamily::none;
    uint64_t point_count = 0;
    std::optional<Wide> rise_bytes;  // over the last five pairs of points
};

struct JobFailure {
    int device = -1;
    uint64_t ticket = 0;
    std::optional<uint64_t> time_ns;
    std::optional<uint32_t> keyframe_slot;  // the ring no longer holds it
    std::string event, cause;               // the sentences of the report
    std::vector<std::string> places;        // its lines about where
    std::string_view fix;                   // empty: none
    std::string_view primary;               // empty: none
    std::vector<std::string_view> qualifiers;
    bool from_outside = false;       // external pressure is the primary
    bool holder_shares_job = false;  // by what the process itself could see
    std::optional<uint64_t> others_bytes;
    std::vector<CardHolder> holders;  // most bytes first
};

struct JobProcess {
    std::string path;
    HeaderFacts header;
    std::optional<Error> error;  // nothing but the head could be read
    std::optional<uint64_t> first_seen_ns, last_seen_ns;
    std::optional<bool> alive;  // now; empty: it is of another host or pid namespace, so nobody here can tell
    uint64_t earlier_count = 0;  // of its recordings, before this one or beside it
    std::optional<int> device;
    JobIncident incident = JobIncident::none;
    int verdict_exit_status = 0;
    std::optional<JobFailure> failure;  // of `survived` and `fatal`
    JobPeaks peaks;
    JobSteps steps;
    std::string receipt;  // text, when it was asked for
    std::string receipt_digest;
};

std::string_view name(JobIncident incident);

using ReceiptWriter = std::function<Result<std::string>(const Recording&, const Analysis&)>;
using PlaceWriter = std::function<std::vector<std::string>(const Capture&, const Analysis&)>;

struct JobReading {
    ReceiptWriter write_receipt;  // empty: no receipts
    PlaceWriter write_places;     // of a failure, with names or tokens
    bool keep_receipts = false;   // the texts, not the digests alone
    bool utf8 = false;            // of sentences
};

// Errors are in the result.
JobProcess read_process(const std::string& path, const JobReading& reading);

// The instant that the failure is looked at in: the ring's window, or the keyframe's. `look` is called with
// it. Errors: as the file gives.
using StreamLook = std::function<void(const EventStream&)>;
Result<void> look_at_failure(const Capture& capture, const JobFailure& failure, const StreamLook& look);

}  // namespace memsnap
