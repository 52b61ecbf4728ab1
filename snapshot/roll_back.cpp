// SPDX-License-Identifier: Apache-2.0
//
// One device's trace, backwards. Two maps by address: the regions (segments, and ranges of mapped pages) and
// the blocks, both as they are before the entry at hand.
#include "roll_back.h"

#include <algorithm>
#include <iterator>
#include <map>

#include "allocator_rule.h"
#include "consistent.h"
#include "regions.h"

namespace memsnap::snapshot {

namespace {

struct Life {
    uint64_t least_bytes = 0;  // of an exact one its size
    uint64_t bound_bytes = 0;
    bool exact = false;
    bool waiting = false;
    bool freed = false;        // by an entry of the trace
    StackId end_stack = 0;     // of the free, else of the block
    TextId user_metadata = 0;  // of the block
    std::optional<uint64_t> requested_bytes;
    uint64_t stream = 0;
    uint16_t pool = kPoolUnknown;
};
using Lives = std::map<uint64_t, Life>;

class Walk {
  public:
    Walk(const std::vector<Segment>& segments, const std::vector<Block>& blocks,
         const std::vector<TraceEntry>& trace)
        : trace_(trace) {
        for (const Segment& segment : segments) {
            regions_.put(segment.address, {.size_bytes = segment.total_bytes,
                                           .stream = segment.stream,
                                           .pool = segment.pool,
                                           .stack = segment.stack,
                                           .expandable = segment.expandable});
            for (uint32_t at = 0; at < segment.block_count; ++at)
                put_block(blocks[segment.first_block + at], segment);
        }
    }

    RolledBack run() {
        out_.parts.assign(trace_.size(), Part::plain);
        out_.facts.resize(trace_.size());
        for (size_t at = trace_.size(); at-- > 0;) {
            out_.parts[at] = undo(at);
            out_.skipped_count += out_.parts[at] == Part::skipped;
        }
        const bool waits = !tells_no_requests();
        for (const auto& [address, life] : lives_) {
            const bool born_there = !life.freed || frees_tell_births();
            out_.blocks.push_back({.address = address,
                                   .size = {life.bound_bytes, life.exact},
                                   .requested_bytes = life.requested_bytes,
                                   .stream = life.stream,
                                   .pool = life.pool,
                                   .stack = born_there ? life.end_stack : 0,
                                   .user_metadata = life.user_metadata,
                                   .waiting = life.waiting && (waits || !life.freed)});
        }
        for (const auto& [address, region] : regions_) {
            out_.segments.push_back({.address = address,
                                     .size_bytes = region.size_bytes,
                                     .stream = region.stream,
                                     .pool = region.pool,
                                     .stack = region.stack,
                                     .expandable = region.expandable});
        }
        return std::move(out_);
    }

  private:
    // ---- blocks
    void put_block(const Block& block, const Segment& segment) {
        if (block.state == BlockState::inactive) return;
        lives_[block.address] = {.least_bytes = block.size_bytes,
                                 .bound_bytes = block.size_bytes,
                                 .exact = true,
                                 .waiting = block.state == BlockState::active_pending_free,
                                 .freed = false,
                                 .end_stack = block.stack,
                                 .user_metadata = block.user_metadata,
                                 .requested_bytes = block.requested_bytes,
                                 .stream = segment.stream,
                                 .pool = segment.pool};
    }
    bool is_free_of_blocks(uint64_t address, uint64_t size_bytes) const {
        const auto behind = lives_.lower_bound(address);
        if (behind != lives_.end() && behind->first - address < size_bytes) return false;
        if (behind == lives_.begin()) return true;
        const auto& before = *std::prev(behind);
        return address - before.first >= before.second.least_bytes;
    }
    void bound_before(uint64_t address) {
        const auto behind = lives_.lower_bound(address);
        if (behind == lives_.begin()) return;
        auto& before = *std::prev(behind);
        before.second.bound_bytes = std::min(before.second.bound_bytes, address - before.first);
    }
    // A block that was there before this free.
    bool put_freed(const TraceEntry& free, bool waiting) {
        const uint64_t least_bytes = least_granted_bytes(free.size_bytes);
        if (least_bytes < free.size_bytes) return false;  // past the end of numbers
        const auto* const region = regions_.holding(free.address, least_bytes);
        if (region == nullptr || !is_free_of_blocks(free.address, least_bytes)) return false;
        const auto behind = lives_.lower_bound(free.address);
        uint64_t end = region->first + region->second.size_bytes;
        if (behind != lives_.end()) end = std::min(end, behind->first);
        bound_before(free.address);
        lives_.emplace_hint(behind, free.address,
                            Life{.least_bytes = least_bytes,
                                 .bound_bytes = end - free.address,
                                 .exact = false,
                                 .waiting = waiting,
                                 .freed = true,
                                 .end_stack = free.stack,
                                 .user_metadata = 0,
                                 .requested_bytes = free.size_bytes,
                                 .stream = free.stream,
                                 .pool = free.pool});
        return true;
    }

