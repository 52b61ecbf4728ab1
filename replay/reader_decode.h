// SPDX-License-Identifier: Apache-2.0
//
// Single structures of the file to values of the replay; part of the reader, which alone knows the wire
// format.
#pragma once

#include <cstring>
#include <optional>
#include <span>

#include "../interpose/wire.h"
#include "capture.h"

namespace memsnap {

// A number of the file as an enumerator, or the fallback when a newer minor version wrote it.
template <class E>
E known(uint64_t number, E last, E fallback) {
    return number <= static_cast<uint64_t>(last) ? static_cast<E>(number) : fallback;
}

template <class T>
T load(std::span<const std::byte> bytes, uint64_t offset_bytes) {
    T value;
    std::memcpy(&value, bytes.data() + offset_bytes, sizeof value);
    return value;
}

// A record in a copy of the ring; slots are as aligned as the pages they were copied to.
const wire::Record& record_at(std::span<const std::byte> slots, uint64_t slot);

bool check_fits(const wire::Record& record);
bool check_fits(const wire::LiveEntry& entry);
bool check_fits(const wire::Boundary& boundary);
bool is_known(const wire::Record& record);

Event decode(const wire::Record& record);
LiveObject decode(const wire::LiveEntry& entry);
Boundary decode(const wire::Boundary& boundary);

// nullopt: unused, torn or not known.
std::optional<Event> decode_checked(const wire::Record& record);

}  // namespace memsnap
