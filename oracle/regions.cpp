// SPDX-License-Identifier: Apache-2.0
//
// The fold that settles regions. Rule: at a report its own block is entered first; then the gap between the
// reported reserved total and the segments tells what the candidates are.
#include "regions.h"

#include <unordered_map>

#include "thresholds.h"

namespace oracle {
namespace {

// The order of what happens at one ticket; deaths of a ticket come before what is told or reported at it.
enum class Step : u8 {
    kDeath,
    kRegionBirth,
    kBlockBirth,
    kEvent
};

struct Item {
    u64 ticket;
    Step step;
    std::size_t index;  // a region's, a life's or an event's
};

struct Sums {
    Int segments = 0;
    Int candidates = 0;
    Int direct = 0;
    Int gap = 0;  // after the last report
    u64 last_report = kNoTicket;

    Int held() const { return gap + segments + candidates + direct; }
};

bool tells_of_segment(u8 kind) {
    return kind == kTapSegmentAlloc || kind == kTapSegmentMap;
}

class Settler {
  public:
    Settler(const Recording& recording, const std::vector<Life>& lives)
        : recording_(recording), lives_(lives) {}

    Regions settle() {
        collect_handles();
        collect_regions();
        std::vector<Item> items;
        for (std::size_t i = 0; i < regions_.all.size(); ++i)
            items.push_back({regions_.all[i].from, Step::kRegionBirth, i});
        for (std::size_t i = 0; i < regions_.all.size(); ++i) {
            if (regions_.all[i].death != kNoTicket) items.push_back({regions_.all[i].death, Step::kDeath, i});
        }
        for (std::size_t i = 0; i < lives_.size(); ++i) {
            if (lives_[i].object == kBlock) items.push_back({lives_[i].from, Step::kBlockBirth, i});
        }
        for (std::size_t i = 0; i < recording_.events.size(); ++i) {
            const auto& event = recording_.events[i];
            if (event.is_report() || tells_of_segment(event.kind))
                items.push_back({event.ticket, Step::kEvent, i});
        }
        std::stable_sort(items.begin(), items.end(), [](const Item& a, const Item& b) {
            return std::tuple(a.ticket, a.step) < std::tuple(b.ticket, b.step);
        });
        for (const auto& item : items) {
            apply(item);
            note_held(item.ticket);
        }
        return std::move(regions_);
    }

  private:
    void collect_handles() {
        for (const auto& life : lives_) {
            if (life.object == kHandle) handles_[life.address].push_back(&life);
        }
    }

    // The handle of a mapping: the youngest reference to it that is not younger than the mapping.
    const Life* handle_of(const Life& mapping) const {
        auto found = handles_.find(mapping.handle);
        const Life* best = nullptr;
        if (mapping.handle == kNoTicket || found == handles_.end()) return best;
        for (const auto* life : found->second) {
            if (life->from <= mapping.from &&
                (best == nullptr || life->birth > best->birth || best->birth == kNoTicket))
                best = life;
        }
        return best;
    }

    void collect_regions() {
        for (std::size_t i = 0; i < lives_.size(); ++i) {
            const auto& life = lives_[i];
            bool torch = recording_.by_allocator(life.flags, life.library);
            bool kind = life.object == kDevice || life.object == kMapping || (life.object == kAsync && torch);
            if (!kind || life.size == 0 || is_imported(life)) continue;
            Region region;
            region.life = i;
            region.device = life.device;
            region.mapping = life.object == kMapping;
            if (region.mapping) {
                const auto* handle = handle_of(life);
                if (handle != nullptr && is_imported(*handle)) continue;
                if (region.device < 0 && handle != nullptr) region.device = handle->device;
            }
            // No call made a device allocation that the allocator told at a late start.
            bool told = (life.object == kDevice && life.call == 0) ||
                        (life.in_window && recording_.at(life.from) != nullptr &&
                         recording_.at(life.from)->kind == kInitialSegment);
            region.begin = life.address;
            region.end = life.end();
            region.from = life.from;
            region.death = life.death;
            region.foreign = !torch && !told;
            if (told || (region.mapping && torch)) region.segment_since = region.from;
            regions_.all.push_back(region);
        }
    }

    Int* sum_of(const Region& region, u64 ticket) {
        auto& sums = sums_[region.device];
        switch (region.status_at(ticket)) {
            case Status::kSegment:
                return &sums.segments;
            case Status::kCandidate:
                return &sums.candidates;
            case Status::kDirect:
                return &sums.direct;
            case Status::kForeign:
                break;
        }
        return nullptr;
    }
    void count(const Region& region, u64 ticket, int sign) {
        if (auto* sum = sum_of(region, ticket)) *sum += Int{region.size()} * sign;
    }

    // A region whose call did not know its device has that of what is reported inside it.
    void make_segment(Region& region, u64 ticket, int device) {
        if (region.segment_since <= ticket) return;
        count(region, ticket, -1);
        region.segment_since = ticket;
        if (region.device < 0) {
            region.device = device;
            region.device_is_told = true;
        }
        count(region, ticket, 1);
    }

    void end_region(std::size_t index, u64 ticket) {
        auto& region = regions_.all[index];
        auto found = alive_.find(region.begin);
        if (found == alive_.end() || found->second != index) return;
        count(region, ticket, -1);
        region.death = ticket;
        alive_.erase(found);
    }

    template <typename Visit>
    void for_overlapping(u64 begin, u64 end, Visit visit) {
        auto at = alive_.upper_bound(begin);
        if (at != alive_.begin() && regions_.all[std::prev(at)->second].end > begin) --at;
        std::vector<std::size_t> found;
        for (; at != alive_.end() && at->first < end; ++at)
            found.push_back(at->second);
        for (auto index : found)
            visit(index);
    }

