// SPDX-License-Identifier: Apache-2.0
#include "dimensions.h"

namespace memsnap::recorder {
namespace {

uint32_t word_of(uint16_t name, int64_t value) {
    auto word = static_cast<uint32_t>(mix(mix(name) ^ static_cast<uint64_t>(value)) >> 32);
    return word == 0 ? 1 : word;
}

// Null: as many others came before it.
NotedDimension* find(Recorder& recorder, uint16_t name) {
    for (NotedDimension& dimension : recorder.dimensions) {
        uint32_t there = 0;
        if (dimension.name.compare_exchange_strong(there, name, std::memory_order_relaxed)) return &dimension;
        if (there == name) return &dimension;
    }
    return nullptr;
}

}  // namespace

// The number is the exclusive or of a word for each dimension, so that concurrent notes need no order.
void note_dimension(Recorder& recorder, uint16_t name, int64_t value) {
    NotedDimension* dimension = name == 0 ? nullptr : find(recorder, name);
    if (dimension == nullptr) return;
    uint32_t now = word_of(name, value);
    uint32_t before = dimension->word.exchange(now, std::memory_order_relaxed);
    recorder.dimension_words.fetch_xor(before ^ now, std::memory_order_relaxed);
}

uint32_t noted_dimensions(const Recorder& recorder) {
    if (recorder.dimensions[0].name.load(std::memory_order_relaxed) == 0) return 0;
    uint32_t words = recorder.dimension_words.load(std::memory_order_relaxed);
    return words == 0 ? 1 : words;
}

}  // namespace memsnap::recorder
