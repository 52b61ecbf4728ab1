// SPDX-License-Identifier: Apache-2.0
//
// Where the areas of a file lie. The rule: pure functions of the settings; a file that waits to be armed is a
// header alone, and one in standby has everything but the ring, which goes behind its end when it is armed.
#pragma once

#include "settings.h"

namespace memsnap::recorder {

inline constexpr uint32_t kThreadCapacity = 4096;
inline constexpr uint32_t kLibraryCapacity = 256;

struct Layout {
    wire::Area areas[wire::kAreaCount];
    uint32_t table_entry_count;
    uint64_t file_bytes;
};

// Of a new file of a process that is in that state.
Layout choose_layout(const Settings& settings, wire::ArmState state);

// The ring, at the end of a file that has none.
wire::Area ring_at(uint64_t offset_bytes, const Settings& settings);

}  // namespace memsnap::recorder
