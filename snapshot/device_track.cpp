// SPDX-License-Identifier: Apache-2.0
//
// The state before the first entry, and each entry as the records that a recorder would have written of it.
#include "device_track.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace memsnap::snapshot {

namespace {

std::vector<Segment> of_device(const std::vector<Segment>& segments, int device) {
    std::vector<Segment> own;
    std::ranges::copy_if(segments, std::back_inserter(own),
                         [device](const Segment& segment) { return segment.device == device; });
    return own;
}

constexpr uint64_t kUnseenSite = ~uint64_t{0};

}  // namespace

uint64_t Conversion::site(StackId stack) {
    if (stack >= sites.size()) sites.resize(stack + size_t{1}, kUnseenSite);
    if (sites[stack] == kUnseenSite) sites[stack] = image.site(snapshot.texts, snapshot.stacks.frames(stack));
    return sites[stack];
}

DeviceTrack::DeviceTrack(Conversion& conversion, int device, std::vector<TraceEntry> trace)
    : all_(conversion),
      device_(device),
      trace_(std::move(trace)),
      segments_(of_device(conversion.snapshot.segments, device)),
      rolled_(roll_back(segments_, conversion.snapshot.blocks, trace_)),
      pages_(segments_, trace_, rolled_) {
    for (const Annotation& annotation : conversion.snapshot.annotations) {
        if (annotation.device == device && nanoseconds(annotation.time_us) != kNoTime)
            annotations_.push_back(annotation);
    }
    std::ranges::stable_sort(annotations_, {}, &Annotation::time_us);
    for (const Observation& observation : conversion.snapshot.observations) {
        if (observation.device == device) observations_.push_back(observation);
    }
    std::ranges::stable_sort(observations_, {}, &Observation::before_entry);
}

// ---------------------------------------------------------------- the state before the first entry

Moment DeviceTrack::initial_moment(StackId stack) {
    return {device_, all_.begin_ns, all_.site(stack)};
}

void DeviceTrack::put_pages() {
    for (const InitialSegment& segment : rolled_.segments) {
        regions_.put(segment.address, {.size_bytes = segment.size_bytes,
                                       .stream = segment.stream,
                                       .pool = segment.pool,
                                       .stack = segment.stack,
                                       .expandable = segment.expandable});
        if (!segment.expandable) continue;
        const Moment when = initial_moment(segment.stack);
        all_.image.initial_pages(when, segment.address, segment.size_bytes, pages_.at(segment.address));
        if (all_.snapshot.tap)
            all_.image.tap(when, wire::Kind::tap_segment_map, segment.address, segment.size_bytes,
                           segment.stream, segment.pool);
    }
}

void DeviceTrack::put_segments() {
    const InitialSegment* last = nullptr;
    for (const InitialSegment& segment : rolled_.segments) {
        if (!segment.expandable && rolled_.blocks.empty()) last = &segment;
    }
    for (const InitialSegment& segment : rolled_.segments) {
        if (segment.expandable) continue;
        const Moment when = initial_moment(segment.stack);
        all_.image.initial_segment(when, segment.address, segment.size_bytes, &segment == last);
        if (all_.snapshot.tap)
            all_.image.tap(when, wire::Kind::tap_segment_alloc, segment.address, segment.size_bytes,
                           segment.stream, segment.pool);
    }
}

// All begins are known before the first size is asked for: a hole ends where the next block begins.
void DeviceTrack::put_blocks() {
    for (const InitialBlock& block : rolled_.blocks)
        blocks_[block.address] = {0, block.requested_bytes, false};
    for (const InitialBlock& block : rolled_.blocks) {
        LiveBlock& live = blocks_[block.address];
        bool expandable = false;
        const uint64_t hole = hole_bytes(block.address, expandable);
        live.granted_bytes =
            block.size.exact
                ? block.size.bytes
                : std::min(block.size.bytes,
                           all_.rule.granted_bytes(block.requested_bytes.value_or(0), hole, expandable));
        count_request(live, true);
        const Moment when = initial_moment(block.stack);
        label(when, block.user_metadata);
        if (all_.snapshot.tap && block.requested_bytes)
            all_.image.tap(when, wire::Kind::tap_alloc, block.address, *block.requested_bytes, block.stream,
                           block.pool);
        all_.image.initial_block(when, block.address, live.granted_bytes, &block == &rolled_.blocks.back());
    }
    label(initial_moment(0), 0);
}

