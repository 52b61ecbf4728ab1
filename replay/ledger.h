// SPDX-License-Identifier: Apache-2.0
//
// What is live in the process after an event: blocks, segments and driver objects, with the totals of each
// device. The rule: a value type that changes by apply() alone, in ticket order; what contradicts the state
// is returned as the rule it breaks, and the state then follows the record, so that a declared loss stays
// local.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "address_table.h"
#include "event.h"
#include "measure.h"
#include "ranges.h"
#include "rules.h"
#include "window.h"

namespace memsnap {

// A live block of PyTorch's caching allocator.
struct Block {
    uint64_t address = 0;
    uint64_t size_bytes = 0;  // granted
    uint64_t birth_ticket = kNoTicket;
    uint64_t site = 0;
    uint64_t requested_bytes = 0;  // meaningful with told
    uint32_t step = 0;             // steps ended before the birth
    uint16_t phase = 0;            // folded name of the phase of the birth, 0: none
    uint16_t thread = 0;           // meaningful for births in the window
    Category category = Category::none;
    int8_t device = -1;
    bool told = false;  // by the torch tap, what was requested

    uint64_t end() const { return address + size_bytes; }
};

// As the live table tells of it: without its thread, its category, and what was requested.
Block block_of(const LiveObject& object);

// What a caching allocator can grant: whole granules, inside the address space.
bool has_block_size(const Block& block);

// A freed block that the allocator still waits for.
struct DeferredBlock {
    uint64_t address = 0;
    uint64_t size_bytes = 0;
    uint64_t free_ticket = 0;
    int8_t device = -1;
};

enum class SegmentKind : uint8_t {
    native,      // one cudaMalloc
    expandable,  // a contiguous range of mappings
};
enum class SegmentState : uint8_t {
    candidate,  // asked for by PyTorch's allocator, not yet known to be part of reserved
    segment,
    direct,   // a tensor of its own (caching disabled): live, never slack
    foreign,  // of another library; a block reported inside it makes it a segment
};

struct Segment {
    uint64_t address = 0;
    uint64_t size_bytes = 0;
    uint64_t birth_ticket = kNoTicket;  // expandable: of its first mapping
    uint64_t granule_bytes = 0;         // expandable: size of its lowest mapping
    uint64_t largest_block_bytes = 0;   // ever seen inside it; > 1 MiB makes it a large one
    uint64_t stream = 0;                // meaningful with tap_known
    uint16_t library = 0;
    uint16_t pool = 0;  // meaningful with tap_known
    int8_t device = -1;
    SegmentKind kind = SegmentKind::native;
    SegmentState state = SegmentState::candidate;
    bool tap_known = false;

    uint64_t end() const { return address + size_bytes; }
};

// A live object below the caching allocator; what segments are made of is in here too.
struct DriverObject {
    uint64_t address = 0;
    uint64_t size_bytes = 0;
    uint64_t birth_ticket = kNoTicket;
    uint64_t site = 0;
    uint64_t handle = 0;  // mapping: the handle mapped
    uint32_t step = 0;
    uint16_t phase = 0;
    uint16_t library = 0;
    Object object = Object::none;
    Op op = Op::none;
    int8_t device = -1;
    uint8_t flags = 0;
    bool in_segment = false;  // PyTorch's allocator holds it, or maps it
    bool from_torch() const { return (flags & kFromTorch) != 0; }
    bool imported() const { return object == Object::import || (flags & kImported) != 0; }
    // Memory of the device by itself, which another library holds.
    bool outside() const {
        const bool single = object == Object::device || object == Object::array || object == Object::async;
        return single && !in_segment && !imported() && size_bytes != 0;
    }
};

// Physical memory behind cuMemCreate: it exists while a reference or a mapping does.
struct PhysicalMemory {
    uint64_t size_bytes = 0;
    uint32_t reference_count = 0;
    uint32_t mapping_count = 0;
    uint32_t segment_count = 0;  // of the mappings: those of PyTorch's allocator, or that it uses
    uint16_t library = 0;
    int8_t device = -1;
    bool imported = false;
    bool from_torch = false;
    uint64_t birth_ticket = kNoTicket;

    bool lives() const { return reference_count != 0 || mapping_count != 0; }
    bool outside() const {
        return lives() && !imported && !from_torch && segment_count == 0 && size_bytes != 0;
    }
    bool unmapped() const { return from_torch && !imported && reference_count != 0 && mapping_count == 0; }
};

struct DeviceTotals {
    uint64_t block_count = 0;
    uint64_t allocated_bytes = 0;                              // sum of live blocks
    std::array<uint64_t, kCategoryCount> category_bytes = {};  // of them, by what they were told to be
    uint64_t segment_bytes = 0;                                // sum of settled segments
    uint64_t candidate_bytes = 0;
    uint64_t direct_bytes = 0;
    uint64_t deferred_bytes = 0;  // meaningful with Ledger::tap_seen
    uint64_t deferred_count = 0;
    // As the allocator last reported them; nullopt before the first report.
    std::optional<uint64_t> reported_allocated_bytes;
    std::optional<uint64_t> reported_reserved_bytes;
    uint64_t report_ticket = kNoTicket;
    // Reported minus seen, as of the last report. Negative: more seen than reported.
    int64_t unseen_allocated_bytes = 0;
    int64_t unseen_reserved_bytes = 0;
    uint64_t unmapped_bytes = 0;  // that PyTorch's allocator made and does not map, or not any more
    // Of other libraries of this process, and what only the driver knows of all of it (VERDICT.md,
    // "Residual").
    Wide own_bytes = 0;
    uint64_t rounding_bytes = 0;
    Wide pooled_bytes = 0;          // live stream-ordered allocations
    Wide pool_room_bytes = 0;       // the same in whole pages: a pool grows by those
    Wide pool_room_peak_bytes = 0;  // and keeps what it had

