// SPDX-License-Identifier: Apache-2.0
//
// Steps ended before an instant, and the phase a birth fell into (VERDICT.md §2). Rule: a block born in the
// window has both from the events of the window; an older one carries its own.
#include "lives.h"

namespace oracle {
namespace {

class Steps {
  public:
    Steps(const Recording& recording, const std::vector<Life>& lives) {
        for (const auto& event : recording.events) {
            if (event.kind == kStep) ends_.emplace_back(event.ticket, event.size);
        }
        if (!ends_.empty()) return;
        for (const auto& life : lives) {
            bool at_an_end = life.from == 0 || life.death == kNoTicket;
            if (at_an_end && life.step) greatest_ = std::max(greatest_, *life.step);
        }
        for (const auto& entry : recording.table) {
            if (entry.live && entry.check_fits) greatest_ = std::max<u64>(greatest_, entry.step);
        }
    }
    u64 before(u64 ticket) const {
        if (ends_.empty()) return greatest_;
        auto after = std::lower_bound(ends_.begin(), ends_.end(), std::pair(ticket, u64{0}));
        if (after != ends_.begin()) return std::prev(after)->second;
        return ends_.front().second == 0 ? 0 : ends_.front().second - 1;
    }

  private:
    std::vector<std::pair<u64, u64>> ends_;
    u64 greatest_ = 0;
};

}  // namespace

void note_steps_and_phases(const Recording& recording, const std::vector<Range>& ranges,
                           std::vector<Life>& lives) {
    Labels labels(ranges);
    Steps steps(recording, lives);
    for (auto& life : lives) {
        bool born_in_window = life.birth >= recording.begin && life.birth != kNoTicket;
        if (!born_in_window) continue;
        const auto* birth = recording.at(life.birth);
        bool bore = birth != nullptr && birth_class(*birth) != kNoClass;
        life.phase = bore ? labels.of_birth(birth->thread, life.birth) : u16{0};
        life.step = steps.before(life.birth);
    }
}

u64 steps_ended(const Recording& recording, const std::vector<Life>& lives, u64 ticket) {
    return Steps(recording, lives).before(ticket);
}

}  // namespace oracle