    // The region and, of an expandable segment, every page that is contiguous with it: they share stream and
    // pool.
    std::vector<std::size_t> pages_of_segment(std::size_t index) const {
        std::vector<std::size_t> pages{index};
        auto joins = [&](std::size_t lower, std::size_t upper) {
            const auto &a = regions_.all[lower], &b = regions_.all[upper];
            return a.mapping && b.mapping && !a.foreign && !b.foreign && a.device == b.device &&
                   a.end == b.begin;
        };
        auto at = alive_.find(regions_.all[index].begin);
        if (at == alive_.end() || at->second != index) return pages;
        for (auto up = std::next(at); up != alive_.end() && joins(std::prev(up)->second, up->second); ++up)
            pages.push_back(up->second);
        for (auto down = at; down != alive_.begin() && joins(std::prev(down)->second, down->second); --down)
            pages.push_back(std::prev(down)->second);
        return pages;
    }

    void apply(const Item& item) {
        switch (item.step) {
            case Step::kDeath:
                return end_region(item.index, item.ticket);
            case Step::kRegionBirth:
                return bear(item.index, item.ticket);
            case Step::kBlockBirth:
                return enter_block(lives_[item.index], item.ticket);
            case Step::kEvent:
                return take(recording_.events[item.index]);
        }
    }

    void bear(std::size_t index, u64 ticket) {
        const auto& region = regions_.all[index];
        for_overlapping(region.begin, region.end, [&](std::size_t other) {
            regions_.issues.push_back({"segment_overlap", ticket, lives_[region.life].offset});
            end_region(other, ticket);
        });
        alive_[region.begin] = index;
        count(region, ticket, 1);
        for (auto page : pages_of_segment(index)) {
            if (page == index || regions_.all[page].told.empty()) continue;
            regions_.all[index].told = regions_.all[page].told;
            break;
        }
    }

    void enter_block(const Life& block, u64 ticket) {
        for_overlapping(block.address, block.address == kNoTicket ? kNoTicket : block.address + 1,
                        [&](std::size_t index) {
                            auto& region = regions_.all[index];
                            make_segment(region, ticket, block.device);
                            if (block.size > thresholds::kSmallRequestBytes)
                                region.large_since = std::min(region.large_since, ticket);
                        });
    }

    void take(const Event& event) {
        if (tells_of_segment(event.kind)) {
            // The first byte names the segment, whatever became of the rest.
            u64 end = event.address == kNoTicket ? kNoTicket : event.address + 1;
            for_overlapping(event.address, end, [&](std::size_t index) {
                make_segment(regions_.all[index], event.ticket, event.device);
                for (auto page : pages_of_segment(index))
                    regions_.all[page].told.push_back({event.ticket, event.extra, event.extra16});
            });
            return;
        }
        settle(event, sums_[event.device]);
    }

    void note_held(u64 ticket) {
        for (const auto& [device, sums] : sums_) {
            auto& changes = regions_.held[device];
            Int before = changes.empty() ? Int{0} : changes.back().second;
            if (sums.held() != before) changes.emplace_back(ticket, sums.held());
        }
    }

    void settle(const Event& report, Sums& sums) {
        Int gap = Int{report.reserved_bytes} - sums.segments;
        Int risen = gap - sums.gap;
        Int candidates = sums.candidates;
        if (candidates > 0) {
            bool all = gap == candidates || risen == candidates;
            for (auto [begin, index] : alive_) {
                auto& region = regions_.all[index];
                if (region.device != report.device || region.status_at(report.ticket) != Status::kCandidate)
                    continue;
                bool new_one = sums.last_report != kNoTicket && region.from > sums.last_report;
                if (all) {
                    make_segment(region, report.ticket, report.device);
                } else if (gap == 0 || (risen == 0 && new_one)) {
                    count(region, report.ticket, -1);
                    region.direct_since = report.ticket;
                    count(region, report.ticket, 1);
                }
            }
        }
        sums.gap = Int{report.reserved_bytes} - sums.segments;
        sums.last_report = report.ticket;
    }

    const Recording& recording_;
    const std::vector<Life>& lives_;
    Regions regions_;
    std::unordered_map<u64, std::vector<const Life*>> handles_;
    std::map<u64, std::size_t> alive_;  // by begin; disjoint
    std::map<int, Sums> sums_;
};

}  // namespace

bool is_imported(const Life& life) {
    bool imported_handle = life.object == kHandle && life.call == kCallMemImport;
    return life.object == kImport || imported_handle || (life.flags & kImported) != 0;
}

Regions build_regions(const Recording& recording, const std::vector<Life>& lives) {
    return Settler(recording, lives).settle();
}

Int Regions::sum(int device, Status status, u64 ticket) const {
    Int sum = 0;
    for (const auto& region : all) {
        if (region.is_on(device, ticket) && region.alive_at(ticket) && region.status_at(ticket) == status)
            sum += region.size();
    }
    return sum;
}

Int Regions::held_at(int device, u64 ticket) const {
    auto changes = held.find(device);
    if (changes == held.end()) return 0;
    auto after =
        std::upper_bound(changes->second.begin(), changes->second.end(), ticket,
                         [](u64 wanted, const std::pair<u64, Int>& change) { return wanted < change.first; });
    return after == changes->second.begin() ? Int{0} : std::prev(after)->second;
}

}  // namespace oracle
