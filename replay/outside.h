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

namespace memsnap {

// What was observed of one device up to an instant: fed with events, starting from the pinned facts.
class ObservationLog {
  public:
    // Nothing at or after `until` counts. `instant_ns`: the failing instant, nullopt when it cannot be dated.
    ObservationLog(const Capture& capture, const PinnedDevice& pinned, int device, uint64_t until_ticket,
                   std::optional<uint64_t> instant_ns);

    void take(const Event& event);

    std::optional<uint64_t> total_bytes() const { return total_bytes_; }
    const std::optional<Event>& last_sample() const { return last_sample_; }
    const std::optional<Event>& last_processes() const { return last_processes_; }
    const std::optional<Event>& cap() const { return cap_; }
    // The least outside bytes seen long enough before the instant.
    std::optional<uint64_t> earlier_outside_bytes() const { return earlier_outside_bytes_; }

  private:
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
};

// A successful, available answer about the device's free bytes.
bool is_observation(const Event& event);

// total - free - reserved of an observation.
uint64_t outside_bytes(const Event& observation);

// `operation_begin_ticket`: the failing operation's first device call, or its first observation. `bounded`: a
// boundary of the device had closed before the failure.
Outside measure_outside(const PinnedDevice& pinned, const ObservationLog& log, const Ledger& ledger,
                        int device, uint64_t operation_begin_ticket, bool bounded);

}  // namespace memsnap
