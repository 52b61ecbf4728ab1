// SPDX-License-Identifier: Apache-2.0
//
// Whether the peak of a step moved with what the user noted of it: batch, sequence, anything. The rule: facts
// only, how often both changed and how often in the same direction; nothing is fitted.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "boundary.h"
#include "event.h"

namespace memsnap {

struct DimensionEffect {
    uint64_t dimension = 0;  // local name id
    uint64_t interval_count = 0;
    uint64_t changed_count = 0;
    uint64_t together_count = 0;
    int64_t least_value = 0;
    int64_t greatest_value = 0;
    uint64_t peak_bytes = 0;
    int64_t value_at_peak = 0;
};

class DimensionWatch {
  public:
    // `points`: tickets, ascending, each once.
    explicit DimensionWatch(std::vector<uint64_t> points) : points_(std::move(points)) {}

    // Before what the event says is taken.
    void advance(uint64_t ticket) {
        while (passed_count_ < points_.size() && points_[passed_count_] < ticket)
            pass_point();
    }
    void take_note(const Event& note);
    void take_report(uint64_t allocated_bytes);
    // By first note; the end is behind every point.
    std::vector<DimensionEffect> effects();

  private:
    struct Noted {
        DimensionEffect effect;
        int64_t value = 0;
        uint64_t from = 0;                  // the first interval that the value may hold for
        std::optional<int64_t> last_value;  // in the counting interval before that
    };
    // The greatest peak from an interval to the last, and the first interval that has it.
    struct Highest {
        uint64_t interval = 0;
        uint64_t peak_bytes = 0;
    };

    void pass_point();
    void settle(Noted& noted);

    std::vector<uint64_t> points_;
    size_t passed_count_ = 0;
    std::optional<uint64_t> open_peak_bytes_;
    std::vector<uint64_t> peaks_bytes_;  // of the intervals that have one
    std::vector<Highest> highest_;       // by interval; peaks do not rise
    std::vector<Noted> noted_;
    std::unordered_map<uint64_t, size_t> index_;
};

// The boundaries of a device that bound the steps of a family, whatever their names and dimensions.
std::vector<uint64_t> step_tickets(const std::vector<Boundary>& boundaries, int device, BoundaryFamily family,
                                   uint64_t from_ticket, uint64_t until_ticket);

}  // namespace memsnap
