// SPDX-License-Identifier: Apache-2.0
//
// The last report and the last observation by a ticket. Rule: an instant of the clock becomes a ticket
// first; tickets order, times do not.
#include "job_levels.h"

#include "clock.h"
#include "job_parts.h"

namespace oracle {
namespace {

Levels levels_by(const File& file, const Recording& recording, int device, u64 ticket, Int instant_ns) {
    const Event *report = nullptr, *observation = nullptr;
    for (const auto& event : recording.events) {
        if (event.ticket > ticket) break;
        if (event.device == device && event.is_report()) report = &event;
        if (is_observation(event, device)) observation = &event;
    }
    Levels levels;
    if (report != nullptr) {
        levels.bytes[kActive] = report->allocated_bytes;
        levels.bytes[kReserved] = report->reserved_bytes;
    }
    if (observation != nullptr) {
        if (!is_untold(file, *observation)) levels.bytes[kOutside] = outside_of(*observation);
        levels.bytes[kDeviceUsed] = less(observation->size, observation->link);
        if (auto seen_ns = realtime_ns(file, observation->time))
            levels.observation_age_ns = less(instant_ns, *seen_ns);
    }
    return levels;
}

bool was_there(const Account& account, Int instant_ns) {
    return account.first_seen_ns && account.last_seen_ns && *account.first_seen_ns <= instant_ns &&
           instant_ns <= *account.last_seen_ns + kSignOfLifeNs;
}

// By disarming; the process may have gone on.
bool ended_before(const File& file, Int instant_ns) {
    if (file.header.disarmed_at == 0) return false;
    auto last_ns = file.events.empty() ? std::nullopt : realtime_ns(file, file.events.back().time);
    return !last_ns || *last_ns < instant_ns;
}

Json skew_in(const std::vector<Levels>& levels, Ledger ledger) {
    std::vector<std::pair<Int, std::size_t>> known;
    for (std::size_t process = 0; process < levels.size(); ++process) {
        if (auto bytes = levels[process].bytes[ledger]) known.emplace_back(*bytes, process);
    }
    if (known.size() < 2) return {};
    std::sort(known.begin(), known.end());
    const auto& least = known.front();
    auto most = std::find_if(known.begin(), known.end(),
                             [&](const auto& one) { return one.first == known.back().first; });
    return Json::Object{{"ledger", kLedgerNames[ledger]},
                        {"known_count", u64{known.size()}},
                        {"least_bytes", least.first},
                        {"least_process", u64{least.second + 1}},
                        {"median_bytes", known[(known.size() - 1) / 2].first},
                        {"most_bytes", most->first},
                        {"most_process", u64{most->second + 1}}};
}

}  // namespace

Levels levels_at_failure(const File& file, const Account& account) {
    const auto& fall = *account.fall;
    const auto* keyframe = fall.in_keyframe ? keyframe_of(file, fall.ticket) : nullptr;
    auto recording = keyframe != nullptr ? recording_of_keyframe(file, *keyframe) : recording_of_ring(file);
    return levels_by(file, recording, *account.device, fall.ticket, *fall.time_ns);
}

Levels levels_at(const File& file, const Account& account, Int instant_ns) {
    if (!account.device || !was_there(account, instant_ns) || ended_before(file, instant_ns)) return {};
    for (auto event = file.events.rbegin(); event != file.events.rend(); ++event) {
        auto time_ns = realtime_ns(file, event->time);
        if (time_ns && *time_ns <= instant_ns)
            return levels_by(file, recording_of_ring(file), *account.device, event->ticket, instant_ns);
    }
    return {};
}

Json skew_of(const std::vector<Levels>& levels) {
    Json::Array rows;
    for (auto ledger : {kActive, kReserved, kOutside, kDeviceUsed}) {
        if (auto row = skew_in(levels, ledger); !row.is_null()) rows.push_back(std::move(row));
    }
    return rows;
}

}  // namespace oracle
