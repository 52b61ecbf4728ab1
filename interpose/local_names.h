// SPDX-License-Identifier: Apache-2.0
//
// Local ids of the texts a program tells: phases, marks, dimensions, modules. The rules: an id stands for one
// text (or one place that a module is called at) as long as the process lives, and its text enters the
// sidecar once; finding one is lock-free and bounded; a text that finds no room has id 0 and is counted; a
// program that makes modules anew for ever leaves room for what it tells.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace memsnap::recorder {

struct Recorder;

inline constexpr size_t kMarkText_bytes = 255;

// The exact name and the one with each run of digits replaced by '#'.
struct NameIds {
    uint16_t exact = 0;
    uint16_t folded = 0;
    bool fresh = false;  // the exact name was not known before

    uint32_t pack() const { return uint32_t{exact} << 16 | folded; }
    // As the link of a record.
    uint64_t link() const { return uint64_t{exact} << 32 | folded; }
};

struct LocalNames {
    static constexpr uint32_t kCapacity = 4096;
    static constexpr uint32_t kPlaceCapacity = kCapacity / 2;
    static constexpr uint32_t kSlotCount = 2 * kCapacity;
    struct Slot {
        std::atomic<uint64_t> key;  // claimed by compare and swap; 0: unused
        std::atomic<uint32_t> ids;  // NameIds packed; stored last, 0: not yet
    };
    std::atomic<uint32_t> count;
    std::atomic<uint32_t> place_count;  // of those, places
    Slot slots[kSlotCount];
};

// How much of a text is kept: at most kMarkText_bytes, cut at a character.
size_t kept_bytes(const char* text, size_t text_bytes);

NameIds ids_of_text(Recorder& recorder, const char* text, size_t text_bytes);

// Ids of a place: two places with the same text have different ones, exact and folded alike. `describe`
// writes the text when the place is new.
using Describe = size_t(const void* what, char* text, size_t capacity_bytes);
NameIds ids_of_place(Recorder& recorder, uint64_t place, Describe* describe, const void* what);

// Spreads the bits of a word over all of it.
inline uint64_t mix(uint64_t word) {
    word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9;
    word = (word ^ (word >> 27)) * 0x94d049bb133111eb;
    return word ^ (word >> 31);
}

}  // namespace memsnap::recorder
