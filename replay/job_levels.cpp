// SPDX-License-Identifier: Apache-2.0
//
// From the instant back to the last report and the last answer of the device.
#include "job_levels.h"

#include <algorithm>
#include <tuple>

#include "outside.h"

namespace memsnap {
namespace {

class Instant {
  public:
    Instant(const Capture& capture, int device, uint64_t instant_ns)
        : capture_(capture), device_(device), instant_ns_(instant_ns) {}

    // The ticket behind the last record made by then; the begin: there is none.
    uint64_t end_of(const EventStream& events) const {
        Event event;
        for (uint64_t ticket = events.end_ticket(); ticket > events.begin_ticket(); --ticket) {
            if (!events.read(ticket - 1, event)) continue;
            const auto time_ns = capture_.realtime_ns(event.time_counter);
            if (time_ns && *time_ns <= instant_ns_) return ticket;
        }
        return events.begin_ticket();
    }

    JobLevels before(const EventStream& events, uint64_t end_ticket) const {
        JobLevels levels;
        bool reported = false, answered = false;
        Event event;
        for (uint64_t ticket = end_ticket; ticket > events.begin_ticket() && !(reported && answered);
             --ticket) {
            if (!events.read(ticket - 1, event) || event.device != device_) continue;
            if (!reported && is_report(event) && event.has(kTotals)) {
                reported = true;
                levels.of(JobLedger::active) = event.allocated_bytes;
                levels.of(JobLedger::reserved) = event.reserved_bytes;
            }
            if (!answered && is_observation(event)) {
                answered = true;
                take_answer(event, levels);
            }
        }
        return levels;
    }

  private:
    void take_answer(const Event& event, JobLevels& levels) const {
        const uint64_t total_bytes = event.device_total_bytes();
        if (tells_outside(event, capture_.late_start())) levels.of(JobLedger::outside) = outside_bytes(event);
        levels.of(JobLedger::device_used) = total_bytes - std::min(total_bytes, event.device_free_bytes());
        const auto time_ns = capture_.realtime_ns(event.time_counter);
        if (time_ns) levels.observation_age_ns = instant_ns_ - std::min(instant_ns_, *time_ns);
    }

    const Capture& capture_;
    const int device_;
    const uint64_t instant_ns_;
};

// By disarming: what came later is not in it, though the process may have gone on.
bool ended_before(const Capture& capture, uint64_t instant_ns) {
    if (!capture.header.disarmed_ticket) return false;
    const EventStream& events = capture.window.events;
    Event event;
    for (uint64_t ticket = events.end_ticket(); ticket > events.begin_ticket(); --ticket) {
        if (!events.read(ticket - 1, event)) continue;
        return capture.realtime_ns(event.time_counter).value_or(0) < instant_ns;
    }
    return true;
}

bool was_there(const JobProcess& process, uint64_t instant_ns) {
    if (!process.first_seen_ns || !process.last_seen_ns) return false;
    return *process.first_seen_ns <= instant_ns && instant_ns <= latest_end_ns(*process.last_seen_ns);
}

}  // namespace

uint64_t latest_end_ns(uint64_t last_seen_ns) {
    return last_seen_ns + std::min(kSignOfLife_ns, UINT64_MAX - last_seen_ns);
}

std::string_view name(JobLedger ledger) {
    constexpr std::string_view kNames[] = {"active", "reserved", "outside", "device_used"};
    return kNames[static_cast<size_t>(ledger)];
}

Result<JobLevels> levels_at(const JobProcess& process, const Capture& capture, uint64_t instant_ns,
                            bool from_failure) {
    JobLevels levels;
    if (!process.device) return levels;
    const Instant instant(capture, *process.device, instant_ns);
    if (from_failure) {
        const auto looked = look_at_failure(capture, *process.failure, [&](const EventStream& events) {
            levels = instant.before(events, std::min(process.failure->ticket + 1, events.end_ticket()));
        });
        if (!looked) return failure(looked.error());
        return levels;
    }
    if (!was_there(process, instant_ns) || ended_before(capture, instant_ns)) return levels;
    const EventStream& events = capture.window.events;
    return instant.before(events, instant.end_of(events));
}

std::vector<JobSkew> skew_of(const std::vector<JobLevels>& levels) {
    std::vector<JobSkew> skews;
    for (const JobLedger ledger : kJobLedgers) {
        std::vector<std::tuple<uint64_t, size_t>> known;
        for (size_t process = 0; process < levels.size(); ++process) {
            if (const auto bytes = levels[process].of(ledger)) known.emplace_back(*bytes, process);
        }
        if (known.size() < 2) continue;
        std::ranges::sort(known);
        const auto [least, least_process] = known.front();
        const uint64_t most = std::get<0>(known.back());
        const auto first_most =
            std::ranges::find(known, most, [](const auto& one) { return std::get<0>(one); });
        skews.push_back({.ledger = ledger,
                         .known_count = known.size(),
                         .least_bytes = least,
                         .median_bytes = std::get<0>(known[(known.size() - 1) / 2]),
                         .most_bytes = most,
                         .least_process = least_process,
                         .most_process = std::get<1>(*first_most)});
    }
    return skews;
}

}  // namespace memsnap
