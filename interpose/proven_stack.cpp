// SPDX-License-Identifier: Apache-2.0
#include "proven_stack.h"

#include "own_memory.h"

namespace memsnap::recorder {
namespace {

constexpr uint64_t kPage_bytes = 4096;  // or a divisor of it
constexpr uint64_t kFurthest_bytes = uint64_t{8} << 20;

uint64_t page_of(uint64_t address) {
    return address & ~(kPage_bytes - 1);
}

bool are_readable(uint64_t begin, uint64_t end) {
    CheckedMemory memory;
    uint8_t byte = 0;
    for (uint64_t page = begin; page < end; page += kPage_bytes) {
        if (!memory.read(page, &byte, sizeof byte)) return false;
    }
    return true;
}

}  // namespace

__attribute__((noinline)) bool ProvenStack::extend(uint64_t address) {
    const uint64_t page = page_of(address);
    if (end_ == 0) return false;
    if (page >= end_ && page - end_ < kFurthest_bytes && are_readable(end_, page + kPage_bytes)) {
        end_ = page + kPage_bytes;
        return true;
    }
    if (page < begin_ && begin_ - page < kFurthest_bytes && are_readable(page, begin_)) {
        begin_ = page;
        return true;
    }
    return false;
}

void ProvenStack::restart(uint64_t address) {
    begin_ = page_of(address);
    end_ = begin_ + kPage_bytes;
}

}  // namespace memsnap::recorder
