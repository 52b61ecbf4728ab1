// SPDX-License-Identifier: Apache-2.0
//
// The ledger at the cut's begin, made shorter. Blocks of a run (no free extent between them) may change
// places: no extent changes by that.
#include "cut_state.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "extent.h"
#include "ledger.h"
#include "window_builder.h"

namespace memsnap {
namespace {

class Stater {
  public:
    Stater(const CutSource& source, const CutChoice& choice, bool merge, uint64_t blocks_a_filler)
        : source_(source),
          choice_(choice),
          merge_(merge),
          blocks_a_filler_(blocks_a_filler),
          ledger_(source.window()) {
        source.window().events.for_each(source.window().events.begin_ticket(), choice.begin_ticket,
                                        [&](const Event& event) {
                                            Change change;
                                            ledger_.apply(event, change);
                                            return true;
                                        });
        kept_since_ticket_ = source.kept_since_ticket().value_or(0);
        note_touched();
        sort_objects();
    }

    CutState run() {
        state_.step_count = ledger_.step_count();
        ledger_.for_each_segment(source_.device(), [&](const Segment& segment) {
            if (segment.state != SegmentState::foreign) add_region(segment);
        });
        place_blocks();
        if (merge_) make_fillers();
        for (StatedRegion& region : state_.regions) {
            const uint64_t limit_bytes =
                large_.contains(region.address) ? UINT64_MAX : kSmallRequestLimit_bytes;
            if (merge_ && !region.filler) region.blocks = merged(region.blocks, limit_bytes);
        }
        if (merge_) state_.loose = merged(state_.loose, UINT64_MAX);
        add_foreign();
        return std::move(state_);
    }

  private:
    void note_touched() {
        for (const Event& event : choice_.events) {
            const bool is_tap =
                event.kind >= Kind::tap_free_requested && event.kind <= Kind::tap_segment_unmap;
            if (event.kind == Kind::block_free || event.kind == Kind::free)
                touched_births_.insert(event.birth_ticket());
            if (event.kind == Kind::block_free || event.kind == Kind::block_alloc ||
                event.kind == Kind::initial || event.kind == Kind::free || is_tap)
                touched_addresses_.push_back(event.address);
        }
        for (const DeferredBlock& block : ledger_.deferred())
            touched_addresses_.push_back(block.address);
        std::ranges::sort(touched_addresses_);
    }

    bool touched(uint64_t begin, uint64_t end) const {
        const auto first = std::ranges::lower_bound(touched_addresses_, begin);
        return first != touched_addresses_.end() && *first < end;
    }

    void sort_objects() {
        ledger_.for_each_object([&](const DriverObject& object) {
            if (object.device != source_.device()) return;
            objects_[object.birth_ticket] = object;
            if (object.object == Object::mapping && !object.imported()) mappings_[object.address] = object;
        });
    }

    void add_region(const Segment& segment) {
        StatedRegion region;
        region.address = segment.address;
        region.size_bytes = segment.size_bytes;
        region.birth_ticket = segment.birth_ticket;
        region.expandable = segment.kind == SegmentKind::expandable;
        const auto object = objects_.find(segment.birth_ticket);
        const bool pooled = object != objects_.end() && object->second.object == Object::async;
        if (pooled) region.op = object->second.op;
        if (segment.tap_known) {
            region.stream = segment.stream;
            region.pool = segment.pool;
        }
        if (region.expandable) add_mappings(region);
        if (segment.largest_block_bytes > kSmallRequestLimit_bytes) large_.insert(segment.address);
        state_.regions.push_back(std::move(region));
    }

    // The lowest mapping tells the granule; what the events unmap stands alone; the rest is as one.
    void add_mappings(StatedRegion& region) const {
        for (auto at = mappings_.lower_bound(region.address);
             at != mappings_.end() && at->first < region.end(); ++at) {
            const DriverObject& object = at->second;
            const StatedMapping mapping{object.address, object.size_bytes, object.birth_ticket};
            const bool alone = touched_births_.contains(object.birth_ticket);
            const bool joins = region.mappings.size() > 1 && !alone &&
                               !touched_births_.contains(region.mappings.back().birth_ticket);
            if (!joins) {
                region.mappings.push_back(mapping);
                continue;
            }
            StatedMapping& last = region.mappings.back();
            last.size_bytes += mapping.size_bytes;
            last.birth_ticket = std::min(last.birth_ticket, mapping.birth_ticket);
            ++last.count;
        }
        if (region.mappings.empty())
            region.mappings.push_back({region.address, region.size_bytes, region.birth_ticket});
    }

