// SPDX-License-Identifier: Apache-2.0
//
// The rules over blocks, totals and single records. Rule: overlaps are found among address-sorted intervals,
// totals by sums over tickets.
#include "validate.h"

#include <array>
#include <set>

#include "regions.h"
#include "thresholds.h"

namespace oracle {
namespace {

// In the order in which one event's broken rules are named.
constexpr std::array<std::string_view, 18> kRules{
    "link_order",       "birth_missing",    "block_size",
    "block_live_twice", "block_overlap",    "block_outside_segment",
    "free_unmatched",   "free_mismatch",    "totals_allocated",
    "totals_reserved",  "table_check",      "table_duplicate",
    "table_birth",      "table_death",      "table_lag",
    "table_end",        "object_unmatched", "object_end"};

// The table's entries are judged before the events, the table as the window's end after them.
int stage(std::string_view rule) {
    if (rule == "table_end" || rule == "object_end") return 2;
    return rule.starts_with("table_") ? 0 : 1;
}

bool only_counted(std::string_view rule) {
    return rule == "object_unmatched" || rule == "object_end" || rule == "segment_overlap";
}

std::size_t rank(std::string_view rule) {
    return static_cast<std::size_t>(std::find(kRules.begin(), kRules.end(), rule) - kRules.begin());
}

void find_overlaps(std::vector<Life>& lives, std::vector<Issue>& issues) {
    std::map<u64, std::size_t> there;
    for (std::size_t i = 0; i < lives.size(); ++i) {  // sorted by `from`
        auto& block = lives[i];
        if (block.object != kBlock || block.size == 0) continue;
        bool overlaps = false;
        auto at = there.lower_bound(block.address);
        while (at != there.begin()) {
            auto before = std::prev(at);
            if (lives[before->second].death <= block.from) {
                there.erase(before);
                continue;
            }
            if (lives[before->second].end() > block.address) at = before;
            break;
        }
        while (at != there.end() && at->first < block.end()) {
            auto& other = lives[at->second];
            if (other.death > block.from) {
                overlaps = true;
                if (other.from == block.from) break;  // both were there at B: neither ends the other
                // The free that comes later then finds nothing.
                if (other.freed) issues.push_back({"free_unmatched", other.death, other.offset});
                other.death = block.from;
                other.freed = false;
            }
            at = there.erase(at);
        }
        if (overlaps && block.in_window) issues.push_back({"block_overlap", block.from, block.offset});
        there[block.address] = i;
    }
}

// An event that breaks a block's rule is named for that alone; the totals are compared anew after it.
void compare_totals(const Recording& recording, const std::vector<Life>& lives, const std::set<u64>& broken,
                    std::vector<Issue>& issues) {
    struct Change {
        u64 ticket;
        int device;
        Int bytes;
    };
    std::vector<Change> changes;
    for (const auto& life : lives) {
        if (life.object != kBlock) continue;
        changes.push_back({life.from, life.device, life.size});
        if (life.death != kNoTicket) changes.push_back({life.death, life.device, -Int{life.size}});
    }
    std::stable_sort(changes.begin(), changes.end(),
                     [](const Change& a, const Change& b) { return a.ticket < b.ticket; });
    std::map<int, Int> live, difference;
    auto change = changes.begin();
    for (const auto& event : recording.events) {
        for (; change != changes.end() && change->ticket <= event.ticket; ++change)
            live[change->device] += change->bytes;
        if (!event.is_report()) continue;
        Int now = Int{event.allocated_bytes} - live[event.device];
        if (now != difference[event.device] && !broken.contains(event.ticket))
            issues.push_back({"totals_allocated", event.ticket, event.offset});
        difference[event.device] = now;
        if (event.reserved_bytes < event.allocated_bytes)
            issues.push_back({"totals_reserved", event.ticket, event.offset});
    }
}

u64 certain_until(const File& file) {
    const auto& header = file.header;
    bool uncertain = header.counters[kLost] != 0 || header.counters[kLapped] != 0 || header.late() ||
                     file.without_window || !file.table_complete || file.copied_while_written ||
                     (!file.missing.empty() && file.begin > 0);
    if (uncertain) return 0;
    u64 until = file.missing.empty() ? kNoTicket : file.missing.front().first;
    if (header.incomplete_from != 0) until = std::min(until, header.incomplete_from - 1);
    return until;
}

}  // namespace

std::vector<Issue> check_records(const Recording& recording) {
    std::vector<Issue> issues;
    for (const auto& event : recording.events) {
        bool free = event.kind == kBlockFree || event.kind == kFree || event.kind == kFreeFail;
        if (free && event.link != kNoTicket && event.link >= event.ticket)
            issues.push_back({"link_order", event.ticket, event.offset});
        if (is_death(event) && event.has(kBirthFollows)) {
            const auto* next = recording.at(event.ticket + 1);
            if (next != nullptr && (next->kind != kBirth || next->address != event.address))
                issues.push_back({"birth_missing", event.ticket, event.offset});
        }
        if (event.kind == kBlockAlloc || event.kind == kInitial) {
            bool odd = event.size == 0 || event.size % thresholds::kGranuleBytes != 0 ||
                       Int{event.size} >= thresholds::kCorruptRequestBytes ||
                       event.size > kNoTicket - event.address;
            if (odd) issues.push_back({"block_size", event.ticket, event.offset});
        }
    }
    return issues;
}

std::vector<Issue> check_overlaps(std::vector<Life>& lives) {
    std::vector<Issue> issues;
    find_overlaps(lives, issues);
    return issues;
}

std::vector<Issue> check_totals(const Recording& recording, const std::vector<Life>& lives,
                                const std::vector<Issue>& of_blocks) {
    std::set<u64> broken;
    for (const auto& issue : of_blocks)
        broken.insert(issue.ticket);
    std::vector<Issue> issues;
    compare_totals(recording, lives, broken, issues);
    return issues;
}

std::vector<Issue> check_block_regions(const std::vector<Life>& lives, const std::vector<Region>& regions) {
    std::vector<Issue> issues;
    struct Item {
        u64 ticket;
        int order;  // deaths, then births of regions, then blocks
        std::size_t index;
    };
    std::vector<Item> items;
    for (std::size_t i = 0; i < regions.size(); ++i) {
        items.push_back({regions[i].from, 1, i});
        if (regions[i].death != kNoTicket) items.push_back({regions[i].death, 0, i});
    }
    for (std::size_t i = 0; i < lives.size(); ++i) {
        if (lives[i].object == kBlock && lives[i].in_window) items.push_back({lives[i].from, 2, i});
    }
    std::stable_sort(items.begin(), items.end(), [](const Item& a, const Item& b) {
        return std::tuple(a.ticket, a.order) < std::tuple(b.ticket, b.order);
    });
    std::map<u64, std::size_t> alive;
    for (const auto& item : items) {
        if (item.order == 1) alive[regions[item.index].begin] = item.index;
        if (item.order == 0) {
            auto found = alive.find(regions[item.index].begin);
            if (found != alive.end() && found->second == item.index) alive.erase(found);
        }
        if (item.order != 2) continue;
        const auto& block = lives[item.index];
        auto at = alive.upper_bound(block.address);
        if (at == alive.begin()) continue;
        --at;
        u64 end = regions[at->second].end;
        if (end <= block.address) continue;
        auto torch_mapping = [&](const Region& region) { return region.mapping && !region.foreign; };
        for (auto next = std::next(at); torch_mapping(regions[at->second]) && next != alive.end(); ++next) {
            const auto& region = regions[next->second];
            if (region.begin != end || !torch_mapping(region) || region.device != regions[at->second].device)
                break;
            end = region.end;
        }
        if (block.end() > end) issues.push_back({"block_outside_segment", block.from, block.offset});
    }
    return issues;
}

Expected<Tolerated> judge(const File& file, std::vector<Issue> issues) {
    std::stable_sort(issues.begin(), issues.end(), [](const Issue& a, const Issue& b) {
        return std::tuple(stage(a.rule), a.ticket, rank(a.rule)) <
               std::tuple(stage(b.rule), b.ticket, rank(b.rule));
    });
    Tolerated tolerated;
    u64 until = certain_until(file);
    for (const auto& issue : issues) {
        // An entry is sealed before it is live: no loss explains a wrong check, only a copy does.
        bool broken = issue.rule == "table_check" ? !file.copied_while_written
                                                  : !only_counted(issue.rule) && issue.ticket < until;
        if (broken) return corrupt(std::string(issue.rule), issue.ticket, issue.offset);
        if (stage(issue.rule) != 0) ++tolerated[std::string(issue.rule)];
    }
    return tolerated;
}

}  // namespace oracle
