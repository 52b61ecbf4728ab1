// SPDX-License-Identifier: Apache-2.0
//
// Inferred boundaries: the heartbeat is the allocation that came and went most often; the events since its
// first are cut into equal runs, and the boundary of a run is its earliest point of least active bytes.
#include <algorithm>
#include <bitset>

#include "boundary.h"
#include "policy.h"

namespace memsnap {
namespace {

constexpr uint64_t kRuns = policy::kInferredRuns_count;

uint64_t mix(uint64_t site, uint64_t granted_bytes) {
    uint64_t hash = site * 0x9E3779B97F4A7C15ULL ^ granted_bytes * 0xC2B2AE3D27D4EB4FULL;
    hash ^= hash >> 29;
    return hash * 0xBF58476D1CE4E5B9ULL >> 7;
}

// Whether a thread gave way to another and came back: forward, backward, optimizer.
class Alternation {
  public:
    void restart() {
        left_.reset();
        seen_ = false;
        alternates_ = false;
    }
    void take(uint16_t thread) {
        if (seen_ && thread == current_) return;
        alternates_ |= left_[thread];
        if (seen_) left_.set(current_);
        current_ = thread;
        seen_ = true;
    }
    bool alternates() const { return alternates_; }

  private:
    std::bitset<size_t{1} << 16> left_;
    uint16_t current_ = 0;
    bool seen_ = false;
    bool alternates_ = false;
};

class Runs {
  public:
    Runs(const EventStream& events, int device, const HeartbeatCounter::Heartbeat& heartbeat)
        : events_(events), device_(device), heartbeat_(heartbeat) {
        matched_.points.reserve(kRuns);
        starts_.reserve(kRuns);
    }

    std::optional<Matched> run(uint64_t until_ticket) {
        events_.for_each(heartbeat_.first_ticket, until_ticket, [this](const Event& event) {
            if (event.device != device_) return true;
            if (event.kind == Kind::block_alloc || event.kind == Kind::block_free) take(event);
            return true;
        });
        close_run();
        const bool regular =
            matched_.points.size() == kRuns && born_in_.count() >= policy::kInferredRunsNeeded_count;
        if (!regular) return std::nullopt;
        const bool certified = alternating_count_ >= policy::kInferredRunsNeeded_count;
        matched_.basis = certified ? GrowthBasis::certified : GrowthBasis::uncertified;
        return std::move(matched_);
    }

  private:
    // Run w holds the indices ceil(w n / 16) ... ceil((w + 1) n / 16) - 1.
    uint64_t run_end(uint64_t run) const { return ((run + 1) * heartbeat_.event_count + kRuns - 1) / kRuns; }

    void take(const Event& event) {
        const bool run_over =
            starts_.empty() || (starts_.size() < kRuns && index_ >= run_end(starts_.size() - 1));
        if (run_over) {
            close_run();
            starts_.push_back(event.ticket);
            least_ = {event.ticket, event.allocated_bytes, event.reserved_bytes, std::nullopt};
            alternation_.restart();
        } else if (event.allocated_bytes < least_.active_bytes) {
            least_ = {event.ticket, event.allocated_bytes, event.reserved_bytes, std::nullopt};
        }
        ++index_;
        alternation_.take(event.thread);
        if (event.kind == Kind::block_free && event.size_bytes == heartbeat_.granted_bytes) take_beat(event);
    }

    void take_beat(const Event& event) {
        const uint64_t birth = event.birth_ticket();
        if (birth < heartbeat_.first_ticket || birth >= event.ticket) return;
        Event born;
        if (!events_.read(birth, born) || born.site() != heartbeat_.site) return;
        const auto after = std::ranges::upper_bound(starts_, birth);
        if (after != starts_.begin()) born_in_.set(static_cast<size_t>(after - starts_.begin()) - 1);
    }

    void close_run() {
        if (starts_.empty()) return;
        matched_.points.push_back(least_);
        if (alternation_.alternates()) ++alternating_count_;
    }

    const EventStream& events_;
    int device_;
    const HeartbeatCounter::Heartbeat heartbeat_;
    Matched matched_;
    std::vector<uint64_t> starts_;  // first ticket of each run
    std::bitset<kRuns> born_in_;
    Alternation alternation_;
    MatchedPoint least_;
    uint64_t index_ = 0;
    uint64_t alternating_count_ = 0;
};

}  // namespace

HeartbeatCounter::Entry& HeartbeatCounter::entry(uint64_t site, uint64_t granted_bytes) {
    if ((used_count_ + 1) * 4 > entries_.size() * 3) grow();
    const size_t mask = entries_.size() - 1;
    for (size_t at = mix(site, granted_bytes) & mask;; at = (at + 1) & mask) {
        Entry& candidate = entries_[at];
        if (candidate.granted_bytes == granted_bytes && candidate.site == site) return candidate;
        if (candidate.granted_bytes != 0) continue;
        candidate.site = site;
        candidate.granted_bytes = granted_bytes;
        ++used_count_;
        return candidate;
    }
}

void HeartbeatCounter::grow() {
    std::vector<Entry> old(entries_.size() * 2);
    old.swap(entries_);
    used_count_ = 0;
    for (const Entry& kept : old) {
        if (kept.granted_bytes != 0) entry(kept.site, kept.granted_bytes) = kept;
    }
}

void HeartbeatCounter::born(uint64_t site, uint64_t granted_bytes, uint64_t ticket) {
    const uint64_t index = event_index_++;
    if (granted_bytes == 0) return;
    Entry& beat = entry(site, granted_bytes);
    if (beat.first_ticket == kNoTicket) {
        beat.first_ticket = ticket;
        beat.first_index = index;
    }
}

void HeartbeatCounter::freed(uint64_t site, uint64_t granted_bytes) {
    ++event_index_;
    if (granted_bytes != 0) ++entry(site, granted_bytes).freed_count;
}

std::optional<HeartbeatCounter::Heartbeat> HeartbeatCounter::best() const {
    const Entry* best = nullptr;
    for (const Entry& beat : entries_) {
        if (beat.freed_count == 0 || beat.first_ticket == kNoTicket) continue;
        const bool better = best == nullptr || beat.freed_count > best->freed_count ||
                            (beat.freed_count == best->freed_count && beat.first_ticket < best->first_ticket);
        if (better) best = &beat;
    }
    if (best == nullptr) return std::nullopt;
    return Heartbeat{best->site, best->granted_bytes, best->first_ticket, event_index_ - best->first_index};
}

std::optional<Matched> inferred_boundaries(const EventStream& events, int device, uint64_t until_ticket,
                                           const HeartbeatCounter& counter) {
    const auto heartbeat = counter.best();
    if (!heartbeat || heartbeat->event_count < policy::kInferredEventsNeeded_count) return std::nullopt;
    return Runs(events, device, *heartbeat).run(until_ticket);
}

}  // namespace memsnap
