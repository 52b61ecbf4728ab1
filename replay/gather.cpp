// SPDX-License-Identifier: Apache-2.0
//
// One failure's evidence, part by part.
#include "gather.h"

#include <algorithm>

#include "growth.h"
#include "policy.h"

namespace memsnap {
namespace {

struct Range {
    uint64_t begin = 0;
    uint64_t end = 0;
};

class Gatherer {
  public:
    Gatherer(const Vantage& vantage, const Failure& failure, const Ledger& ledger, const Matched& matched,
             const ObservationLog& log)
        : vantage_(vantage),
          failure_(failure),
          event_(failure.event),
          ledger_(ledger),
          matched_(matched),
          log_(log),
          totals_(ledger.device(failure.event.device)) {}

    Gathered run(std::optional<uint64_t> kept_since_ticket) {
        Evidence& evidence = gathered_.evidence;
        evidence.device = event_.device;
        evidence.allocator = failure_.allocator;
        // What PyTorch's tools tell of leaves out calls that were refused.
        const bool path_hooked =
            totals_.segment_bytes > 0 && vantage_.capture.header.origin == Origin::recorder;
        tap_ = tap_of_failure(vantage_.window.events, event_);
        operation_ = read_operation(vantage_.window.events, vantage_.operation_records, event_, path_hooked);
        evidence.device_call = operation_.device_call;
        evidence.free_observed_at_failure = operation_.observed_at_failure;
        take_totals();
        take_device();
        take_extents();
        const bool caching = failure_.allocator == FailedAllocator::pytorch;
        if (failure_.allocator != FailedAllocator::foreign) {
            evidence.request = Measure::observed(event_.size_bytes);
        }
        evidence.segment_request = segment_request(operation_, event_, caching, mapped_tail_bytes_);
        take_growth(kept_since_ticket);
        evidence.outside = measure_outside(vantage_.pinned[static_cast<size_t>(event_.device)], log_, ledger_,
                                           event_.device, operation_begin(), boundary_closed());
        take_circumstances();
        return std::move(gathered_);
    }

  private:
    // With the cache off no report ever settles what a candidate segment is: all of them are tensors.
    uint64_t direct_bytes() const {
        const bool uncached = failure_.allocator == FailedAllocator::pytorch_uncached;
        return totals_.direct_bytes + (uncached ? totals_.candidate_bytes : 0);
    }

    // Tensors that PyTorch allocated without its cache are in use and reserved, whatever its totals say.
    void take_totals() {
        Evidence& evidence = gathered_.evidence;
        const uint64_t direct = direct_bytes();
        const bool reported = event_.kind == Kind::block_oom && event_.has(kTotals);
        const uint64_t allocated = reported
                                       ? event_.allocated_bytes
                                       : totals_.reported_allocated_bytes.value_or(totals_.allocated_bytes);
        const uint64_t reserved = reported ? event_.reserved_bytes
                                           : totals_.reported_reserved_bytes.value_or(totals_.segment_bytes);
        const Provenance how = reported && direct == 0 ? Provenance::observed : Provenance::derived;
        evidence.allocated = {allocated + direct, allocated + direct, how};
        evidence.reserved = {reserved + direct, reserved + direct, how};
        if (ledger_.tap_seen()) evidence.deferred = Measure::observed(totals_.deferred_bytes);
        if (reserved > totals_.segment_bytes)
            evidence.unseen_segment_bytes = reserved - totals_.segment_bytes;
        const bool losses = vantage_.window.facts.certain_until_ticket < event_.ticket;
        const Wide unseen = totals_.unseen_allocated_bytes;
        if (losses) evidence.uncertainty = static_cast<uint64_t>(unseen < 0 ? -unseen : unseen);
    }

    void take_device() {
        Evidence& evidence = gathered_.evidence;
        if (const auto& observation = operation_.observation) {
            evidence.total = Measure::observed(observation->device_total_bytes());
            evidence.device_free = Measure::observed(observation->device_free_bytes());
        } else {
            const auto total = log_.total_bytes();
            if (total) evidence.total = Measure::observed(*total);
            evidence.device_free = free_beside_report(total);
        }
        if (const auto& cap = log_.cap(); cap && cap->limit_bytes() != 0) {
            evidence.cap = Measure::observed(cap->limit_bytes());
        }
    }

