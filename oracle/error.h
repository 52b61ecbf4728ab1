// SPDX-License-Identifier: Apache-2.0
//
// Why no document came out. Rule: an error carries its exit code, and corruption names the rule, ticket and
// offset.
#pragma once

#include <expected>
#include <string>
#include <utility>

#include "numbers.h"

namespace oracle {

inline constexpr int kExitUsage = 2;
inline constexpr int kExitNotMemsnap = 3;
inline constexpr int kExitCorrupt = 4;
inline constexpr int kExitIo = 5;
inline constexpr int kExitDisagreement = 6;
inline constexpr int kExitDormant = 7;  ///< a recording that waits to be armed

struct Error {
    int exit_code = kExitIo;
    std::string rule;
    u64 ticket = kNoTicket;
    u64 offset = 0;
    std::string message;
};

template <typename T>
using Expected = std::expected<T, Error>;

inline std::unexpected<Error> misused(std::string message) {
    return std::unexpected(Error{kExitUsage, {}, kNoTicket, 0, std::move(message)});
}

inline std::unexpected<Error> corrupt(std::string rule, u64 ticket, u64 offset) {
    return std::unexpected(Error{kExitCorrupt, std::move(rule), ticket, offset, {}});
}

}  // namespace oracle