    bool in_use() const {
        return reported_allocated_bytes || block_count != 0 || segment_bytes + candidate_bytes != 0;
    }
    // By PyTorch's allocator, with what only its own report tells.
    Wide held_bytes() const {
        return Wide{unseen_reserved_bytes} + segment_bytes + candidate_bytes + direct_bytes + unmapped_bytes;
    }
};

// Device bytes of this process that the caching allocator does not own, of one library.
struct ForeignBytes {
    uint16_t library = 0;
    int8_t device = -1;
    uint64_t bytes = 0;
    uint64_t count = 0;
};

// One of the objects that foreign() sums up.
struct ForeignObject {
    uint64_t address = 0;  // or the handle
    uint64_t size_bytes = 0;
    uint64_t birth_ticket = kNoTicket;
    uint16_t library = 0;
    Op op = Op::none;
};

// Memory of a device that no sum of it counts: it may lie elsewhere, or belong to somebody else.
struct BesideBytes {
    Wide managed_bytes = 0;
    Wide pinned_bytes = 0;  // of the process
    uint64_t imported_count = 0;
    Wide imported_bytes = 0;
    Wide graph_bytes = 0;
};

// What the last event did.
struct Change {
    const Block* born = nullptr;  // in the ledger
    std::optional<Block> freed;   // as it was
    bool deferred = false;        // freed, but the allocator waits for it
    bool collected = false;       // freed in a pass of Python's cyclic garbage collection
    bool collection_ended = false;
    const DriverObject* object =
        nullptr;  // that was freed, or lives on after a refusal; until the next event
};

class Ledger {
  public:
    // The state before the window's first event.
    explicit Ledger(const Window& window);

    std::optional<Rule> apply(const Event& event, Change& change);
    // Whether the state before the first event contradicts itself.
    std::optional<Rule> check_begin() const { return begin_problem_; }
    // Compares with what the window says is live at its end.
    std::optional<Rule> check_end(const Window& window) const;

    const DeviceTotals& device(int device) const { return totals_[static_cast<size_t>(device)]; }
    std::vector<int> devices() const;  // that have blocks, segments or reports, ascending
    // Whether the torch tap was there by now.
    bool tap_seen() const { return tap_seen_; }
    // Recording began in a running process.
    bool late_start() const { return late_start_; }
    // Of blocks from before it that nobody saw, but the allocator counted when it reported last.
    uint64_t unseen_block_bytes(int device) const {
        const int64_t unseen_bytes = totals_[static_cast<size_t>(device)].unseen_allocated_bytes;
        return late_start_ && unseen_bytes > 0 ? static_cast<uint64_t>(unseen_bytes) : 0;
    }
    uint32_t step_count() const { return step_count_; }
    // That a birth on the thread has; folded name, 0: none.
    uint16_t phase_on(uint16_t thread) const { return ranges_.phase_on(thread); }

    const Block* find_block(uint64_t address) const { return blocks_.find(address); }
    // That holds the address.
    const Block* block_at(uint64_t address) const {
        const Block* const block = blocks_.at_or_before(address);
        return block != nullptr && address < block->end() ? block : nullptr;
    }
    const Segment* segment_of(uint64_t address) const;
    // In address order. f(const Block&), f(const Segment&).
    template <class F>
    void for_each_block(int device, F&& f) const {
        blocks_.for_each([&](const Block& block) {
            if (block.device == device) f(block);
        });
    }
    template <class F>
    void for_each_segment(int device, F&& f) const {
        segments_.for_each([&](const Segment& segment) {
            if (segment.device == device) f(segment);
        });
    }
    // In birth order. f(const DriverObject&).
    template <class F>
    void for_each_object(F&& f) const {
        objects_.for_each(f);
    }
    const std::vector<DeferredBlock>& deferred() const { return deferred_; }
    // The free that the torch tap told last and whose block is still there; 0: none.
    uint64_t tap_requested_address(int device) const { return state_of(device).tap_requested_address; }
    uint64_t tap_completed_address(int device) const { return state_of(device).tap_completed_address; }
    // Of a live handle or mapping; nullptr: not known.
    const PhysicalMemory* memory_behind(uint64_t birth_ticket) const;
    // By handle. f(const PhysicalMemory&).
    template <class F>
    void for_each_memory(F&& f) const {
        for (const auto& [handle, memory] : physical_)
            f(memory);
    }
    // By library, ascending; physical memory of handles counts once, whatever maps it.
    std::vector<ForeignBytes> foreign(int device) const;
    template <class F>
    void for_each_foreign(int device, F&& f) const {
        objects_.for_each([&](const DriverObject& it) {
            if (it.device == device && it.outside())
                f(ForeignObject{it.address, it.size_bytes, it.birth_ticket, it.library, it.op});
        });
        for (const auto& [handle, memory] : physical_) {
            if (memory.device == device && memory.outside())
                f(ForeignObject{handle, memory.size_bytes, memory.birth_ticket, memory.library,
                                Op::cuMemCreate});
        }
    }
    BesideBytes beside(int device) const;
    uint64_t block_count() const { return blocks_.size(); }
    uint64_t object_count() const { return objects_.size(); }
    // What a copy of it costs.
    uint64_t entry_count() const {
        return block_count() + object_count() + ranges_.begun_count() + pending_request_count_;
    }

