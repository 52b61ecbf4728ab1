// SPDX-License-Identifier: Apache-2.0
//
// Ring files for the oracle's own tests. Rule: written from WIRE.md by hand, so that a mistake which the
// recorder and the encoder share does not reach the oracle.
#pragma once

#include <cstring>
#include <vector>

#include "oracle/checksum.h"
#include "oracle/examine.h"

namespace oracle::test {

inline constexpr u64 kMiB = u64{1} << 20;
inline constexpr u64 kGiB = u64{1} << 30;
inline constexpr u64 kSegmentAt = u64{0x7f00} << 24;

struct Fields {
    u8 kind = 0;
    u8 flags = 0;
    u16 thread = 1;
    u64 time = 0;
    u64 address = 0;
    u64 size = 0;
    u64 link = 0;
    u64 allocated = 0;
    u64 reserved = 0;
    u64 extra = 0;
    u16 extra16 = 0;
    int device = 0;
    u8 call = 0;
    u16 library = 1;
    u16 code = 0;
};

/// Library 1 is PyTorch's allocator. The live table is written by the caller, as every entry is its own
/// statement.
class RingBuilder {
  public:
    static constexpr u64 kAlign = 65536;
    static constexpr u32 kEntries = 64;

    explicit RingBuilder(u32 slots = 64) : slots_(slots), bytes_(8 * kAlign + 4 * kAlign) {
        const std::array<u8, 8> magic{0x89, 0x4D, 0x45, 0x4D, 0x53, 0x4E, 0x41, 0x50};
        std::memcpy(bytes_.data(), magic.data(), magic.size());
        put(8, 1, 2);
        put(12, 0x01020304, 4);
        put(16, 768, 4);
        put(20, 64, 4);
        put(24, bytes_.size(), 8);
        area(0, kAlign, slots, 64);
        area(1, 2 * kAlign, kEntries, 64);
        area(2, 3 * kAlign, 32, 8192);
        area(3, 7 * kAlign, kEntries, 64);
        area(4, 8 * kAlign, 0, 8192);
        area(5, 9 * kAlign, 16, 16);
        area(6, 10 * kAlign, 16, 16);
        area(7, 11 * kAlign, 16, 32);
        put(252, ~u64{0}, 4);
        put(260, ~u64{0}, 4);
        put(308, 1, 4);
        put(736, 2, 4);
        put(744, 1, 4);
        put(10 * kAlign + 16, 1, 1);
    }

    void put(u64 offset, u64 value, unsigned width) {
        for (unsigned i = 0; i < width; ++i)
            bytes_[offset + i] = static_cast<std::byte>(value >> (8 * i) & 0xFFU);
    }

    u64 record(const Fields& f) {
        u64 ticket = head_++;
        u64 at = record_at(ticket);
        write(at, f, ticket);
        put(512, head_, 8);
        return ticket;
    }
    void pinned(u64 index, const Fields& f, u64 ticket) { write(3 * kAlign + index * 64, f, ticket); }
    u64 record_at(u64 ticket) const { return kAlign + ticket % slots_ * 64; }
    void seal(u64 at) { put(at + 8, crc32c(view(at, 8), view(at + 12, 52)), 4); }
    void lose() {
        ++head_;
        put(512, head_, 8);
    }

