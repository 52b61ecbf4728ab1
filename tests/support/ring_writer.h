// SPDX-License-Identifier: Apache-2.0
//
// Builds ring files for tests: a recorder in slow motion, one thread at a time, with every byte open to the
// test afterwards. The rule: what a test does not touch is what a recorder that lost nothing would have
// written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "../../interpose/wire.h"

namespace memsnap::test {

struct RingWriterOptions {
    uint32_t ring_records = 1024;
    uint32_t table_entries = 1024;
    uint32_t boundary_entries = 1024;
    uint32_t keyframe_entries = 1024;  // live entries a keyframe has room for
    uint32_t keyframe_ring_records = wire::kKeyframeRingRecords;
};

class RingWriter {
  public:
    explicit RingWriter(const RingWriterOptions& options = {});

    // Context of the records that follow.
    uint16_t thread = 1;
    uint16_t library = 0;
    uint64_t site = 0;
    uint64_t time = 1000;  // counted up with each record

    // ---- records, by what happened; each returns the ticket of its (last) record
    uint64_t block_alloc(uint64_t address, uint64_t size_bytes, int device = 0);
    uint64_t block_free(uint64_t address);
    uint64_t block_oom(uint64_t request_bytes, int device = 0);
    // try and ok of an allocating call; PyTorch's allocator is the caller. Reserved rises for cudaMalloc and
    // cuMemMap.
    uint64_t torch_call(wire::Op op, uint64_t address, uint64_t size_bytes, int device = 0,
                        uint64_t extra = 0);
    // The same by any other library.
    uint64_t foreign_call(wire::Op op, uint64_t address, uint64_t size_bytes, int device = 0,
                          uint64_t extra = 0);
    // The free of what an allocating call made. Reserved falls if the call made it rise.
    uint64_t call_free(wire::Op op, uint64_t address);
    uint64_t call_free_failed(wire::Op op, uint64_t address, uint16_t code);  // free and free_fail
    // try and fail; from_torch says who called.
    uint64_t call_failed(wire::Op op, uint64_t size_bytes, uint16_t code, bool from_torch, int device = 0);
    uint64_t segment(uint64_t address, uint64_t size_bytes, int device = 0) {
        return torch_call(wire::Op::cudaMalloc, address, size_bytes, device);
    }
    uint64_t mem_info(uint64_t total_bytes, uint64_t free_bytes, int device = 0);
    uint64_t step(uint64_t number);
    uint64_t phase(wire::Kind kind, uint32_t exact_name, uint32_t folded_name, wire::Family family);
    // Any other record: seq, check, thread, library and time are filled in.
    uint64_t record(wire::Record record);
    // A ticket that is taken and never committed.
    uint64_t lose();

    // ---- the other areas
    wire::PinnedDevice& pinned(int device);
    void pin(wire::Record& copy, uint64_t ticket) { copy = at(ticket); }
    wire::Boundary& boundary(uint64_t closing_ticket, int device = 0);  // sealed when the bytes are made
    void library_entry(uint16_t index, wire::LibraryRole role);
    void anchor(uint64_t counter, uint64_t monotonic_ns, uint64_t realtime_ns);
    // Copies what a failing thread copies: the last records, live entries, pinned area and an operation.
    void keyframe(uint32_t slot, uint64_t failure_ticket, const std::vector<uint64_t>& operation = {});
    void exit(int32_t status);

    // ---- every byte
    wire::Header& header();
    wire::Record& at(uint64_t ticket);  // the slot of a ticket
    static void seal(wire::Record& record);
    static void seal(wire::LiveEntry& entry);
    static void seal(wire::Boundary& boundary);
    wire::LiveEntry* live(uint64_t birth_ticket);  // nullptr: not in the table
    std::vector<wire::LiveEntry>& table() { return table_; }
    const std::vector<std::byte>& bytes();
    void write(const std::string& path);

  private:
    struct Object {
        uint64_t birth_ticket = 0;
        uint64_t size_bytes = 0;
        int device = 0;
        wire::Op op = wire::Op::none;
        bool reserved = false;
        size_t entry = 0;
    };
    struct Totals {
        uint64_t allocated_bytes = 0;
        uint64_t reserved_bytes = 0;
    };
    wire::Record blank(wire::Kind kind, int device) const;
    static void put_u40(uint8_t* out, uint64_t value);
    void put_totals(wire::Record& record) const;
    uint64_t call(wire::Op op, uint64_t address, uint64_t size_bytes, int device, uint64_t extra,
                  bool from_torch);
    uint64_t free_record(wire::Record record, const Object& object);
    size_t enter(uint64_t ticket, wire::Object object);
    template <class T>
    T* area(wire::AreaId id) {
        return reinterpret_cast<T*>(image_.data() + header().areas[static_cast<size_t>(id)].offset_bytes);
    }

    RingWriterOptions options_;
    std::vector<std::byte> image_;
    std::vector<wire::LiveEntry> table_;
    std::vector<size_t> unused_entries_;
    std::map<uint64_t, Object> blocks_;
    std::map<std::pair<wire::Op, uint64_t>, Object> objects_;  // by freeing call and address
    std::map<int, Totals> totals_;
    uint32_t step_ = 0;
    uint16_t phase_ = 0;
};

}  // namespace memsnap::test
