// SPDX-License-Identifier: Apache-2.0
//
// A job whose live table follows its events, for tests of what was born where and when. Rule: blocks are
// named by their MiB in one segment.
#pragma once

#include <map>

#include "catch.h"
#include "ring_builder.h"

namespace oracle::test {

class Job {
  public:
    explicit Job(u32 slots = 512) : ring(slots) {
        keep(kDevice, kSegmentAt, 400 * kMiB, ring.segment(kSegmentAt, 400 * kMiB), 0);
        last_step_ = ring.head();
    }

    RingBuilder ring;

    static u64 at(u64 mib) { return kSegmentAt + mib * kMiB; }
    u64 alloc(u64 mib, u64 size_mib, u64 site = 1, u16 thread = 1) {
        u64 birth = ring.alloc(at(mib), size_mib * kMiB, site, thread);
        keep(kBlock, at(mib), size_mib * kMiB, birth, site);
        return birth;
    }
    u64 free(u64 mib, u16 thread = 1) {
        auto block = blocks_.extract(mib);
        ring.put(2 * RingBuilder::kAlign + block.mapped().slot * 64, 0, 8);
        free_slots_.push_back(block.mapped().slot);
        return ring.free(at(mib), block.mapped().size, block.mapped().birth, thread);
    }
    u64 begin(u16 name, u16 family = 3, u16 thread = 1) {
        return ring.record(
            {.kind = kPhaseBegin, .thread = thread, .link = name, .device = -1, .code = family});
    }
    u64 end(u64 begun, u16 thread = 1) {
        return ring.record({.kind = kPhaseEnd, .thread = thread, .address = begun, .device = -1});
    }
    u64 tell(u64 address, u16 category, int device = 0) {
        return ring.record({.kind = kCategory, .address = address, .device = device, .code = category});
    }
    u64 note(u64 dimension, std::int64_t value) {
        return ring.record({.kind = kNote, .size = static_cast<u64>(value), .link = dimension, .device = -1});
    }
    u64 step(u16 code = 0) {
        u64 closed = ring.record({.kind = kStep, .size = ++steps_, .device = -1, .code = code});
        ring.boundary(steps_ - 1, 1, closed, last_step_, ring.allocated());
        last_step_ = closed;
        return closed;
    }
    void steps(int count) {
        for (int i = 0; i < count; ++i)
            step();
    }

    /// The document once the job has failed.
    Json failed() {
        ring.oom(900 * kMiB, kGiB, 24 * kMiB);
        return document();
    }
    Json document() const {
        auto result = examine(ring.bytes());
        REQUIRE(result);
        return result->document;
    }
    Json evidence() { return failed()["evidence"]; }

  private:
    struct Block {
        u64 slot, size, birth;
    };
    void keep(Class object, u64 address, u64 size, u64 birth, u64 site) {
        u64 slot = next_slot_;
        if (free_slots_.empty()) {
            ++next_slot_;
        } else {
            slot = free_slots_.back();
            free_slots_.pop_back();
        }
        ring.entry(slot, object, address, size, birth, site);
        if (object == kBlock) blocks_[(address - kSegmentAt) / kMiB] = {slot, size, birth};
    }

    std::map<u64, Block> blocks_;
    std::vector<u64> free_slots_;
    u64 next_slot_ = 0;
    u64 steps_ = 0;
    u64 last_step_ = 0;
};

inline Int number(const Json& json, std::string_view name) {
    REQUIRE(json[name].number() != nullptr);
    return *json[name].number();
}
inline const Json::Array& list(const Json& json, std::string_view name) {
    REQUIRE(json[name].array() != nullptr);
    return *json[name].array();
}
using Column = std::vector<Int>;
/// One member of every row.
inline Column column(const Json& json, std::string_view name, std::string_view member) {
    Column values;
    for (const auto& row : list(json, name))
        values.push_back(number(row, member));
    return values;
}

}  // namespace oracle::test