    // Other failures follow allocations that a sample is older than.
    Measure free_beside_report(std::optional<uint64_t> total_bytes) const {
        if (tap_ && tap_->device_free_bytes() != kNotTold)
            return Measure::observed(tap_->device_free_bytes());
        const auto& sample = log_.last_sample();
        const bool usable = failure_.allocator == FailedAllocator::pytorch && total_bytes && sample &&
                            sample->device_total_bytes() == *total_bytes;
        return usable ? Measure::observed(sample->device_free_bytes()) : Measure{};
    }

    uint64_t asked_bytes() const { return event_.size_bytes; }

    ExtentRequest extent_request() const {
        ExtentRequest request;
        request.size_bytes = asked_bytes();
        if (!tap_) return request;
        request.stream = tap_->stream();
        if (tap_->pool() != kPoolUnknown) request.pool = tap_->pool();
        return request;
    }

    // Segment base addresses and granules by ordinal: the extents name segments by ordinal only.
    std::vector<const Segment*> settled_segments() const {
        std::vector<const Segment*> segments;
        ledger_.for_each_segment(event_.device, [&](const Segment& segment) {
            if (segment.state == SegmentState::segment) segments.push_back(&segment);
        });
        return segments;
    }

    void take_extents() {
        const ExtentRequest request = extent_request();
        const std::vector<const Segment*> segments = settled_segments();
        Extents& extents = gathered_.evidence.extents;
        extents.known = true;
        uint64_t releasable = 0;
        std::vector<Range> fitting;
        for (Extent& extent : extent_table(ledger_, event_.device)) {
            SceneExtent row{extent, Compatibility::unknown, 0};
            if (!extent.live && !extent.deferred) {
                row.compatibility =
                    private_pool(extent) ? Compatibility::incompatible : compatibility(extent, request);
                take_free_extent(row, *segments[extent.segment_ordinal], fitting);
                releasable += releasable_bytes(extent, *segments[extent.segment_ordinal]);
            }
            gathered_.scene.extents.push_back(row);
        }
        gathered_.evidence.releasable = Measure::derived(releasable);
        settle_unseen(extents);
        if (!fitting.empty()) extents.release = released_in_operation(fitting);
    }

    // The failing operation gave back every wholly free native segment but those of private pools.
    bool private_pool(const Extent& extent) const {
        return event_.kind == Kind::block_oom && !event_.has(kCapturing) && extent.segment_free &&
               extent.segment_kind == SegmentKind::native && !extent.pool;
    }

    void take_free_extent(const SceneExtent& row, const Segment& segment, std::vector<Range>& fitting) {
        Extents& extents = gathered_.evidence.extents;
        const uint64_t size = row.extent.size_bytes;
        const bool ends_segment = row.extent.offset_bytes + size == row.extent.segment_bytes;
        switch (row.compatibility) {
            case Compatibility::incompatible:
                extents.incompatible += size;
                return;
            case Compatibility::compatible:
                extents.largest_compatible = std::max(extents.largest_compatible, size);
                if (size >= asked_bytes()) {
                    const uint64_t begin = segment.address + row.extent.offset_bytes;
                    fitting.push_back({begin, begin + size});
                }
                break;
            case Compatibility::unknown:
                break;
        }
        extents.largest_not_excluded = std::max(extents.largest_not_excluded, size);
        (size >= asked_bytes() ? extents.reusable : extents.fragmented) += size;
        extents.remappable += remappable_bytes(row.extent, segment);
        const bool growable = row.extent.segment_kind == SegmentKind::expandable && ends_segment;
        if (growable) mapped_tail_bytes_ = std::max(mapped_tail_bytes_, size);
    }

    // Whole native segments, or whole pages of an expandable one.
    static uint64_t releasable_bytes(const Extent& extent, const Segment& segment) {
        if (extent.segment_kind == SegmentKind::native) return extent.segment_free ? extent.size_bytes : 0;
        const uint64_t page = std::max<uint64_t>(segment.granule_bytes, 1);
        const uint64_t first = (extent.offset_bytes + page - 1) / page;
        const uint64_t last = (extent.offset_bytes + extent.size_bytes) / page;
        return last > first ? (last - first) * page : 0;
    }

    // Whole pages of the size that expandable segments would have for this request: memory that they can give
    // back from under a hole. Where the holes lie may differ in another run; how large they are is a fair
    // guess.
    uint64_t remappable_bytes(const Extent& extent, const Segment& segment) const {
        if (extent.segment_kind == SegmentKind::expandable) return releasable_bytes(extent, segment);
        const uint64_t page =
            asked_bytes() <= kSmallRequestLimit_bytes ? kSmallSegment_bytes : kLargeSegment_bytes;
        return extent.size_bytes / page * page;
    }

