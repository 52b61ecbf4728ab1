// SPDX-License-Identifier: Apache-2.0
//
// The segments and blocks of one device as a viewer of the exported file holds them at an event. The rule:
// every block lies in a segment and none overlap; what contradicts that has ended before, and is handed back
// as ended.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "../snapshot/snapshot.h"
#include "../snapshot/write_snapshot.h"
#include "address_table.h"

namespace memsnap {

struct ExportedBlock {
    uint64_t address = 0;
    uint64_t size_bytes = 0;
    uint64_t requested_bytes = 0;  // granted, where nobody told
    uint64_t stream = 0;
    uint64_t site = 0;
    uint16_t pool = snapshot::kPoolUnknown;
    bool pending = false;  // freed, and the allocator waits for it

    uint64_t end() const { return address + size_bytes; }
};

// One allocation, or a contiguous range of mappings.
struct ExportedSegment {
    uint64_t address = 0;
    uint64_t size_bytes = 0;
    uint64_t stream = 0;
    uint64_t site = 0;  // of its first page
    uint64_t birth_ticket = 0;
    uint16_t pool = snapshot::kPoolUnknown;
    bool expandable = false;
    bool small = false;

    uint64_t end() const { return address + size_bytes; }
};

// A mapping of PyTorch's own is a page of an expandable segment.
ExportedSegment exported_segment(uint64_t address, uint64_t size_bytes, uint64_t site, uint64_t birth_ticket,
                                 bool expandable);

class ExportedMemory {
  public:
    const ExportedSegment* segment_of(uint64_t address) const;
    const ExportedBlock* block(uint64_t address) const { return blocks_.find(address); }

    // Those that overlap the range, by address.
    std::vector<ExportedSegment> segments_in(uint64_t from, uint64_t to) const;
    std::vector<ExportedBlock> blocks_in(uint64_t from, uint64_t to) const;

    // The range must be unused. A mapping joins its neighbours of the same sort.
    void add(const ExportedSegment& segment);
    // Of a segment, or of mappings.
    void remove_segments(uint64_t from, uint64_t to);
    // What was told of the memory from the address on.
    void tell(uint64_t address, uint64_t stream, uint16_t pool);
    // False: it does not lie in one segment. The range must be free of blocks.
    bool add(const ExportedBlock& block);
    void remove_block(uint64_t address) { blocks_.erase(address); }
    void set_pending(uint64_t address) { blocks_.find(address)->pending = true; }

    // In address order. f(const snapshot::WrittenSegment&).
    template <class F>
    void for_each_segment(int device, F&& f) const {
        for (const auto& [address, segment] : segments_)
            f(written(device, segment));
    }

  private:
    struct Page {
        uint64_t size_bytes = 0;
        uint64_t site = 0;
        uint64_t birth_ticket = 0;
    };
    snapshot::WrittenSegment written(int device, const ExportedSegment& segment) const;
    void take_first_page(ExportedSegment& segment) const;

    std::map<uint64_t, ExportedSegment> segments_;
    std::map<uint64_t, Page> pages_;  // of expandable ones
    AddressTable<ExportedBlock> blocks_;
};

}  // namespace memsnap
