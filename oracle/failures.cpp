// SPDX-License-Identifier: Apache-2.0
//
// Finds and judges failures. Rule: each question ("was it served later?") is asked of the sorted events after
// it.
#include "failures.h"

#include <map>

#include "lives.h"

namespace oracle {
namespace {

bool is_refusal(const Event& event) {
    return event.kind == kFail && event.code == kOutOfMemory && !event.has(kNested) &&
           takes_device_memory(allocates(event.call));
}
// A captured call made a graph node: it serves no memory.
bool is_success(const Event& event) {
    return event.kind == kOk && takes_device_memory(birth_class(event));
}

class Finder {
  public:
    Finder(const File& file, const Recording& ring) : file_(file), ring_(ring) {}

    Failures find() {
        index_successes();
        for (const auto& event : ring_.events)
            take(event);
        for (auto& [thread, run] : runs_)
            end_run(run);
        add_keyframes();
        auto by_ticket = [](const Failed& a, const Failed& b) { return a.event.ticket < b.event.ticket; };
        std::stable_sort(found_.all.begin(), found_.all.end(), by_ticket);
        std::stable_sort(
            found_.near_misses.begin(), found_.near_misses.end(),
            [](const NearMiss& a, const NearMiss& b) { return a.first.ticket < b.first.ticket; });
        follow();
        chain();
        settle_chains();
        if (found_.all.empty() && found_.near_misses.empty()) found_.lost_count = file_.header.failure_count;
        return std::move(found_);
    }

  private:
    struct Run {
        std::vector<const Event*> refusals;  // of PyTorch's allocator, not answered yet
    };

    void index_successes() {
        for (const auto& event : ring_.events) {
            if (is_success(event)) served_[event.library] = event.ticket;
        }
    }

    // A foreign failure that its library got over is a near miss.
    void add_foreign(const Event& event, bool only_in_keyframe) {
        auto served = served_.find(event.library);
        bool got_over = served != served_.end() && served->second > event.ticket;
        if (got_over || file_.header.ended_well()) {
            found_.near_misses.push_back({true, event, 1});
        } else {
            found_.all.push_back({event, Victim::kForeign, only_in_keyframe, false, kNoTicket, 0});
        }
    }

    void recover(Run& run) {
        if (!run.refusals.empty())
            found_.near_misses.push_back({false, *run.refusals.front(), run.refusals.size()});
        run.refusals.clear();
    }
    // The async backend: the last refusal of equal size was not served.
    void end_run(Run& run) {
        if (file_.header.async_backend() && !file_.header.caching_disabled() && !run.refusals.empty())
            found_.all.push_back({*run.refusals.back(), Victim::kUncached, false, false, kNoTicket, 0});
        run.refusals.clear();
    }

    void take(const Event& event) {
        const auto& header = file_.header;
        auto& run = runs_[event.thread];
        bool torch = ring_.by_allocator(event);
        bool async = header.async_backend() && !header.caching_disabled();
        if (event.kind == kBlockOom) {
            run.refusals.clear();
            found_.all.push_back({event, Victim::kPytorch, false, false, kNoTicket, 0});
        } else if (is_refusal(event)) {
            if (!torch) return add_foreign(event, false);
            if (header.caching_disabled()) {
                found_.all.push_back({event, Victim::kUncached, false, false, kNoTicket, 0});
                return;
            }
            if (async && !run.refusals.empty() && run.refusals.back()->size != event.size) end_run(run);
            run.refusals.push_back(&event);
        } else if (is_success(event) && torch) {
            // With the cache only a served block shows that the operation came through.
            if (!async) return;
            if (!run.refusals.empty() && run.refusals.back()->size != event.size) return end_run(run);
            recover(run);
        } else if (event.kind == kMemInfo && async) {
            end_run(run);
        } else if (event.kind == kBlockAlloc) {
            recover(run);
        }
    }