void DeviceTrack::put_waiting() {
    for (const InitialBlock& block : rolled_.blocks) {
        if (!block.waiting) continue;
        LiveBlock& live = blocks_[block.address];
        if (all_.snapshot.tap)
            all_.image.tap(initial_moment(0), wire::Kind::tap_free_requested, block.address,
                           block.requested_bytes.value_or(live.granted_bytes), block.stream, block.pool);
        release(initial_moment(0), block.address, live);
    }
    rolled_.blocks = {};
    rolled_.segments = {};
}

// From the address to the next block or the end of its region.
uint64_t DeviceTrack::hole_bytes(uint64_t address, bool& expandable) const {
    const Regions::Place* const region = regions_.holding(address, 1);
    if (region == nullptr) return 0;
    expandable = region->second.expandable;
    const uint64_t end = region->first + region->second.size_bytes;
    const auto behind = blocks_.upper_bound(address);
    return (behind == blocks_.end() ? end : std::min(end, behind->first)) - address;
}

// ---------------------------------------------------------------- in order

bool DeviceTrack::done() const {
    return at_ == trace_.size() && annotation_at_ == annotations_.size() &&
           observation_at_ == observations_.size();
}

uint64_t DeviceTrack::next_time_ns() const {
    uint64_t next_ns = kNoTime;
    if (at_ < trace_.size() && trace_[at_].has_time) next_ns = nanoseconds(trace_[at_].time_us);
    const bool last = at_ == trace_.size();
    if (annotation_at_ < annotations_.size()) {
        const uint64_t told_ns = nanoseconds(annotations_[annotation_at_].time_us);
        if (last || (next_ns != kNoTime && told_ns < next_ns)) next_ns = told_ns;
    }
    return std::max(time_ns_, next_ns);
}

// An annotation of the same microsecond goes before the entry; an observation after it, directly before its
// entry.
void DeviceTrack::next() {
    time_ns_ = next_time_ns();
    const bool last = at_ == trace_.size();
    if (annotation_at_ < annotations_.size() &&
        (last || nanoseconds(annotations_[annotation_at_].time_us) <= time_ns_)) {
        annotate(annotations_[annotation_at_++]);
        return;
    }
    observe(at_);
    if (!last) apply(at_++);
}

void DeviceTrack::annotate(const Annotation& annotation) {
    const Moment when = {device_, nanoseconds(annotation.time_us), 0};
    if (annotation.starts) {
        const std::string_view name = all_.snapshot.texts.text(annotation.name);
        ranges_[annotation.name].push_back(all_.image.range_begin(when, name, wire::Family::range));
        return;
    }
    const auto open = ranges_.find(annotation.name);
    if (open == ranges_.end()) return;  // it began before the history, or on another device
    all_.image.range_end(when, open->second.back());
    open->second.pop_back();
    if (open->second.empty()) ranges_.erase(open);
}

void DeviceTrack::label(const Moment& moment, TextId metadata) {
    if (metadata == metadata_) return;
    if (metadata_ != 0) all_.image.range_end(moment, metadata_range_);
    metadata_ = metadata;
    if (metadata_ == 0) return;
    metadata_range_ = all_.image.range_begin(moment, all_.snapshot.texts.text(metadata_), wire::Family::none);
}

// Those told before the entry; before a failure the last of them is its own.
void DeviceTrack::observe(size_t at) {
    const bool last = at == trace_.size();
    const bool fails = !last && trace_[at].action == Action::oom;
    const Moment when = {device_, time_ns_, 0};
    while (observation_at_ < observations_.size() &&
           (last || observations_[observation_at_].before_entry <= at)) {
        const Observation& told = observations_[observation_at_];
        const bool next_is_later = observation_at_ + 1 == observations_.size() ||
                                   observations_[observation_at_ + 1].before_entry > at;
        if (fails && told.before_entry == at && next_is_later) return;
        all_.image.observation(when, told.total_bytes, told.free_bytes);
        ++observation_at_;
    }
}

void DeviceTrack::finish() {
    const Moment when = {device_, time_ns_, 0};
    for (const Segment& segment : segments_) {
        for (uint32_t at = 0; at < segment.block_count; ++at) {
            const Block& block = all_.snapshot.blocks[segment.first_block + at];
            if (block.state != BlockState::active_pending_free) continue;
            LiveBlock& live = blocks_[block.address];
            if (live.waiting) continue;
            if (all_.snapshot.tap)
                all_.image.tap(when, wire::Kind::tap_free_requested, block.address,
                               live.requested_bytes.value_or(live.granted_bytes), segment.stream,
                               segment.pool);
            release(when, block.address, live);
        }
    }
    label(when, 0);
}

}  // namespace memsnap::snapshot
