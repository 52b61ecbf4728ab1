// SPDX-License-Identifier: Apache-2.0
//
// Numbers of a profiler's trace, from their text. The rule: exact, or none.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace memsnap::snapshot {

// An integer of 64 bits, with or without a sign; one from 2^63 on is its two's complement, as addresses are.
std::optional<int64_t> trace_integer(std::string_view text);

// Microseconds with any number of decimals, in ns; what is finer is cut off.
std::optional<int64_t> trace_time_ns(std::string_view text);

}  // namespace memsnap::snapshot
