// SPDX-License-Identifier: Apache-2.0
//
// Cuts the lives of foreign objects and handles into pieces. Rule: a foreign region stops counting when a
// block is reported in it.
#include "outside.h"

#include <map>
#include <unordered_map>

namespace oracle {
namespace {

struct Interval {
    u64 from;
    u64 to;
};

// The parts of the union of `there` that no interval of `hidden` covers.
std::vector<Interval> visible(const std::vector<Interval>& there, const std::vector<Interval>& hidden) {
    std::map<u64, std::pair<int, int>> changes;
    for (auto [from, to] : there) {
        ++changes[from].first;
        --changes[to].first;
    }
    for (auto [from, to] : hidden) {
        ++changes[from].second;
        --changes[to].second;
    }
    std::vector<Interval> parts;
    int open_there = 0, open_hidden = 0;
    bool open = false;
    for (const auto& [ticket, change] : changes) {
        open_there += change.first;
        open_hidden += change.second;
        bool now = open_there > 0 && open_hidden == 0;
        if (now && !open) parts.push_back({ticket, kNoTicket});
        if (!now && open) parts.back().to = ticket;
        open = now;
    }
    return parts;
}

}  // namespace

Pieces cut_pieces(const Recording& recording, const std::vector<Life>& lives, const Regions& regions) {
    std::unordered_map<std::size_t, const Region*> region_of;
    for (const auto& region : regions.all)
        region_of[region.life] = &region;
    Pieces pieces;
    struct Handle {
        std::vector<const Life*> created, references;
        std::vector<std::size_t> mappings;
    };
    std::unordered_map<u64, Handle> handles;
    for (std::size_t i = 0; i < lives.size(); ++i) {
        const auto& life = lives[i];
        if (life.object == kHandle) {
            handles[life.address].references.push_back(&life);
            if (life.call == kCallMemCreate) handles[life.address].created.push_back(&life);
        }
        if (life.object == kMapping && life.handle != kNoTicket) handles[life.handle].mappings.push_back(i);
        bool counts = (life.object == kDevice || life.object == kArray || life.object == kAsync) &&
                      life.size != 0 && !is_imported(life);
        if (!counts) continue;
        // What PyTorch's allocator holds in it is not outside, as long as its region stands.
        u64 hidden_from = kNoTicket, hidden_to = kNoTicket;
        if (auto region = region_of.find(i); region != region_of.end()) {
            hidden_from = region->second->foreign ? region->second->segment_since : life.from;
            hidden_to = region->second->death;
        }
        auto add = [&](u64 from, u64 to) {
            if (to > from)
                pieces.outside.push_back({from, to, life.birth, life.size, life.library, life.device});
        };
        add(life.from, std::min(life.death, hidden_from));
        if (hidden_from < life.death) add(std::max(life.from, hidden_to), life.death);
    }
    for (auto& [key, handle] : handles) {
        // A refused release leaves a second part of the same creation.
        auto earlier = [](const Life* a, const Life* b) {
            return std::tuple(a->birth, a->from) < std::tuple(b->birth, b->from);
        };
        std::sort(handle.created.begin(), handle.created.end(), earlier);
        // The creating reference may have ended before the window: the oldest one that is left stands for it.
        auto oldest = std::min_element(handle.references.begin(), handle.references.end(), earlier);
        bool created_before = oldest != handle.references.end() &&
                              (handle.created.empty() || (*oldest)->birth < handle.created.front()->birth);
        if (created_before) handle.created.insert(handle.created.begin(), *oldest);
        for (std::size_t i = 0; i < handle.created.size(); ++i) {
            const auto& created = *handle.created[i];
            if (i > 0 && handle.created[i - 1]->birth == created.birth) continue;
            u64 next = kNoTicket;
            for (std::size_t j = i + 1; j < handle.created.size() && next == kNoTicket; ++j) {
                if (handle.created[j]->birth != created.birth) next = handle.created[j]->birth;
            }
            if (is_imported(created) || created.size == 0) continue;
            std::vector<Interval> referred, mapped, behind;
            auto of_this = [&](u64 birth) { return birth >= created.birth && birth < next; };
            for (const auto* reference : handle.references) {
                if (of_this(reference->birth)) referred.push_back({reference->from, reference->death});
            }
            for (auto index : handle.mappings) {
                const auto& mapping = lives[index];
                if (!of_this(mapping.birth)) continue;
                mapped.push_back({mapping.from, mapping.death});
                auto region = region_of.find(index);
                if (region == region_of.end()) continue;
                u64 since = std::max(mapping.from, region->second->segment_since);
                if (since < mapping.death) behind.push_back({since, mapping.death});
            }
            auto add = [&](std::vector<Piece>& to_these, const std::vector<Interval>& parts) {
                for (auto [from, to] : parts)
                    to_these.push_back(
                        {from, to, created.birth, created.size, created.library, created.device});
            };
            if (recording.by_allocator(created.flags, created.library)) {
                add(pieces.unmapped, visible(referred, mapped));
            } else {
                auto there = referred;
                there.insert(there.end(), mapped.begin(), mapped.end());
                add(pieces.outside, visible(there, behind));
            }
        }
    }
    return pieces;
}

}  // namespace oracle