    void place_blocks() {
        std::vector<StatedBlock> blocks;
        ledger_.for_each_block(source_.device(), [&](const Block& block) {
            blocks.push_back({.address = block.address,
                              .size_bytes = block.size_bytes,
                              .birth_ticket = block.birth_ticket,
                              .site = block.site,
                              .step = block.step,
                              .phase = block.phase});
            state_.active_bytes += block.size_bytes;
            state_.latest_birth_step = std::max(state_.latest_birth_step, block.step);
        });
        for (const DeferredBlock& block : ledger_.deferred()) {
            if (block.device != source_.device()) continue;
            StatedBlock stated;
            stated.address = block.address;
            stated.size_bytes = block.size_bytes;
            stated.deferred = true;
            state_.deferred_bytes += block.size_bytes;
            blocks.push_back(stated);
        }
        std::ranges::sort(blocks, {}, &StatedBlock::address);
        auto region = state_.regions.begin();
        for (StatedBlock& block : blocks) {
            while (region != state_.regions.end() && region->end() <= block.address)
                ++region;
            const bool inside = region != state_.regions.end() && region->address <= block.address;
            (inside ? region->blocks : state_.loose).push_back(block);
        }
    }

    // Blocks that no status tells apart.
    using Key = std::tuple<uint64_t, uint64_t, size_t, bool, bool, uint32_t, uint16_t>;
    Key key_of(const StatedBlock& block) const {
        const std::vector<MatchedPoint>& points = source_.incident.boundaries.points;
        const auto after = std::ranges::lower_bound(points, block.birth_ticket, {}, &MatchedPoint::ticket);
        return {block.site,
                block.site == 0 ? block.size_bytes : 0,
                static_cast<size_t>(after - points.begin()),
                block.birth_ticket < kept_since_ticket_,
                block.birth_ticket < source_.capture.header.initial_until_ticket,
                block.step,
                block.phase};
    }

    // Where survivors are judged by site, a block without a stack is its size.
    bool may_merge(const StatedBlock& block) const {
        const GrowthBasis basis = source_.incident.evidence.growth.basis;
        const bool bounded = basis == GrowthBasis::too_few || basis == GrowthBasis::lapped;
        return !block.deferred && (block.site != 0 || bounded) &&
               !touched(block.address, block.address + block.size_bytes);
    }

    // Equal blocks of one run as one each, in the order of their first; addresses from `at` on.
    void close_run(std::vector<StatedBlock>& run, uint64_t at, uint64_t limit_bytes,
                   std::vector<StatedBlock>& out) const {
        std::map<Key, size_t> open;
        std::vector<StatedBlock> groups;
        for (const StatedBlock& block : run) {
            const Key key = key_of(block);
            const auto found = open.find(key);
            const bool fits = found != open.end() && may_merge(block) &&
                              groups[found->second].size_bytes + block.size_bytes <= limit_bytes;
            if (!fits) {
                if (may_merge(block)) open[key] = groups.size();
                groups.push_back(block);
                continue;
            }
            StatedBlock& group = groups[found->second];
            group.size_bytes += block.size_bytes;
            group.birth_ticket = std::min(group.birth_ticket, block.birth_ticket);
            group.count += block.count;
        }
        for (StatedBlock& group : groups) {
            group.address = at;
            at += group.size_bytes;
            out.push_back(group);
        }
        run.clear();
    }

    std::vector<StatedBlock> merged(const std::vector<StatedBlock>& blocks, uint64_t limit_bytes) const {
        std::vector<StatedBlock> out;
        std::vector<StatedBlock> run;
        uint64_t begin = 0, end = 0;
        for (const StatedBlock& block : blocks) {
            const bool fixed = block.deferred || touched(block.address, block.address + block.size_bytes);
            if (fixed || run.empty() || block.address != end) {
                close_run(run, begin, limit_bytes, out);
                begin = block.address;
            }
            end = block.address + block.size_bytes;
            if (fixed) {
                out.push_back(block);
                begin = end;
            } else {
                if (run.empty()) begin = block.address;
                run.push_back(block);
            }
        }
        close_run(run, begin, limit_bytes, out);
        return out;
    }

