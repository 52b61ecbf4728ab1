// SPDX-License-Identifier: Apache-2.0
#include "interned.h"

namespace memsnap::recorder {
namespace {

constexpr uint64_t kSmallStack_bytes = 128;
constexpr uint64_t kMinStackPlaces = 4096;

}  // namespace

uint64_t stack_places(uint64_t names_bytes) {
    uint64_t count = kMinStackPlaces;
    while (count * kSmallStack_bytes < names_bytes) {
        count *= 2;
    }
    return count;
}

uint64_t interned_bytes(uint64_t names_bytes) {
    return sizeof(Interned) + (stack_places(names_bytes) + Interned::kCodePlaces) * sizeof(uint64_t);
}

Interned* open_interned(void* memory, uint64_t names_bytes) {
    auto* interned = static_cast<Interned*>(memory);
    auto* places = reinterpret_cast<uint64_t*>(interned + 1);
    interned->stacks.open(places, stack_places(names_bytes));
    interned->codes.open(places + stack_places(names_bytes), Interned::kCodePlaces);
    return interned;
}

}  // namespace memsnap::recorder
