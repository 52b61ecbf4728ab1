// SPDX-License-Identifier: Apache-2.0
//
// The failing thread's operation. Rule: the keyframe's copies are asked first, then the window, at most 4096
// tickets away.
#include <set>
#include <unordered_map>

#include "inputs.h"
#include "thresholds.h"

namespace oracle {
namespace {

// Every record that is left: the keyframe's copies, what lies in the ring before the window, and the window.
template <typename Visit>
void for_every_record(const Recording& recording, Visit visit) {
    for (const auto* events : {&recording.operation_copies, &recording.earlier, &recording.events}) {
        for (const auto& event : *events)
            visit(event);
    }
}

const Event* copy_at(const Recording& recording, u64 ticket) {
    for (const auto& event : recording.operation_copies) {
        if (event.ticket == ticket) return &event;
    }
    for (const auto& event : recording.earlier) {
        if (event.ticket == ticket) return &event;
    }
    return recording.at(ticket);
}

std::optional<Event> operation_record(const Recording& recording, const Event& failure) {
    std::optional<Event> last;
    for (const auto& event : recording.operation_copies) {
        if (event.kind == kOperation && event.thread == failure.thread && event.ticket < failure.ticket)
            last = event;
    }
    if (last) return last;
    for (const auto& event : recording.events) {
        bool near = event.ticket < failure.ticket &&
                    failure.ticket - event.ticket <= thresholds::kKeyframeReachTickets;
        if (near && event.kind == kOperation && event.thread == failure.thread) last = event;
    }
    return last;
}

// What the allocator's own trace tells of an OOM report, right before it.
std::optional<Event> tap_oom_of(const Recording& recording, const Event& report) {
    std::optional<Event> last;
    for (const auto& event : recording.events) {
        if (event.ticket >= report.ticket) break;
        if (event.thread != report.thread || event.device != report.device) continue;
        if (event.kind == kBlockOom) last.reset();
        bool near = report.ticket - event.ticket <= thresholds::kTapReachTickets;
        if (event.kind == kTapOom && near) last = event;
    }
    return last;
}

// What each free ended: the object that its birth ticket names, else what its call ends.
bool all_of_host_memory(const Scene& scene, const std::vector<const Event*>& all) {
    std::unordered_map<u64, Class> by_free, by_birth;
    for (const auto& life : scene.lives) {
        if (life.object == kBlock) continue;
        if (life.own_free != kNoTicket) by_free.emplace(life.own_free, life.object);
        if (life.birth != kNoTicket) by_birth.emplace(life.birth, life.object);
    }
    return std::all_of(all.begin(), all.end(), [&](const Event* free) {
        if (auto found = by_free.find(free->ticket); found != by_free.end()) return found->second == kHost;
        if (auto found = by_birth.find(free->link); found != by_birth.end()) return found->second == kHost;
        return frees(free->call) == kHost;
    });
}

// Whether anything was given back or mapped strictly between two tickets. A captured free gives nothing back.
bool disturbed(const Scene& scene, u64 after, u64 before) {
    bool mapped = false;
    std::vector<const Event*> given_back;
    for_every_record(scene.recording, [&](const Event& event) {
        if (event.ticket <= after || event.ticket >= before) return;
        mapped = mapped || (event.kind == kOk && event.call == kCallMemMap);
        if (event.kind == kFree && !event.has(kCapturing)) given_back.push_back(&event);
    });
    return mapped || (!given_back.empty() && !all_of_host_memory(scene, given_back));
}

std::optional<u64> last_fail_before(const Recording& recording, u16 thread, u64 ticket) {
    std::optional<u64> last;
    for_every_record(recording, [&](const Event& event) {
        bool fits = event.kind == kFail && event.thread == thread && event.ticket < ticket;
        if (fits && (!last || event.ticket > *last)) last = event.ticket;
    });
    return last;
}

bool every_ticket_known(const Recording& recording, u64 after, u64 before) {
    std::set<u64> known;
    for_every_record(recording, [&](const Event& event) {
        if (event.ticket > after && event.ticket < before) known.insert(event.ticket);
    });
    return known.size() == before - after - 1;
}

}  // namespace

bool is_observation(const Event& event, int device) {
    return (event.kind == kMemInfo || event.kind == kDeviceSample) && event.device == device &&
           event.code == 0 && !event.has(kUnavailable);
}

Operation operation_of(const Scene& scene, const Failed& failed) {
    const auto& recording = scene.recording;
    const auto& failure = failed.event;
    Operation operation;
    if (failed.victim == Victim::kPytorch) {
        operation.tap_oom = tap_oom_of(recording, failure);
        operation.record = operation_record(recording, failure);
        if (operation.record && operation.record->link != kNoTicket)
            operation.first_refused = operation.record->link;
        if (operation.record && operation.record->extra != kNoTicket &&
            operation.record->extra < failure.ticket) {
            const auto* named = copy_at(recording, operation.record->extra);
            if (named != nullptr && named->kind == kMemInfo && is_observation(*named, failure.device))
                operation.observation = *named;
        }
    } else {
        operation.first_refused = failure.ticket;
    }
    if (failed.victim == Victim::kUncached) {
        for (const auto& event : recording.events) {
            bool near = event.ticket > failure.ticket &&
                        event.ticket - failure.ticket <= thresholds::kKeyframeReachTickets;
            if (!near || event.kind != kMemInfo || event.thread != failure.thread) continue;
            if (is_observation(event, failure.device) && !disturbed(scene, failure.ticket, event.ticket))
                operation.observation = event;
            break;
        }
    }
    if (operation.observation && operation.first_refused &&
        operation.observation->ticket > *operation.first_refused) {
        u64 seen = operation.observation->ticket;
        auto last_fail = last_fail_before(recording, failure.thread, seen);
        operation.free_observed = last_fail && !disturbed(scene, *last_fail, seen) &&
                                  every_ticket_known(recording, *last_fail, seen);
    }
    operation.begin = failure.ticket;
    if (operation.first_refused) operation.begin = std::min(operation.begin, *operation.first_refused);
    if (operation.observation) operation.begin = std::min(operation.begin, operation.observation->ticket);
    for (const auto& event : recording.operation_copies)
        operation.begin = std::min(operation.begin, event.ticket);
    return operation;
}

}  // namespace oracle
