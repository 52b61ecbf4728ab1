// SPDX-License-Identifier: Apache-2.0
//
// How a stage of the replay says that it cannot go on. The rule: an error names the file, the place in it,
// the rule that was broken and the way out; nobody downstream invents a value instead.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

namespace memsnap {

// The classes of DESIGN's exit codes that are errors; the number is the exit status.
enum class ErrorCode : int {
    usage = 2,
    not_memsnap = 3,  // not a memsnap file, or a version that this build cannot read
    corrupt = 4,      // corrupt beyond what the commit rules explain
    io = 5,
    disagreed = 6,
    dormant = 7,  // a recording that waits to be armed: there is nothing to judge yet
};

struct Error {
    ErrorCode code = ErrorCode::corrupt;
    std::string file;
    std::optional<uint64_t> offset_bytes;  // from the start of the file
    std::optional<uint64_t> ticket;
    std::string rule;    // stable name of the rule that was broken, e.g. "free_unmatched"
    std::string detail;  // what was seen
    std::string way_out;
};

// About a file as a whole: no place in it is meant.
Error file_error(ErrorCode code, std::string file, std::string_view rule, std::string detail,
                 std::string way_out = {});

template <class T>
using Result = std::expected<T, Error>;

inline std::unexpected<Error> failure(Error error) {
    return std::unexpected<Error>(std::move(error));
}

// A file name as a terminal may show it: control characters as \xNN.
std::string printable(std::string_view text);

// A text of any bytes as a terminal may show it: all but printable ASCII as \xNN.
std::string plain_ascii(std::string_view text);

// One or two lines for a terminal.
std::string describe(const Error& error);

}  // namespace memsnap
