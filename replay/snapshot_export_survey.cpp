// SPDX-License-Identifier: Apache-2.0
//
// One replay, in which each block asks for its segment and each report for what it settled.
#include "snapshot_export_survey.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "outside.h"
#include "replay.h"
#include "window_builder.h"

namespace memsnap {
namespace {

bool can_be_segment(Object object) {
    return object == Object::device || object == Object::mapping;
}

class Surveyor {
  public:
    explicit Surveyor(const Capture& capture) : capture_(capture) {
        for (const LiveObject& object : capture.window.objects) {
            if (object.live_at_begin) take_region(object, (object.flags & kFromTorch) != 0);
        }
    }

    // What was live before the first event.
    void take_begin(const Ledger& ledger) {
        for (int device = 0; device < kDeviceCapacity; ++device) {
            ledger.for_each_block(device, [&](const Block& block) { place(block, ledger); });
            settle(device, ledger);
        }
        for (const LiveObject& object : capture_.window.objects) {
            if (object.live_at_begin && object.object == Object::mapping)
                take_mapping(object.address, object.birth_ticket, ledger);
        }
    }

    void operator()(const Event& event, const Ledger& ledger, const Change& change) {
        if (is_observation(event)) ++survey_.observation_count;
        if (capture_.header.origin != Origin::recorder &&
            (event.kind == Kind::initial || event.kind == Kind::initial_segment))
            survey_.begin_ticket = event.ticket + 1;
        if (is_birth(event) && can_be_segment(object_of(event)))
            take_region({.address = event.address,
                         .size_bytes = event.size_bytes,
                         .birth_ticket = event.ticket,
                         .object = object_of(event),
                         .device = event.device,
                         .flags = event.flags},
                        event.has(kFromTorch));
        if (is_birth(event) && object_of(event) == Object::mapping)
            take_mapping(event.address, event.ticket, ledger);
        if (event.device < 0) return;
        if (change.born != nullptr) place(*change.born, ledger);
        if (event.has(kTotals) || event.kind == Kind::initial_segment ||
            event.kind == Kind::tap_segment_alloc)
            settle(event.device, ledger);
        if (event.kind == Kind::block_oom) use(event.device);
    }

    ExportSurvey take(const Ledger& ledger) {
        for (int device = 0; device < kDeviceCapacity; ++device) {
            ledger.for_each_segment(device, [&](const Segment& segment) {
                if (segment.state == SegmentState::segment) use(device);
            });
            join(survey_.unseen[static_cast<size_t>(device)]);
        }
        survey_.tap_seen = ledger.tap_seen();
        return std::move(survey_);
    }

  private:
    using Place = std::pair<uint64_t, uint64_t>;  // address, birth ticket

    void use(int device) { survey_.used[static_cast<size_t>(device)] = true; }

    void take_region(const LiveObject& object, bool from_torch) {
        if (object.object == Object::mapping && !from_torch) {
            foreign_pages_.insert_or_assign(object.address,
                                            Page{object.address + object.size_bytes, object.birth_ticket});
        } else if (object.device >= 0 && object.object == Object::mapping) {
            use(object.device);
        } else if (object.device >= 0 && object.object == Object::device) {
            if (from_torch || object.op == Op::none)
                candidates_[static_cast<size_t>(object.device)].emplace(object.address, object.birth_ticket);
        }
    }

    // What the ledger does not take for a region is memory of somebody else.
    void take_mapping(uint64_t address, uint64_t birth_ticket, const Ledger& ledger) {
        if (ledger.segment_of(address) == nullptr) survey_.foreign_mappings.insert(birth_ticket);
    }

    // Each block names the segment that it lies in, or shows where one must be.
    void place(const Block& block, const Ledger& ledger) {
        if (block.device < 0) return;
        use(block.device);
        const Segment* const segment = ledger.segment_of(block.address);
        if (segment != nullptr && block.end() <= segment->end()) {
            if (segment->kind == SegmentKind::native) {
                survey_.segment_births.insert(segment->birth_ticket);
                return;
            }
            const auto page = foreign_page(block);
            if (!page) return;
            if (page->end >= block.end()) {
                survey_.segment_births.insert(page->birth_ticket);
                return;
            }
        }
        std::map<uint64_t, uint64_t>& unseen = survey_.unseen[static_cast<size_t>(block.device)];
        uint64_t& end = unseen[block.address];
        end = std::max(end, block.end());
    }

    struct Page {
        uint64_t end = 0;
        uint64_t birth_ticket = 0;
    };
    std::optional<Page> foreign_page(const Block& block) const {
        const auto behind = foreign_pages_.upper_bound(block.address);
        if (behind == foreign_pages_.begin()) return std::nullopt;
        const Page& page = std::prev(behind)->second;
        return page.end > block.address ? std::optional(page) : std::nullopt;
    }

    // What became of the allocations that were open so far.
    void settle(int device, const Ledger& ledger) {
        std::set<Place>& candidates = candidates_[static_cast<size_t>(device)];
        if (candidates.empty()) return;
        std::erase_if(candidates, [&](const Place& candidate) {
            const Segment* const segment = ledger.segment_of(candidate.first);
            if (segment == nullptr || segment->birth_ticket != candidate.second) return true;
            if (segment->state == SegmentState::segment) {
                survey_.segment_births.insert(candidate.second);
                use(device);
            }
            return segment->state != SegmentState::candidate;
        });
    }

    static void join(std::map<uint64_t, uint64_t>& ranges) {
        for (auto at = ranges.begin(); at != ranges.end();) {
            const auto next = std::next(at);
            if (next == ranges.end()) break;
            if (next->first > at->second) {
                at = next;
            } else {
                at->second = std::max(at->second, next->second);
                ranges.erase(next);
            }
        }
    }

    const Capture& capture_;
    ExportSurvey survey_;
    std::array<std::set<Place>, kDeviceCapacity> candidates_;
    std::map<uint64_t, Page> foreign_pages_;
};

}  // namespace

int ExportSurvey::device_count() const {
    int count = 0;
    for (int device = 0; device < kDeviceCapacity; ++device) {
        if (used[static_cast<size_t>(device)]) count = device + 1;
    }
    return count;
}

bool ExportSurvey::is_segment(uint64_t birth_ticket, Object object, bool from_torch) const {
    if (object == Object::mapping && from_torch) return !foreign_mappings.contains(birth_ticket);
    return can_be_segment(object) && segment_births.contains(birth_ticket);
}

Result<ExportSurvey> survey(const Capture& capture) {
    Surveyor surveyor(capture);
    Ledger ledger(capture.window);
    surveyor.take_begin(ledger);
    if (auto outcome = replay(capture, capture.window, ledger, surveyor); !outcome)
        return failure(std::move(outcome.error()));
    return surveyor.take(ledger);
}

}  // namespace memsnap
