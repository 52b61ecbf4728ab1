// SPDX-License-Identifier: Apache-2.0
//
// Whether the process that writes a recording still runs, and what one calls the state of the two. The rule:
// a number alone names no process; its start and its pid namespace must be the same too.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "capture.h"

namespace memsnap {

// nullopt: it is of another pid namespace than this one, so nobody here can tell.
std::optional<bool> is_alive(const HeaderFacts& header);

enum class LiveState : uint8_t {
    recording,
    cold,        // waits to be armed, keeps nothing
    standby,     // waits to be armed, keeps what is live
    disarmed,    // was armed; the recording is complete
    detached,    // the same of a process that the recorder was attached to
    superseded,  // the process has a newer recording
    ended,       // its end was seen
    killed,      // it is gone, and its end was not seen
};
std::string_view name(LiveState state);

LiveState state_of(const HeaderFacts& header, std::optional<bool> alive);

}  // namespace memsnap
