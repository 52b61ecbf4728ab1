// SPDX-License-Identifier: Apache-2.0
//
// Another artifact of a case, named by what it is, how long it is and what its bytes hash to. The rule: a
// reference is opaque: nothing of what it names is looked into, and no name or path is in it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "result.h"
#include "ring_file.h"

namespace memsnap {

// What it may be; the last where nothing tells.
inline constexpr std::string_view kReferenceKinds[] = {
    "torch_snapshot", "profiler_trace", "log", "memory_stats", "recording", "receipt", "other"};

// `kind:sha256:bytes`, as `memsnap-replay reference` prints it and `--reference` takes it.
struct Reference {
    std::string kind;    // one of kReferenceKinds
    std::string sha256;  // 64 lower-case hexadecimal digits
    uint64_t size_bytes = 0;
    bool operator==(const Reference&) const = default;
    // Whatever it is called: the bytes are the same.
    bool same_bytes(const Reference& other) const {
        return sha256 == other.sha256 && size_bytes == other.size_bytes;
    }
};
using References = std::vector<Reference>;

// Errors: usage, naming what is wrong with the text.
Result<Reference> parse_reference(const std::string& text);
std::string text_of(const Reference& reference);
// Of a file; its kind by its first bytes, unless given. Errors: io.
Result<Reference> reference_of(const std::string& path, const std::string& kind = {});
Result<Reference> reference_of(const RingFile& file, const std::string& kind = {});

}  // namespace memsnap