    void add_keyframes() {
        const auto& header = file_.header;
        for (const auto& keyframe : file_.keyframes) {
            const auto& event = keyframe.failing;
            bool known = ring_.at(event.ticket) != nullptr ||
                         std::any_of(found_.all.begin(), found_.all.end(), [&](const Failed& failed) {
                             return failed.event.ticket == event.ticket;
                         });
            if (known) continue;
            if (event.kind == kBlockOom) {
                found_.all.push_back({event, Victim::kPytorch, true, false, kNoTicket, 0});
            } else if (is_refusal(event) && !ring_.by_allocator(event)) {
                add_foreign(event, true);
            } else if (is_refusal(event) && (header.caching_disabled() || header.async_backend())) {
                found_.all.push_back({event, Victim::kUncached, true, false, kNoTicket, 0});
            }
        }
    }

    void follow() {
        for (auto& failed : found_.all) {
            const auto& event = failed.event;
            for (const auto& boundary : file_.boundaries) {
                bool opened_after = boundary.opened != kNoTicket && boundary.opened > event.ticket;
                if (opened_after) failed.scope_end = std::min(failed.scope_end, boundary.closed);
            }
            if (failed.only_in_keyframe) {
                bool window_follows = event.ticket < ring_.begin && ring_.begin < ring_.end;
                if (window_follows) failed.scope_end = std::min(failed.scope_end, ring_.begin);
                failed.followed = failed.scope_end != kNoTicket || file_.header.ended_well();
                continue;
            }
            // A block from the cache says nothing of another library's memory.
            if (failed.victim != Victim::kForeign) {
                auto served = std::find_if(ring_.events.begin(), ring_.events.end(), [&](const Event& later) {
                    return later.ticket > event.ticket && later.kind == kBlockAlloc &&
                           later.thread == event.thread && later.device == event.device &&
                           later.size >= event.size;
                });
                if (served != ring_.events.end())
                    failed.scope_end = std::min(failed.scope_end, served->ticket);
            }
            failed.followed = failed.scope_end != kNoTicket || file_.header.ended_well();
        }
    }

    void chain() {
        std::map<int, std::size_t> last;  // of each device
        for (std::size_t i = 0; i < found_.all.size(); ++i) {
            auto& failed = found_.all[i];
            failed.chain = i;
            if (failed.victim == Victim::kForeign) continue;
            auto before = last.find(failed.event.device);
            if (before != last.end() && failed.event.ticket < found_.all[before->second].scope_end)
                failed.chain = found_.all[before->second].chain;
            last[failed.event.device] = i;
        }
    }

    // The first member of a chain stands for it.
    void settle_chains() {
        for (std::size_t i = 0; i < found_.all.size(); ++i)
            found_.all[i].followed =
                found_.all[i].chain == i ? found_.chain_is_followed(i) : found_.all[i].followed;
    }

    const File& file_;
    const Recording& ring_;
    Failures found_;
    std::map<u16, u64> served_;  // last success by library
    std::map<u16, Run> runs_;
};

}  // namespace

bool Failures::chain_is_followed(std::size_t first) const {
    return std::all_of(all.begin(), all.end(),
                       [&](const Failed& failed) { return failed.chain != first || failed.followed; });
}

bool Failures::only_without_device() const {
    return !all.empty() &&
           std::all_of(all.begin(), all.end(), [](const Failed& failed) { return failed.event.device < 0; });
}

Failures find_failures(const File& file, const Recording& ring) {
    return Finder(file, ring).find();
}

std::optional<std::size_t> choose_incident(const Failures& failures, const Choice& choice) {
    std::optional<std::size_t> first, last_not_followed;
    for (std::size_t i = 0; i < failures.all.size(); ++i) {
        const auto& failed = failures.all[i];
        if (failed.event.device < 0 || (choice.device && *choice.device != failed.event.device)) continue;
        if (choice.ticket) {
            if (*choice.ticket == failed.event.ticket) return i;
            continue;
        }
        if (!first) first = i;
        if (!failed.followed) last_not_followed = i;
    }
    return last_not_followed ? failures.all[*last_not_followed].chain : first;
}

}  // namespace oracle
