// SPDX-License-Identifier: Apache-2.0
//
// Whether the process that writes a recording still runs, and what one calls the state of the two. The rule:
// a number alone names no process; its start, its pid namespace and its host must be the same too. The first
// namespace has one inode on every host.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "capture.h"

namespace memsnap {

// By the running kernel: before it was started anew, this machine was another host.
bool is_of_this_host(const HeaderFacts& header);

// nullopt: it is of another host or pid namespace than this one, so nobody here can tell.
std::optional<bool> is_alive(const HeaderFacts& header);

// Disarmed to cold, or writing to another file: its end is not told here, so that none was seen says nothing.
bool stopped_early(const HeaderFacts& header);

enum class LiveState : uint8_t {
    recording,
    cold,        // waits to be armed, keeps nothing
    standby,     // waits to be armed, keeps what is live
    disarmed,    // was armed; the recording is complete, whatever became of the process
    detached,    // the same of a process that the recorder was attached to
    superseded,  // the process has a newer recording
    ended,       // its end was seen
    killed,      // it is gone, and its end was not seen
};
std::string_view name(LiveState state);

LiveState state_of(const HeaderFacts& header, std::optional<bool> alive);

}  // namespace memsnap
