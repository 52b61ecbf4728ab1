// SPDX-License-Identifier: Apache-2.0
//
// Hashes of what a stranger's file holds. The rule: seeded anew in each process, so that nobody can choose
// texts or addresses that meet in one place; nothing that is written depends on them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace memsnap::snapshot {

uint64_t seeded_hash(std::string_view bytes);
uint64_t seeded_hash(uint64_t number);

// For the standard's tables, of texts or numbers.
struct SeededHash {
    using is_transparent = void;
    size_t operator()(std::string_view bytes) const { return seeded_hash(bytes); }
    size_t operator()(uint64_t number) const { return seeded_hash(number); }
};

}  // namespace memsnap::snapshot