    // Slack in segments that no tap saw has no known holes: it counts as fragmented, so that the parts of
    // reserved add up.
    void settle_unseen(Extents& extents) const {
        const Evidence& evidence = gathered_.evidence;
        const Wide slack =
            Wide{evidence.reserved.low} - Wide{evidence.allocated.low} - Wide{evidence.deferred.low};
        const Wide seen = Wide{extents.reusable} + extents.fragmented + extents.incompatible;
        if (slack > seen) extents.fragmented += static_cast<uint64_t>(slack - seen);
    }

    // Only the torch tap tells when a deferred free completed. Holes are in address order.
    HoleRelease released_in_operation(const std::vector<Range>& fitting) const {
        if (!ledger_.tap_seen()) return HoleRelease::unknown;
        const EventStream& events = vantage_.window.events;
        const uint64_t begin =
            release_begin_ticket(events, operation_, event_, vantage_.capture.header.origin);
        if (begin == kNoTicket || begin < events.begin_ticket()) return HoleRelease::unknown;
        HoleRelease release = HoleRelease::separate;
        events.for_each(begin, event_.ticket, [&](const Event& freed) {
            if (freed.kind != Kind::tap_free_completed || freed.device != event_.device) return true;
            const auto behind = std::ranges::upper_bound(fitting, freed.address, {}, &Range::end);
            const bool overlaps =
                behind != fitting.end() &&
                (behind->begin <= freed.address || behind->begin - freed.address < freed.size_bytes);
            if (overlaps) release = HoleRelease::overlaps;
            return !overlaps;
        });
        return release;
    }

    void take_growth(std::optional<uint64_t> kept_since_ticket) {
        const HeaderFacts& header = vantage_.capture.header;
        const bool late = vantage_.capture.late_start();
        GrowthResult result = measure_growth(matched_, ledger_, event_.device,
                                             late ? header.initial_until_ticket : 0, kept_since_ticket);
        Growth& growth = result.growth;
        growth.unknown_births += ledger_.unseen_block_bytes(event_.device);
        if (growth.basis == GrowthBasis::too_few || growth.basis == GrowthBasis::lapped)
            growth.retained += direct_bytes() + growth.unknown_births;
        result.growth.request_repeated = request_repeated(matched_, vantage_.window.events, event_);
        gathered_.evidence.growth = result.growth;
        describe_scene(ledger_, event_, result, gathered_.scene);
    }

    uint64_t operation_begin() const {
        uint64_t begin = std::min(operation_.first_refused_ticket, event_.ticket);
        if (operation_.observation) begin = std::min(begin, operation_.observation->ticket);
        for (const Event& recorded : vantage_.operation_records)
            begin = std::min(begin, recorded.ticket);
        return begin;
    }

    bool boundary_closed() const {
        return std::ranges::any_of(vantage_.capture.boundaries, [this](const Boundary& boundary) {
            return boundary.device == event_.device && boundary.ticket <= event_.ticket;
        });
    }

    void take_circumstances() {
        Evidence& evidence = gathered_.evidence;
        const HeaderFacts& header = vantage_.capture.header;
        evidence.fatal = !failure_.followed;
        evidence.survived = failure_.followed;
        evidence.blind = header.counters.blind > 0;
        evidence.expandable_segments = header.config.expandable_segments;
        evidence.origin = header.origin;
        evidence.total_stated = header.total_stated;
        const auto& incomplete = header.incomplete_from_ticket;
        evidence.incomplete = vantage_.capture.late_start() || (incomplete && *incomplete <= event_.ticket);
    }

    const Vantage& vantage_;
    const Failure& failure_;
    const Event& event_;
    const Ledger& ledger_;
    const Matched& matched_;
    const ObservationLog& log_;
    const DeviceTotals& totals_;
    Operation operation_;
    std::optional<Event> tap_;  // that tells of the failure
    Gathered gathered_;
    uint64_t mapped_tail_bytes_ = 0;
};

}  // namespace

Gathered gather(const Vantage& vantage, const Failure& failure, const Ledger& ledger, const Matched& matched,
                const ObservationLog& log, std::optional<uint64_t> kept_since_ticket) {
    return Gatherer(vantage, failure, ledger, matched, log).run(kept_since_ticket);
}

}  // namespace memsnap