  private:
    struct DeviceState {
        std::unordered_map<uint64_t, uint64_t> requested_bytes;  // by address, of blocks not born yet
        uint64_t tap_completed_address = 0;
        uint64_t tap_requested_address = 0;
        std::set<uint64_t> candidates;  // addresses of the segments in that state; account() keeps it
        std::map<uint16_t, ForeignBytes> foreign;  // by library; none without an allocation
    };
    // What the last call of a thread freed, by birth, in case it then refuses: one object, or several.
    struct LastFree {
        DriverObject object;
        std::optional<Segment> segment;
        std::optional<PhysicalMemory> memory;  // that went with it
    };
    struct LastCall {
        Op op = Op::none;
        uint64_t first_ticket = kNoTicket;
        std::map<uint64_t, LastFree> frees;
    };

    const DeviceState& state_of(int device) const { return states_[static_cast<size_t>(device)]; }
    std::optional<Rule> change_state(const Event& event, Change& change);
    // ledger_blocks.cpp
    std::optional<Rule> block_alloc(const Event& event, Change& change);
    std::optional<Rule> block_free(const Event& event, Change& change);
    void take_request(Block& born);
    std::optional<Rule> add_block(const Block& block, const Block** entered);
    Block remove_block(const AddressTable<Block>::Place& where);
    std::optional<Rule> take_totals(const Event& event);
    void settle_candidates(int device, uint64_t previous_report);
    void tap_alloc(const Event& event);
    void tap_free(const Event& event);
    // ledger_objects.cpp
    std::optional<Rule> object_alloc(const DriverObject& object);
    std::optional<Rule> object_free(const Event& event, Change& change);
    std::optional<Rule> object_free_failed(const Event& event, Change& change);
    LastFree& last_free(const Event& event, uint64_t birth_ticket);
    DriverObject& enter(const DriverObject& object);
    std::optional<Rule> add_region(const Segment& segment);
    void remove_region(const DriverObject& object, std::optional<Segment>& removed);
    void unmap(uint64_t address, uint64_t size_bytes);
    static uint64_t handle_of(const DriverObject& object);
    void take_handle(const DriverObject& object);
    std::optional<PhysicalMemory> drop_handle(const DriverObject& object);
    void tap_segment(const Event& event);
    // ledger_sums.cpp
    void count(const DriverObject& object, bool live);
    void count_outside(const DriverObject& object, bool live);
    void count_foreign(uint16_t library, int device, uint64_t size_bytes, bool live);
    void change_memory(uint64_t handle, uint32_t PhysicalMemory::*counter, bool more);
    void settle_object(uint64_t birth_ticket, bool in_segment);
    // ledger.cpp
    DriverObject born_object(const Event& event) const;
    std::optional<Rule> initial_block(const Event& event, Change& change);
    void account(const Segment& segment, bool live);
    void set_state(Segment& segment, SegmentState state);
    void take_category(const Event& event);
    void count_category(const Block& block, bool live);

    AddressTable<Block> blocks_;
    AddressTable<Segment> segments_;
    AddressTable<DriverObject> objects_;           // by birth ticket
    std::map<uint64_t, PhysicalMemory> physical_;  // by handle
    std::map<uint64_t, uint64_t> page_bytes_;      // of expandable segments, by address
    std::vector<DeferredBlock> deferred_;
    std::array<DeviceTotals, kDeviceCapacity> totals_ = {};
    std::array<DeviceState, kDeviceCapacity> states_ = {};
    std::map<uint16_t, LastCall> last_calls_;  // by thread
    Ranges ranges_;
    std::optional<Rule> begin_problem_;
    uint64_t birth_announced_at_ = kNoTicket;
    uint64_t pending_request_count_ = 0;
    uint32_t step_count_ = 0;
    bool tap_seen_ = false;
    bool late_start_ = false;
};

}  // namespace memsnap
