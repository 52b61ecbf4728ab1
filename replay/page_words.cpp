// SPDX-License-Identifier: Apache-2.0
//
// Lists and places in them, made from the vocabularies.
#include "page_words.h"

#include <array>

#include "names.h"

namespace memsnap {
namespace {

#define MEMSNAP_ONE(name, ...) +1
constexpr size_t kKindCount = MEMSNAP_KINDS(MEMSNAP_ONE);
constexpr size_t kOpCount = MEMSNAP_OPS(MEMSNAP_ONE);
constexpr size_t kObjectCount = MEMSNAP_OBJECTS(MEMSNAP_ONE);
#undef MEMSNAP_ONE

#define MEMSNAP_MEMBER(name, ...) Enum::name,
constexpr auto kKinds = [] {
    using Enum = Kind;
    return std::array<Kind, kKindCount>{MEMSNAP_KINDS(MEMSNAP_MEMBER)};
}();
constexpr auto kOps = [] {
    using Enum = Op;
    return std::array<Op, kOpCount>{MEMSNAP_OPS(MEMSNAP_MEMBER)};
}();
constexpr auto kObjects = [] {
    using Enum = Object;
    return std::array<Object, kObjectCount>{MEMSNAP_OBJECTS(MEMSNAP_MEMBER)};
}();
constexpr auto kCategories = [] {
    using Enum = Category;
    return std::array<Category, kCategoryCount>{MEMSNAP_CATEGORIES(MEMSNAP_MEMBER)};
}();
#undef MEMSNAP_MEMBER

// By the number of the enumerator.
template <class Enum, size_t count>
constexpr std::array<uint8_t, 256> places(const std::array<Enum, count>& list) {
    std::array<uint8_t, 256> places = {};
    for (size_t at = 0; at < count; ++at)
        places[static_cast<size_t>(list[at])] = static_cast<uint8_t>(at);
    return places;
}

constexpr auto kKindPlaces = places(kKinds);
constexpr auto kOpPlaces = places(kOps);

template <class List>
PageWords words_of(PageType type, const List& list) {
    PageWords words{type, {}};
    for (const auto word : list)
        words.list.push_back(name(word));
    return words;
}

}  // namespace

PageWords kind_words() {
    return words_of(PageType::kind, kKinds);
}
PageWords op_words() {
    return words_of(PageType::op, kOps);
}
PageWords object_words() {
    return words_of(PageType::object, kObjects);
}
PageWords category_words() {
    PageWords words{PageType::category, {}};
    for (const Category category : kCategories)
        words.list.push_back(use_name(category));
    return words;
}
PageWords begin_state_words() {
#define MEMSNAP_WORD(name) #name,
    return {PageType::state, {MEMSNAP_BEGIN_STATES(MEMSNAP_WORD)}};
#undef MEMSNAP_WORD
}
PageWords segment_kind_words() {
    const Words kinds = words(Vocabulary::segment_kind);
    return {PageType::segment_kind, {kinds.begin(), kinds.end()}};
}

uint64_t word_index(Kind kind) {
    return kKindPlaces[static_cast<size_t>(kind)];
}
uint64_t word_index(Op op) {
    return kOpPlaces[static_cast<size_t>(op)];
}
uint64_t word_index(Object object) {
    return static_cast<uint64_t>(object);
}
uint64_t word_index(Category category) {
    return static_cast<uint64_t>(category);
}

}  // namespace memsnap