    // The shapes of records that tests use most. Totals follow from what was said before.
    u64 segment(u64 address, u64 size) {
        reserved_ += size;
        return record({.kind = kOk, .flags = kFromAllocator, .address = address, .size = size, .call = 1});
    }
    u64 alloc(u64 address, u64 size, u64 site = 1, u16 thread = 1) {
        allocated_ += size;
        auto f = report(kBlockAlloc, address, size, site);
        f.thread = thread;
        return record(f);
    }
    u64 free(u64 address, u64 size, u64 birth, u16 thread = 1) {
        allocated_ -= size;
        auto f = report(kBlockFree, address, size, birth);
        f.thread = thread;
        return record(f);
    }
    u64 oom(u64 request, u64 total, u64 device_free) {
        u64 refused = record({.kind = kFail, .flags = kFromAllocator, .size = request, .call = 1, .code = 2});
        u64 seen = record(
            {.kind = kMemInfo, .flags = kFromAllocator, .size = total, .link = device_free, .call = 53});
        record({.kind = kOperation,
                .address = request,
                .size = request,
                .link = refused,
                .extra = seen,
                .extra16 = 1,
                .call = 1,
                .code = 2});
        return record(report(kBlockOom, 0, request, 9));
    }
    void entry(u64 slot, Class object, u64 address, u64 size, u64 birth, u64 site = 1, u64 last = kNoTicket,
               u16 library = 1) {
        u64 at = 2 * kAlign + slot * 64;
        put(at + 8, address, 8);
        put(at + 16, size, 8);
        put(at + 24, birth, 8);
        put(at + 40, site, 8);
        put(at + 54, library, 2);
        put(at + 56, object, 1);
        put(at + 58, object == kDevice ? 1 : 0, 1);
        put(at + 59, object == kDevice ? kFromAllocator : 0, 1);
        put(at + 60, crc32c(view(at + 8, 52)), 4);
        put(at, ((last == kNoTicket ? birth : last) + 1) << 1 | 1U, 8);
    }
    void boundary(u64 index, u8 family, u64 closed, u64 opened, u64 allocated, u16 name = 0,
                  u32 dimensions = 0, u8 depth = 0) {
        u64 at = 7 * kAlign + index * 64;
        put(at + 16, opened, 8);
        put(at + 36, dimensions, 4);
        put(at + 42, name, 2);
        put(at + 44, 1, 2);
        put(at + 46, family, 1);
        put(at + 48, allocated / 512, 5);
        put(at + 58, (u64{1} << 40) - 1, 5);
        put(at + 63, depth, 1);
        put(at + 32, crc32c(view(at + 8, 24), view(at + 36, 28)), 4);
        put(at, closed + 1, 8);
        put(748, index + 1, 4);
    }
    void exit(u64 status) {
        put(712, head_ + 1, 8);
        put(720, status, 4);
    }

    Bytes bytes() const { return bytes_; }
    u64 head() const { return head_; }
    u64 allocated() const { return allocated_; }

    Fields report(u8 kind, u64 address, u64 size, u64 link) const {
        return {.kind = kind,
                .flags = kTotalsPresent,
                .address = address,
                .size = size,
                .link = link,
                .allocated = allocated_,
                .reserved = reserved_};
    }

  private:
    Bytes view(u64 at, u64 size) const { return Bytes(bytes_).subspan(at, size); }
    void area(u64 index, u64 offset, u32 count, u32 entry_bytes) {
        u64 at = 48 + 24 * index;
        put(at, offset, 8);
        put(at + 8, u64{count} * entry_bytes, 8);
        put(at + 16, entry_bytes, 4);
        put(at + 20, count, 4);
    }
    void write(u64 at, const Fields& f, u64 ticket) {
        put(at, ticket + 1, 8);
        put(at + 12, f.kind, 1);
        put(at + 13, f.flags, 1);
        put(at + 14, f.thread, 2);
        put(at + 16, f.time, 8);
        put(at + 24, f.address, 8);
        put(at + 32, f.size, 8);
        put(at + 40, f.link, 8);
        if ((f.flags & kTotalsPresent) != 0) {
            put(at + 48, f.allocated / 512, 5);
            put(at + 53, f.reserved / 512, 5);
        } else {
            put(at + 48, f.extra, 8);
            put(at + 56, f.extra16, 2);
        }
        put(at + 58, static_cast<u64>(f.device), 1);
        put(at + 59, f.call, 1);
        put(at + 60, f.library, 2);
        put(at + 62, f.code, 2);
        seal(at);
    }

    u32 slots_;
    std::vector<std::byte> bytes_;
    u64 head_ = 0;
    u64 allocated_ = 0;
    u64 reserved_ = 0;
};

/// A job of one segment and one block that asks for more than the card has left.
inline RingBuilder small_failure() {
    RingBuilder ring;
    u64 segment = ring.segment(kSegmentAt, 20 * kMiB);
    u64 block = ring.alloc(kSegmentAt, 4 * kMiB);
    ring.entry(0, kDevice, kSegmentAt, 20 * kMiB, segment);
    ring.entry(1, kBlock, kSegmentAt, 4 * kMiB, block);
    ring.oom(100 * kMiB, kGiB, 24 * kMiB);
    return ring;
}

}  // namespace oracle::test