    // ---- entries
    Part undo(size_t at) {
        const TraceEntry& entry = trace_[at];
        const auto part = [](bool holds) { return holds ? Part::plain : Part::skipped; };
        switch (entry.action) {
            case Action::alloc:
                return part(undo_alloc(at));
            case Action::free_requested:
                return undo_request(entry);
            case Action::free_completed:
                ++completed_count_;
                return part(put_freed(entry, true));
            case Action::segment_alloc:
                return part(undo_segment(at));
            case Action::segment_free:
                return part(put_back(entry, false));
            case Action::segment_map:
                return part(undo_map(at));
            case Action::segment_unmap:
                return part(put_back(entry, true));
            case Action::snapshot:
            case Action::oom:
            case Action::annotate:
            case Action::unknown:
                break;
        }
        return Part::plain;
    }

    bool undo_alloc(size_t at) {
        const TraceEntry& entry = trace_[at];
        const auto found = lives_.find(entry.address);
        if (found == lives_.end()) return false;
        const Life& life = found->second;
        if (least_granted_bytes(entry.size_bytes) > life.bound_bytes) return false;
        if (life.freed && life.end_stack != 0 && entry.stack != 0)
            ++(life.end_stack == entry.stack ? same_stack_count_ : other_stack_count_);
        const auto* const region = regions_.holding(entry.address, 1);
        out_.facts[at] = {life.bound_bytes, life.exact,
                          region == nullptr ? kPoolUnknown : region->second.pool};
        lives_.erase(found);
        return true;
    }

    Part undo_request(const TraceEntry& entry) {
        ++requested_count_;
        const auto found = lives_.find(entry.address);
        if (found == lives_.end()) return put_freed(entry, false) ? Part::ends_at_once : Part::skipped;
        if (!found->second.waiting) return Part::skipped;
        found->second.waiting = false;
        return Part::plain;
    }

    bool undo_segment(size_t at) {
        const TraceEntry& entry = trace_[at];
        const auto* const found = regions_.at(entry.address);
        if (found == nullptr || found->second.expandable || found->second.size_bytes != entry.size_bytes ||
            !is_free_of_blocks(entry.address, entry.size_bytes))
            return false;
        out_.facts[at].pool = found->second.pool;
        regions_.cut(entry.address, entry.size_bytes);
        return true;
    }

    bool undo_map(size_t at) {
        const TraceEntry& entry = trace_[at];
        const auto* const region = regions_.holding(entry.address, entry.size_bytes);
        if (region == nullptr || !region->second.expandable || entry.size_bytes == 0 ||
            !is_free_of_blocks(entry.address, entry.size_bytes))
            return false;
        out_.facts[at].pool = region->second.pool;
        bound_before(entry.address);
        regions_.cut(entry.address, entry.size_bytes);
        return true;
    }

    bool put_back(const TraceEntry& entry, bool expandable) {
        if (entry.size_bytes == 0 || entry.address > ~entry.size_bytes ||
            entry.size_bytes > kReserved_bytes_most - regions_.sum_bytes() ||
            regions_.overlaps(entry.address, entry.size_bytes))
            return false;
        regions_.put(entry.address, {.size_bytes = entry.size_bytes,
                                     .stream = entry.stream,
                                     .pool = entry.pool,
                                     .stack = 0,  // its own is of the free
                                     .expandable = expandable});
        return true;
    }

    // Whether the history was told without the requests of frees: then a block that is freed waits for
    // nothing. One lone entry is a trace that was cut behind the request.
    bool tells_no_requests() const { return requested_count_ == 0 && completed_count_ > 1; }
    // The stack of a free is that of its block's birth, unless stacks were taken at frees too.
    bool frees_tell_births() const { return same_stack_count_ != 0 && other_stack_count_ == 0; }

    const std::vector<TraceEntry>& trace_;
    Regions regions_;
    Lives lives_;
    RolledBack out_;
    uint64_t requested_count_ = 0, completed_count_ = 0;
    uint64_t same_stack_count_ = 0, other_stack_count_ = 0;
};

}  // namespace

RolledBack roll_back(const std::vector<Segment>& segments, const std::vector<Block>& blocks,
                     const std::vector<TraceEntry>& trace) {
    return Walk(segments, blocks, trace).run();
}

}  // namespace memsnap::snapshot
