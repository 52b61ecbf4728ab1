// SPDX-License-Identifier: Apache-2.0
//
// A profiler's trace to a ring. docs/snapshots.md, "Profiler traces", has the rules.
#pragma once

#include <array>
#include <cstdint>

#include "convert.h"
#include "profile.h"

namespace memsnap::snapshot {

// `id` as RingImage takes it.
Converted convert_profile(Profile profile, const std::array<uint8_t, 16>& id);

}  // namespace memsnap::snapshot
