// SPDX-License-Identifier: Apache-2.0
//
// The small members of a snapshot: the allocator's settings, and what memsnap itself adds. The rule: a
// version of memsnap's member that is not known is left out and listed, never guessed at.
#pragma once

#include <optional>

#include "read_members.h"

namespace memsnap::snapshot {

// Of a dictionary that is kept as it is; of several with this name the last.
std::optional<Value> member_of(const Value& dict, Word word);

// The problem's path begins behind the member's own name.
std::optional<Problem> read_settings(const Value& value, Snapshot& out);
std::optional<Problem> read_own_member(const Value& value, Snapshot& out);

}  // namespace memsnap::snapshot