    bool full(const StatedRegion& region) const {
        uint64_t bytes = 0;
        for (const StatedBlock& block : region.blocks)
            bytes += block.size_bytes;
        return bytes == region.size_bytes && !touched(region.address, region.end());
    }

    // All full segments' blocks as one run, cut into segments of as many blocks as one may have.
    void make_fillers() {
        std::vector<StatedBlock> blocks;
        uint64_t birth_ticket = kNoTicket, count = 0;
        std::erase_if(state_.regions, [&](const StatedRegion& region) {
            if (!full(region)) return false;
            blocks.insert(blocks.end(), region.blocks.begin(), region.blocks.end());
            birth_ticket = std::min(birth_ticket, region.birth_ticket);
            ++count;
            return true;
        });
        if (blocks.empty()) return;
        std::vector<StatedBlock> groups;
        close_run(blocks, 0, UINT64_MAX, groups);
        std::vector<StatedRegion> fillers;
        for (const StatedBlock& group : groups) {
            if (fillers.empty() || fillers.back().blocks.size() == blocks_a_filler_) {
                StatedRegion filler;
                filler.filler = true;
                filler.address = group.address;
                filler.birth_ticket = fillers.empty() ? birth_ticket : kNoTicket;
                filler.stands_for_count = fillers.empty() ? count : 0;
                fillers.push_back(filler);
            }
            fillers.back().blocks.push_back(group);
            fillers.back().size_bytes += group.size_bytes;
        }
        state_.regions.insert(state_.regions.begin(), fillers.begin(), fillers.end());
    }

    void add_foreign() {
        const uint64_t baseline_ticket = source_.incident.evidence.outside.baseline_ticket.value_or(0);
        std::map<uint16_t, StatedForeign> before, after;
        for (const ForeignBytes& held : ledger_.foreign(source_.device()))
            before[held.library] = {.size_bytes = held.bytes, .library = held.library, .count = held.count};
        ledger_.for_each_foreign(source_.device(), [&](const ForeignObject& object) {
            const uint64_t birth = object.birth_ticket;
            StatedForeign one{.size_bytes = object.size_bytes,
                              .birth_ticket = birth,
                              .address = object.address,
                              .library = object.library,
                              .op = object.op,
                              .alone = touched_births_.contains(birth)};
            StatedForeign& held = before[object.library];
            if (one.alone || birth > baseline_ticket) {
                held.size_bytes -= std::min(held.size_bytes, one.size_bytes);
                held.count -= std::min<uint64_t>(held.count, 1);
            }
            if (one.alone) {
                state_.foreign.push_back(one);
            } else if (birth > baseline_ticket) {
                StatedForeign& grown = after[object.library];
                grown.library = object.library;
                grown.birth_ticket = std::min(grown.birth_ticket, birth);
                grown.count = grown.size_bytes == 0 ? 1 : grown.count + 1;
                grown.size_bytes += one.size_bytes;
            }
        });
        for (const auto* sums : {&before, &after}) {
            for (const auto& [library, sum] : *sums) {
                if (sum.size_bytes != 0) state_.foreign.push_back(sum);
            }
        }
    }

    const CutSource& source_;
    const CutChoice& choice_;
    bool merge_;
    uint64_t blocks_a_filler_;
    Ledger ledger_;
    CutState state_;
    uint64_t kept_since_ticket_ = 0;
    std::unordered_set<uint64_t> touched_births_;
    std::vector<uint64_t> touched_addresses_;
    std::map<uint64_t, DriverObject> objects_;   // of the device, by birth
    std::map<uint64_t, DriverObject> mappings_;  // of them, by address
    std::unordered_set<uint64_t> large_;         // addresses of segments that had a large block
};

}  // namespace

CutState state_at(const CutSource& source, const CutChoice& choice, bool merge, uint64_t blocks_a_filler) {
    return Stater(source, choice, merge, blocks_a_filler).run();
}

}  // namespace memsnap
