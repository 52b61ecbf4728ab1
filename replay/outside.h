// SPDX-License-Identifier: Apache-2.0
//
// Device bytes beside the caching allocator: their baseline, their owners, and what they were earlier. The
// rule: an observation counts only when it was made strictly before the failing operation touched the device.
#pragma once

#include <cstdint>
#include <optional>

#include "capture.h"
#include "evidence.h"
#include "ledger.h"
#include "measure.h"

namespace memsnap {

// What was observed of one device up to an instant: fed with events, starting from the pinned facts.
// Of the bytes of other processes, those of this job: its `neighbour` records stand before each sample.
class NeighbourLog {
  public:
    // Events of the device, from the window's first on.
    void take(const Event& event);
    // Whether this job holds at least half of what the last available sample says of others.
    Wide job_bytes() const { return job_bytes_; }
    bool job_holds_half() const { return others_bytes_ > 0 && 2 * job_bytes_ >= others_bytes_; }

  private:
    Wide waiting_bytes_ = 0;  // told since the last sample
    Wide job_bytes_ = 0;
    Wide others_bytes_ = 0;
};

class ObservationLog {
  public:
    // Nothing at or after `until` counts. `instant_ns`: the failing instant, nullopt when it cannot be dated.
    ObservationLog(const Capture& capture, const PinnedDevice& pinned, int device, uint64_t until_ticket,
                   std::optional<uint64_t> instant_ns);

    // An event of the window.
    void take(const Event& event);

    std::optional<uint64_t> total_bytes() const { return total_bytes_; }
    const std::optional<Event>& last_sample() const { return last_sample_; }
    const std::optional<Event>& last_processes() const { return last_processes_; }
    const std::optional<Event>& cap() const { return cap_; }
    // The least outside bytes seen long enough before the instant.
    std::optional<uint64_t> earlier_outside_bytes() const { return earlier_outside_bytes_; }
    const NeighbourLog& neighbours() const { return neighbours_; }

  private:
    void take_fact(const Event& event);
    void take_observation(const Event& event);

    const Capture& capture_;
    int device_;
    uint64_t until_ticket_;
    std::optional<uint64_t> instant_ns_;
    std::optional<uint64_t> total_bytes_;
    std::optional<Event> last_sample_;
    std::optional<Event> last_processes_;
    std::optional<Event> cap_;
    std::optional<uint64_t> earlier_outside_bytes_;
    NeighbourLog neighbours_;
};

// A successful, available answer about the device's free bytes.
bool is_observation(const Event& event);

// One that tells what is outside of PyTorch's allocator: after a late start the allocator must have reported
// by then, or nobody knows how much of the card it held.
bool tells_outside(const Event& event, bool late_start);

// total - free - reserved of an observation that tells it.
uint64_t outside_bytes(const Event& observation);
// Of a pinned one; nothing where it is not there or does not tell.
std::optional<uint64_t> told_outside_bytes(const std::optional<Event>& pinned, bool late_start);

// `operation_begin_ticket`: the failing operation's first device call, or its first observation. `bounded`: a
// boundary of the device had closed before the failure.
Outside measure_outside(const PinnedDevice& pinned, const ObservationLog& log, const Ledger& ledger,
                        int device, uint64_t operation_begin_ticket, bool bounded);

}  // namespace memsnap
