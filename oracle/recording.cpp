// SPDX-License-Identifier: Apache-2.0
//
// Makes the two kinds of recording. Rule: a keyframe's copies are its window; they begin with the oldest copy
// and end with the newest, and the failing record is always among them.
#include "recording.h"

#include "thresholds.h"

namespace oracle {

const Event* Recording::at(u64 ticket) const {
    auto found = std::lower_bound(events.begin(), events.end(), ticket,
                                  [](const Event& event, u64 wanted) { return event.ticket < wanted; });
    return found != events.end() && found->ticket == ticket ? &*found : nullptr;
}

bool Recording::by_allocator(u8 flags, u16 library) const {
    return (flags & kFromAllocator) != 0 ||
           (library < file->libraries.size() && file->libraries[library].role == kRoleAllocator);
}

const PinnedDevice* Recording::pinned_of(int device) const {
    return device >= 0 && static_cast<std::size_t>(device) < pinned.size()
               ? &pinned[static_cast<std::size_t>(device)]
               : nullptr;
}

Recording recording_of_ring(const File& file) {
    Recording recording;
    recording.file = &file;
    recording.begin = file.begin;
    recording.end = file.end;
    recording.earlier = file.earlier;
    recording.events = file.events;
    recording.missing = file.missing;
    recording.table = file.table;
    recording.pinned = file.pinned;
    return recording;
}

Recording recording_of_keyframe(const File& file, const Keyframe& keyframe) {
    Recording recording;
    recording.file = &file;
    recording.from_keyframe = true;
    // Where no ring was kept, or only a later one, there is the operation and nothing else.
    u64 failed = keyframe.failing.ticket;
    bool holds_failure = !keyframe.ring.empty() && keyframe.ring.front().ticket <= failed;
    recording.events = holds_failure ? keyframe.ring : keyframe.operation;
    if (!holds_failure)
        std::erase_if(recording.events, [&](const Event& event) {
            return event.ticket >= failed || failed - event.ticket > thresholds::kKeyframeReachTickets;
        });
    auto place = std::lower_bound(recording.events.begin(), recording.events.end(), keyframe.failing.ticket,
                                  [](const Event& event, u64 wanted) { return event.ticket < wanted; });
    if (place == recording.events.end() || place->ticket != keyframe.failing.ticket)
        recording.events.insert(place, keyframe.failing);
    recording.begin = recording.events.front().ticket;
    recording.end = recording.events.back().ticket + 1;
    for (std::size_t i = 1; i < recording.events.size(); ++i) {
        auto from = recording.events[i - 1].ticket + 1;
        if (from != recording.events[i].ticket)
            recording.missing.emplace_back(from, recording.events[i].ticket);
    }
    recording.operation_copies = keyframe.operation;
    recording.table = keyframe.table;
    recording.pinned = keyframe.pinned;
    return recording;
}

const Keyframe* keyframe_of(const File& file, u64 ticket) {
    for (const auto& keyframe : file.keyframes) {
        if (keyframe.failing.ticket == ticket) return &keyframe;
    }
    return nullptr;
}

}  // namespace oracle
