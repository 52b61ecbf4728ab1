// SPDX-License-Identifier: Apache-2.0
//
// One value of a pickle, in 16 bytes. The rule: a value owns nothing; texts are numbers, a container that is
// complete is a number or a place, so that a million entries stay small and sharing costs nothing.
#pragma once

#include <bit>
#include <cstdint>
#include <span>

#include "snapshot.h"

namespace memsnap::snapshot {

enum class Kind : uint8_t {
    none,
    boolean,
    integer,
    large,  // an integer from 2^63 up to 2^64 - 1
    huge,   // any other integer
    real,
    text,
    long_text,  // more than PickleInput::kPiece_bytes: not kept
    bytes,      // not kept
    set,        // not kept
    pair,       // a tuple of two integers below 2^32
    tuple,
    list,
    dict,  // keys and values in turn
    open,  // not complete: a number of the machine's
    // What Tables makes of complete lists and dictionaries.
    frame,
    stack,
    entry,
    entries,  // consecutive ones
    block,
    blocks,
    segment,
    segments,
    annotation,
    annotations,
    bad,  // a problem's number; `low`: the kind it would have been
};

struct Value {
    Kind kind = Kind::none;
    uint8_t flags = 0;  // the machine's
    uint32_t low = 0;
    uint64_t wide = 0;

    static Value boolean(bool truth) { return {Kind::boolean, 0, 0, truth}; }
    static Value integer(int64_t number) { return {Kind::integer, 0, 0, static_cast<uint64_t>(number)}; }
    static Value unsigned_integer(uint64_t number) {
        return {number >> 63 == 0 ? Kind::integer : Kind::large, 0, 0, number};
    }
    static Value real(double number) { return {Kind::real, 0, 0, std::bit_cast<uint64_t>(number)}; }
    static Value text(TextId id) { return {Kind::text, 0, id, 0}; }
    static Value container(Kind kind, std::span<const Value> kept) {
        return {kind, 0, static_cast<uint32_t>(kept.size()), std::bit_cast<uint64_t>(kept.data())};
    }
    static Value frame(const Frame& frame) {
        return {Kind::frame, 0, frame.file, uint64_t{frame.function} << 32 | frame.line};
    }
    // `count` of what the tables hold from `first` on.
    static Value run(Kind kind, uint64_t first, size_t count) {
        return {kind, 0, static_cast<uint32_t>(count), first};
    }

    bool truth() const { return wide != 0; }
    int64_t as_integer() const { return static_cast<int64_t>(wide); }
    double as_real() const { return std::bit_cast<double>(wide); }
    Frame as_frame() const { return {low, static_cast<TextId>(wide >> 32), static_cast<uint32_t>(wide)}; }
    // Of a tuple, list or dict.
    std::span<const Value> items() const { return {std::bit_cast<const Value*>(wide), low}; }
};
static_assert(sizeof(Value) == 16);

}  // namespace memsnap::snapshot
