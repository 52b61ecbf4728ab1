// SPDX-License-Identifier: Apache-2.0
//
// The validation rules, each with its stable name and the sentence a reader of the error needs. The rule
// about rules: what a lossless writer cannot have written is corruption; after a declared loss the same sight
// is counted instead. Layers that other libraries write to (driver and runtime objects) are always only
// counted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace memsnap {

// clang-format off
// X(name, layer, sentence)
#define MEMSNAP_RULES(X)                                                                                      \
    X(record_check, allocator, "a committed record whose checksum does not fit was left by a process that exited") \
    X(record_order, allocator, "a record carries a ticket that does not belong to its slot")                  \
    X(link_order, allocator, "a free or failure names a birth or call that is not earlier than itself")        \
    X(birth_missing, allocator, "a free announces the birth of its object, and no such record follows")        \
    X(block_size, allocator, "a block has no size, a negative one or one that is no multiple of the granule") \
    X(block_live_twice, allocator, "a block is allocated at the address of a live block")                     \
    X(block_overlap, allocator, "a block is allocated on a range that is not free")                           \
    X(block_outside_segment, allocator, "a block reaches beyond the segment it starts in")                    \
    X(free_unmatched, allocator, "a block is freed that is not live")                                         \
    X(free_mismatch, allocator, "a block is freed with another size, device or birth than it has")            \
    X(totals_allocated, allocator, "the allocator's own allocated total differs from the sum of live blocks") \
    X(totals_reserved, allocator, "the allocator reports less reserved than allocated")                       \
    X(table_check, allocator, "a live table entry has a wrong checksum")                                      \
    X(table_duplicate, allocator, "two live table entries have the same birth")                               \
    X(table_birth, allocator, "a live table entry names a birth that the window contradicts")                 \
    X(table_death, allocator, "a live table entry is newer than the free of its object")                      \
    X(table_lag, allocator, "the live table lags by more than one event of a thread")                         \
    X(table_end, allocator, "the replayed window does not end at the live table")                             \
    X(object_unmatched, driver, "a driver or runtime object is freed that is not live")                        \
    X(object_end, driver, "driver or runtime objects differ between the replayed window and the live table")   \
    X(segment_overlap, driver, "a segment or mapping lies on another one")
// clang-format on

enum class RuleLayer : uint8_t {
    allocator,
    driver
};

#define MEMSNAP_RULE_ENUMERATOR(name, layer, sentence) name,
enum class Rule : uint8_t {
    MEMSNAP_RULES(MEMSNAP_RULE_ENUMERATOR)
};
#undef MEMSNAP_RULE_ENUMERATOR

#define MEMSNAP_RULE_ONE(name, layer, sentence) +1
inline constexpr size_t kRuleCount = 0 MEMSNAP_RULES(MEMSNAP_RULE_ONE);
#undef MEMSNAP_RULE_ONE

std::string_view name(Rule rule);
std::string_view sentence(Rule rule);
RuleLayer layer(Rule rule);

}  // namespace memsnap
