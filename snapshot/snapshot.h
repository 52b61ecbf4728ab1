// SPDX-License-Identifier: Apache-2.0
//
// A memory snapshot of PyTorch's (torch.cuda.memory._snapshot), as plain tables. The rule: what the file does
// not say is absent here, never a default; texts and stacks are numbers, so that a million entries stay
// small.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace memsnap::snapshot {

using TextId = uint32_t;   // 0: the empty text
using StackId = uint32_t;  // 0: none recorded, which is not the same as an empty one

inline constexpr uint16_t kPoolUnknown = 65535;
// PyTorch's pair as WIRE.md's number.
constexpr uint16_t pool_number(uint64_t a, uint64_t b) {
    if (b == 0 && a < 32768) return static_cast<uint16_t>(a);
    if (a == 0 && b < 32767) return static_cast<uint16_t>(32768 + b);
    return kPoolUnknown;
}

struct Frame {
    TextId file = 0;
    TextId function = 0;
    uint32_t line = 0;
    bool operator==(const Frame&) const = default;
};

// Numbers of what was seen before, by hash; the caller compares.
class HashIndex {
  public:
    // The first number from 1 on with this hash that `same` takes; `next` is put in where there is none.
    template <class F>
    uint32_t find_or_add(uint64_t hash, uint32_t next, F&& same) {
        if (next >= slots_.size() / 2) grow();
        for (size_t at = hash & (slots_.size() - 1);; at = (at + 1) & (slots_.size() - 1)) {
            Slot& slot = slots_[at];
            if (slot.number == 0) {
                slot = {hash, next};
                return next;
            }
            if (slot.hash == hash && same(slot.number)) return slot.number;
        }
    }

  private:
    struct Slot {
        uint64_t hash = 0;
        uint32_t number = 0;
    };
    void grow();
    std::vector<Slot> slots_;
};

// Each text once; ids count from 1 in the order of first sight.
class Texts {
  public:
    TextId add(std::string_view text);
    std::string_view text(TextId id) const { return id == 0 ? std::string_view{} : texts_[id - 1]; }
    size_t count() const { return texts_.size(); }

  private:
    std::vector<std::string_view> texts_;
    std::vector<std::unique_ptr<char[]>> pieces_;    // what the views show
    size_t piece_bytes_ = 0, piece_left_bytes_ = 0;  // of the last
    HashIndex ids_;
};

// Each stack once, innermost frame first.
class Stacks {
  public:
    StackId add(const std::vector<Frame>& frames);
    const std::vector<Frame>& frames(StackId id) const;  // of 0: empty
    size_t count() const { return stacks_.size(); }

  private:
    std::vector<std::vector<Frame>> stacks_;
    HashIndex ids_;
};

enum class Action : uint8_t {
    alloc,  // size: requested bytes
    free_requested,
    free_completed,
    segment_alloc,  // size: bytes of the segment, or of the mapped range
    segment_free,
    segment_map,
    segment_unmap,
    snapshot,
    oom,  // size: rounded request; address: device free, kFreeUnknown where nobody told it
    annotate,
    unknown,  // a word of a newer release
};

inline constexpr uint64_t kFreeUnknown = ~uint64_t{0};

struct TraceEntry {
    uint64_t address = 0;
    uint64_t size_bytes = 0;
    uint64_t stream = 0;
    int64_t time_us = 0;  // valid with has_time
    StackId stack = 0;
    TextId user_metadata = 0;
    uint16_t pool = kPoolUnknown;
    Action action = Action::unknown;
    bool has_time = false;
};

enum class BlockState : uint8_t {
    active_allocated,
    active_pending_free,
    inactive
};

struct Block {
    uint64_t address = 0;  // worked out from the sizes before it where the file has none
    uint64_t size_bytes = 0;
    std::optional<uint64_t> requested_bytes;
    StackId stack = 0;
    TextId user_metadata = 0;
    BlockState state = BlockState::inactive;
};

struct Segment {
    uint64_t address = 0;
    uint64_t total_bytes = 0;
    uint64_t allocated_bytes = 0;  // this and the next: of its blocks where the file has none
    uint64_t active_bytes = 0;
    std::optional<uint64_t> requested_bytes;
    uint64_t stream = 0;
    StackId stack = 0;
    uint32_t first_block = 0;  // in Snapshot::blocks or host_blocks
    uint32_t block_count = 0;
    int device = 0;
    uint16_t pool = kPoolUnknown;
    bool small = false;
    bool expandable = false;
};

struct Annotation {
    TextId name = 0;
    int64_t time_us = 0;
    int device = 0;
    bool starts = false;
};

// What PyTorch does not tell and memsnap adds under the key "memsnap" (docs/snapshots.md): an answer of the
// driver about a device, given before the entry `before_entry` of the device's trace.
struct Observation {
    int device = 0;
    uint64_t before_entry = 0;
    uint64_t total_bytes = 0;
    uint64_t free_bytes = 0;
};

struct Settings {
    bool known = false;
    bool expandable_segments = false;
    std::optional<uint64_t> max_split_size_bytes;  // nullopt: unset
    std::optional<uint32_t> gc_threshold_permille;
    std::vector<std::pair<uint64_t, uint64_t>>
        roundup_power2_divisions;  // by upper bound in MiB; empty: none
};

struct Snapshot {
    Texts texts;
    Stacks stacks;
    std::vector<Segment> segments;  // by device and address
    std::vector<Block> blocks;      // of each segment by address
    std::vector<Segment> host_segments;
    std::vector<Block> host_blocks;
    std::vector<std::vector<TraceEntry>> traces;  // by device, oldest first
    std::vector<TraceEntry> host_trace;
    std::vector<Annotation> annotations;  // as in the file
    std::vector<Observation> observations;
    Settings settings;
    bool tap = true;  // false: memsnap wrote the file without knowing requests, streams and pools
    std::vector<std::string> ignored;  // members that are not understood, by the begin of their names
};

}  // namespace memsnap::snapshot
