// SPDX-License-Identifier: Apache-2.0
//
// The vocabularies as lists of the page's tables. The rule: whole and in one order, so that an index means
// the same in every table.
#pragma once

#include <cstdint>

#include "page_table.h"
#include "vocabulary.h"

namespace memsnap {

// What a row of the table `begin` is about: a live object, or what the events before it said.
// clang-format off
#define MEMSNAP_BEGIN_STATES(X)                                                                   \
    X(block) X(deferred) X(segment) X(candidate) X(direct) X(foreign) X(other) X(totals) X(gap)   \
    X(answer) X(residual) X(others_then) X(others) X(tap) X(free_requested) X(free_completed)     \
    X(memory)
// clang-format on
#define MEMSNAP_ENUMERATOR(name) name,
enum class BeginState : uint8_t {
    MEMSNAP_BEGIN_STATES(MEMSNAP_ENUMERATOR)
};
#undef MEMSNAP_ENUMERATOR

PageWords kind_words();
PageWords op_words();
PageWords object_words();
PageWords category_words();
PageWords begin_state_words();
PageWords segment_kind_words();

uint64_t word_index(Kind kind);
uint64_t word_index(Op op);
uint64_t word_index(Object object);
uint64_t word_index(Category category);

}  // namespace memsnap
