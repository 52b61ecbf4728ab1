// SPDX-License-Identifier: Apache-2.0
//
// What stands beside the events: boundaries, pinned records, an earlier peak, and how it went on.
#include <fmt/format.h>

#include <algorithm>

#include "boundary.h"
#include "cut_writer.h"

namespace memsnap {

// Those that growth is measured between; where there are none, one that moved the baseline.
void CutWriter::choose_boundaries() {
    const uint64_t failed = source_.failure().ticket;
    const std::vector<Boundary>& all = source_.capture.boundaries;
    const Matched marked = marked_boundaries(all, source_.device(), failed);
    for (const Boundary& boundary : all) {
        const bool same = boundary.device == source_.device() && boundary.family == marked.family;
        const bool matched =
            std::ranges::binary_search(marked.points, boundary.ticket, {}, &MatchedPoint::ticket);
        if (same && matched) boundaries_.push_back(boundary);
    }
    const auto closed = std::ranges::find_if(all, [&](const Boundary& boundary) {
        return boundary.device == source_.device() && boundary.ticket <= failed;
    });
    if (boundaries_.empty() && closed != all.end()) boundaries_.push_back(*closed);
    std::ranges::stable_sort(boundaries_, {}, &Boundary::ticket);
}

void CutWriter::write_boundary(const Boundary& boundary, const std::string& closing) {
    std::string line = fmt::format("boundary family={}{}", name(boundary.family), closing);
    const uint64_t opened = boundary.opened_ticket;
    if (!tells_openings()) {
        // nothing refers to it
    } else if (opened < choice_.begin_ticket) {
        line += fmt::format(" opened={}", old_ticket(opened));
    } else if (opened != kNoTicket) {
        const auto first = std::ranges::lower_bound(choice_.events, opened, {}, &Event::ticket);
        if (first != choice_.events.end() && first->ticket <= boundary.ticket)
            line += " opened=" + label_of(first->ticket);
    }
    line += fmt::format(" allocated={} reserved={}", exact_size(boundary.allocated_bytes),
                        exact_size(boundary.reserved_bytes));
    if (boundary.device_free_bytes)
        line += fmt::format(" device_free={}", exact_size(*boundary.device_free_bytes));
    if (boundary.depth != 0) line += fmt::format(" depth={}", boundary.depth);
    say(std::move(line));
}

// Boundaries that closed before an event, or with the event before it.
void CutWriter::write_boundaries_before(uint64_t ticket) {
    for (; next_boundary_ < boundaries_.size() && boundaries_[next_boundary_].ticket < ticket;
         ++next_boundary_) {
        const Boundary& boundary = boundaries_[next_boundary_];
        const bool kept = std::ranges::binary_search(choice_.events, boundary.ticket, {}, &Event::ticket);
        if (!kept) say_event("mark boundary");
        write_boundary(boundary, {});
    }
}

void CutWriter::pin(const char* copy, const Event& event) {
    if (event.ticket >= choice_.begin_ticket) {
        const std::string label = label_of(event.ticket);
        if (!label.empty()) say(fmt::format("copy pinned {} of={}", copy, label));
        return;
    }
    std::string line = fmt::format("pin {} {} ticket={}", copy, name(event.kind), old_ticket(event.ticket));
    if (event.size_bytes != 0) line += fmt::format(" size={}", exact_size(event.size_bytes));
    const bool counts = event.kind == Kind::mem_info || event.kind == Kind::device_sample ||
                        event.kind == Kind::process_sample || event.kind == Kind::cap;
    if (counts)  // elsewhere the link is a stack token or a ticket
        line += fmt::format(" link={}", exact_size(event.link));
    if (event.code != 0) line += fmt::format(" code={}", event.code);
    if (event.has(kTotals))
        line += fmt::format(" allocated={} reserved={}", exact_size(event.allocated_bytes),
                            exact_size(event.reserved_bytes));
    const bool dated = source_.incident.evidence.outside.earlier_outside.known();
    if (dated) line += fmt::format(" time={}", source_.is_old(event) ? "1000" : "2000000000");
    say(std::move(line));
}

// Written last: copies refer to lines.
void CutWriter::write_pinned() {
    const uint64_t failed = source_.failure().ticket;
    const PinnedDevice& pinned = source_.pinned();
    if (const Event* const baseline = source_.baseline()) {
        const bool bounded =
            pinned.before_first_boundary && pinned.before_first_boundary->ticket == baseline->ticket;
        const bool first = pinned.first_observation && pinned.first_observation->ticket == baseline->ticket;
        const auto closed = [&](const Boundary& boundary) { return boundary.ticket <= failed; };
        const bool use_bounded = bounded && (!first || std::ranges::any_of(boundaries_, closed));
        pin(use_bounded ? "before_first_boundary" : "first_observation", *baseline);
    }
    if (pinned.first_processes && pinned.first_processes->ticket < failed &&
        !pinned.first_processes->has(kUnavailable))
        pin("first_processes", *pinned.first_processes);
    if (pinned.peak_allocated && pinned.peak_allocated->ticket <= failed)
        pin("peak_allocated", *pinned.peak_allocated);
    if (pinned.peak_reserved && pinned.peak_reserved->ticket <= failed)
        pin("peak_reserved", *pinned.peak_reserved);
    // What the card has in all does not change: a later answer told it.
    const auto observes = [](const Event& event) {
        return event.kind == Kind::mem_info || event.kind == Kind::device_sample;
    };
    const bool told = choice_.operation.observation || source_.baseline() != nullptr ||
                      std::ranges::any_of(choice_.events, observes) ||
                      std::ranges::any_of(choice_.restated, observes);
    const auto& later = pinned.last_observation;
    if (!told && later && later->ticket > failed)
        say(fmt::format("pin last_observation {} ticket=@failure+1 size={} link={}", name(later->kind),
                        exact_size(later->size_bytes), exact_size(later->link)));
}

// A peak that the kept events do not reach again is stated as a block that was freed since.
void CutWriter::find_earlier_peak() {
    const Peak& peak = source_.incident.history.peak;
    uint64_t stated = state_.active_bytes + state_.deferred_bytes;  // live when the cut begins
    // Deferred blocks were live, but perhaps never all at a time with what is live now.
    defers_one_by_one_ = stated > peak.active_bytes;
    if (defers_one_by_one_) stated = state_.active_bytes;
    uint64_t active = state_.active_bytes, most = stated, widest = 0;
    for (const Event& event : choice_.events) {
        if (event.ticket > source_.failure().ticket) break;
        if (event.kind == Kind::block_alloc || event.kind == Kind::initial) active += event.size_bytes;
        if (event.kind == Kind::block_free) active -= std::min(active, event.size_bytes);
        most = std::max(most, active);
        if (is_report(event)) widest = std::max(widest, event.reserved_bytes);
    }
    const bool higher = peak.active_bytes > most;
    const bool wider = peak.reserved_bytes.value_or(0) > widest;
    if (peak.active_bytes > stated && (higher || wider)) {
        earlier_bytes_ = peak.active_bytes - stated;
    } else {
        draft_.states_reserved_peak = !wider;
    }
}

// What showed that the job went on, if anything did.
void CutWriter::write_followed() {
    const HeaderFacts& header = source_.capture.header;
    const Failure& failure = source_.incident.failure;
    write_boundaries_before(kNoTicket);
    if (header.exit_ticket && header.exit_status == 0) say("exit 0");
    const bool lapped = draft_.in_keyframe && !draft_.without_ring;
    if (!failure.followed || lapped || (header.exit_ticket && header.exit_status == 0)) return;
    for (const Boundary& boundary : source_.capture.boundaries) {
        const bool later =
            boundary.opened_ticket != kNoTicket && boundary.opened_ticket > failure.event.ticket;
        if (!later) continue;
        say_event("mark opened as=opened");
        say_event("mark closed");
        say(fmt::format("boundary family={} opened=@opened allocated={} reserved={}", name(boundary.family),
                        exact_size(boundary.allocated_bytes), exact_size(boundary.reserved_bytes)));
        return;
    }
    Event served;
    if (!source_.window().events.read(failure.scope_end_ticket, served)) return;
    say_event(fmt::format("reserve afterwards {}", exact_size(served.size_bytes)));
    if (served.kind != Kind::block_alloc) {
        say_event(
            fmt::format("call served {} {} from_torch", name(served.op), exact_size(served.size_bytes)));
        return;
    }
    const uint64_t reserved_bytes = std::max(served.reserved_bytes, allocated_bytes_ + served.size_bytes);
    say_event(fmt::format("alloc served afterwards+0 {} reserved={}", exact_size(served.size_bytes),
                          exact_size(reserved_bytes)));
}

}  // namespace memsnap
