// SPDX-License-Identifier: Apache-2.0
//
// What one instant is looked at in: the ring's window, or a keyframe's copies. Rule: everything after
// decoding works on this and does not know which of the two it is, but for `from_keyframe`.
#pragma once

#include "file.h"

namespace oracle {

struct Recording {
    const File* file = nullptr;
    bool from_keyframe = false;
    u64 begin = 0;  ///< B
    u64 end = 0;    ///< H
    std::vector<Event> earlier;
    std::vector<Event> events;
    std::vector<std::pair<u64, u64>> missing;
    std::vector<Event> operation_copies;  ///< of a keyframe's failure
    std::vector<Entry> table;
    std::vector<PinnedDevice> pinned;

    const Event* at(u64 ticket) const;
    u64 last_ticket() const { return end == 0 ? 0 : end - 1; }
    bool by_allocator(u8 flags, u16 library) const;
    bool by_allocator(const Event& event) const { return by_allocator(event.flags, event.library); }
    const PinnedDevice* pinned_of(int device) const;
};

Recording recording_of_ring(const File& file);
Recording recording_of_keyframe(const File& file, const Keyframe& keyframe);
/// The valid keyframe of the failure with this ticket.
const Keyframe* keyframe_of(const File& file, u64 ticket);

}  // namespace oracle
