// SPDX-License-Identifier: Apache-2.0
//
// The kept events as lines, in order. What the encoder derives as the recorder did is left to it; totals that
// the recording reported otherwise are stated.
#include <fmt/format.h>

#include <algorithm>

#include "cut_writer.h"
#include "outside.h"
#include "window_builder.h"

namespace memsnap {
namespace {

std::string difference_text(uint64_t wanted, uint64_t derived) {
    return wanted >= derived ? exact_size(wanted - derived) : "-" + exact_size(derived - wanted);
}

std::string totals_text(const Event& event) {
    return fmt::format(" allocated={} reserved={}", exact_size(event.allocated_bytes),
                       exact_size(event.reserved_bytes));
}

}  // namespace

// Which lines others refer to: the refused call, the observation, where a boundary opened, pinned records.
void CutWriter::find_labels() {
    const auto label = [&](uint64_t ticket, const char* word) {
        const auto known = [&](const Event& event) { return event.ticket == ticket; };
        if (std::ranges::any_of(choice_.events, known)) labels_.emplace(ticket, word);
    };
    label(source_.failure().ticket, "failure");
    label(choice_.operation.first_refused_ticket, "refused");
    if (const auto& seen = choice_.operation.observation) label(seen->ticket, "seen");
    const PinnedDevice& pinned = source_.pinned();
    if (const Event* const baseline = source_.baseline()) label(baseline->ticket, "baseline");
    if (pinned.first_processes) label(pinned.first_processes->ticket, "processes");
    if (pinned.peak_allocated) label(pinned.peak_allocated->ticket, "peak");
    if (pinned.peak_reserved) label(pinned.peak_reserved->ticket, "widest");
    if (!tells_openings()) return;
    uint64_t number = 0;
    for (const Boundary& boundary : boundaries_) {
        if (boundary.opened_ticket == kNoTicket || boundary.opened_ticket < choice_.begin_ticket) continue;
        const auto first =
            std::ranges::lower_bound(choice_.events, boundary.opened_ticket, {}, &Event::ticket);
        if (first != choice_.events.end() && first->ticket <= boundary.ticket)
            labels_.emplace(first->ticket, fmt::format("opened{}", ++number));
    }
}

std::string CutWriter::label_of(uint64_t ticket) const {
    const auto found = labels_.find(ticket);
    return found == labels_.end() ? std::string() : "@" + found->second;
}

void CutWriter::write_events() {
    for (const Event& event : choice_.restated) {
        if (event.kind == Kind::cap || event.kind == Kind::process_sample) {
            write_event(event);
        } else {
            write_observation(event);
        }
    }
    open_state();
    for (const Event& event : choice_.events) {
        const bool fails = event.ticket == source_.failure().ticket;
        write_boundaries_before(event.ticket);
        if (fails && source_.incident.evidence.deferred.known() && !tap_shown_) show_tap();
        write_event(event);
        failed_ |= fails;
    }
    write_followed();
}

// Nothing but an event tells these: the tap's words, deferred frees, the steps, and a peak that is over.
void CutWriter::open_state() {
    if (earlier_bytes_) {
        const auto& peak = source_.incident.history.peak;
        std::string line = "free earlier";
        if (peak.reserved_bytes) line += fmt::format(" reserved={}", exact_size(*peak.reserved_bytes));
        say_event(line + "  # the peak was before the cut");
        allocated_bytes_ -= *earlier_bytes_;
    }
    for (const StatedRegion& region : state_.regions) {
        if (region.filler || !region.stream) continue;
        say_event(fmt::format("{} {} stream={} pool={}",
                              region.expandable ? "tap_segment_map" : "tap_segment_alloc",
                              regions_[region.address], stream(*region.stream), *region.pool));
        tap_shown_ = true;
    }
    for (const Deferred& block : deferred_) {
        if (defers_one_by_one_) {
            say_event(fmt::format("alloc {} {} {}", block.name, block.where, exact_size(block.size_bytes)));
            device_reports_ = true;
        } else {
            allocated_bytes_ -= block.size_bytes;
        }
        say_event("tap_free_requested " + block.name);
        say_event("free " + block.name);
        tap_shown_ = true;
    }
    const auto is_step = [](const Event& event) { return event.kind == Kind::step; };
    const bool told =
        std::ranges::any_of(choice_.events, is_step) || state_.step_count == state_.latest_birth_step;
    if (!told) say_event(fmt::format("step {}", state_.step_count));
}

void CutWriter::write_event(const Event& event) {
    switch (event.kind) {
        case Kind::block_alloc:
        case Kind::initial:
            write_alloc(event);
            return;
        case Kind::block_free:
        case Kind::free:
            write_free(event);
            return;
        case Kind::ok:
        case Kind::initial_segment:
            write_made(event);
            return;
        case Kind::mem_info:
        case Kind::device_sample:
            write_observation(event);
            return;
        case Kind::fail:
            write_refusal(event);
            return;
        case Kind::operation:
            write_operation(event);
            return;
        case Kind::block_oom: {
            agree_totals(event);
            std::string line = fmt::format("oom {} operation=no", exact_size(event.size_bytes));
            if (event.site() != 0) line += fmt::format(" site={}", site(event.site()));
            if (event.has(kCapturing)) line += " capturing";
            say_event(line + time_key(event, "time") + keys(event));
            return;
        }
        case Kind::process_sample:
            if (const auto job = choice_.job_bytes.find(event.ticket); job != choice_.job_bytes.end())
                say_event(fmt::format("neighbour pid=1 bytes={} job", exact_size(job->second)));
            say_event(fmt::format("process_sample own={} others={} count={}{}{}",
                                  exact_size(event.own_process_bytes()),
                                  exact_size(event.other_process_bytes()), event.other_process_count(),
                                  event.has(kUnavailable) ? " unavailable" : "", keys(event)));
            return;
        case Kind::cap:
            say_event(fmt::format("cap {} cap_source={}", exact_size(event.limit_bytes()),
                                  name(static_cast<CapSource>(event.code))));
            return;
        case Kind::step:
            say_event(fmt::format("step {}{}{}{}", event.size_bytes,
                                  event.collection_off() ? " collection_off" : "",
                                  event.implied() ? " implied" : "", keys(event)));
            return;
        case Kind::tap_free_requested:
        case Kind::tap_free_completed:
        case Kind::tap_segment_alloc:
        case Kind::tap_segment_free:
        case Kind::tap_segment_map:
        case Kind::tap_segment_unmap:
        case Kind::tap_oom:
            write_tap(event);
            return;
        case Kind::none:
        case Kind::birth:
        case Kind::try_call:
        case Kind::free_fail:
        case Kind::blind:
        case Kind::neighbour:
        case Kind::phase_begin:
        case Kind::phase_end:
        case Kind::mark:
        case Kind::note:
        case Kind::category:
        case Kind::tap_alloc:
        case Kind::keyframe:
        case Kind::cupti_memory:
            return;
    }
}

// What the allocator reports beyond what its events add up to.
void CutWriter::agree_totals(const Event& event) {
    if (!event.has(kTotals)) return;
    std::string line = "totals";
    if (event.allocated_bytes != allocated_bytes_)
        line += " allocated=" + difference_text(event.allocated_bytes, allocated_bytes_);
    if (event.reserved_bytes != reserved_bytes_)
        line += " reserved=" + difference_text(event.reserved_bytes, reserved_bytes_);
    if (line != "totals") say(std::move(line));
    allocated_bytes_ = event.allocated_bytes;
    reserved_bytes_ = event.reserved_bytes;
}

void CutWriter::write_alloc(const Event& event) {
    const std::string name = fmt::format("b{}", ++name_count_);
    allocated_bytes_ += event.size_bytes;
    const bool found = event.kind == Kind::initial;
    if (!found) agree_totals(event);
    std::string line = fmt::format("{} {} {} {}", found ? "initial" : "alloc", name,
                                   places_.where(event.address), exact_size(event.size_bytes));
    if (event.site() != 0) line += fmt::format(" site={}", site(event.site()));
    if (found && event.has(kTotals)) line += totals_text(event);
    say_event(line + keys(event));
    device_reports_ |= !found;
    block_names_[event.address] = name;
    block_sizes_[event.address] = event.size_bytes;
    if (CutPlace* const place = places_.at(event.address); place != nullptr)
        place->most_blocks_count = std::max(place->most_blocks_count, ++place->block_count);
}

void CutWriter::write_free(const Event& event) {
    if (event.kind == Kind::free) {
        const auto found = objects_.find(event.birth_ticket());
        if (found == objects_.end()) return;
        if (const auto bytes = reserved_by_.find(event.birth_ticket()); bytes != reserved_by_.end())
            reserved_bytes_ -= bytes->second;
        regions_.erase(event.address);
        say_event("free " + found->second + keys(event));
        objects_.erase(found);
        return;
    }
    const auto size = block_sizes_.find(event.address);
    if (size == block_sizes_.end()) return;
    allocated_bytes_ -= size->second;
    block_sizes_.erase(size);
    agree_totals(event);
    say_event("free " + block_names_[event.address] + keys(event));
    if (CutPlace* const place = places_.at(event.address); place != nullptr) --place->block_count;
}

void CutWriter::write_made(const Event& event) {
    const Object object = object_of(event);
    const bool torch = event.kind == Kind::initial_segment || event.has(kFromTorch);
    CutPlace* const place = torch ? places_.at(event.address) : nullptr;
    std::string name = fmt::format("{}{}", torch ? 'r' : 'f', ++name_count_);
    std::string line;
    if (place != nullptr && !place->reserved) name = place->name;
    if (object == Object::mapping) {
        if (!has_handle_) {
            say(fmt::format("create handle {}", exact_size(event.size_bytes)));
            has_handle_ = true;
        }
        line = fmt::format("map {} {} handle {}", name, places_.where(event.address),
                           exact_size(event.size_bytes));
    } else if (event.kind == Kind::initial_segment) {
        line = fmt::format("initial_segment {} {}", name, exact_size(event.size_bytes));
        if (event.has(kTotals)) line += totals_text(event);
    } else if (torch && event.op == Op::cudaMalloc) {
        line = fmt::format("segment {} {}", name, exact_size(event.size_bytes));
    } else {
        line = fmt::format("call {} {} {}", name, memsnap::name(event.op), exact_size(event.size_bytes));
        if (torch) line += " from_torch";
        if (event.library != 0 && !torch) line += fmt::format(" library={}", library(event.library));
    }
    if (place != nullptr && place->reserved && object != Object::mapping)
        line += " at=" + places_.where(event.address);
    const bool reserved = event.kind == Kind::initial_segment ||
                          (torch && (event.op == Op::cudaMalloc || event.op == Op::cuMemMap));
    if (reserved) {
        reserved_bytes_ += event.size_bytes;
        reserved_by_[event.ticket] = event.size_bytes;
    }
    say_event(line + keys(event));
    objects_[event.ticket] = name;
    if (place != nullptr) regions_[event.address] = name;
}

void CutWriter::write_observation(const Event& event) {
    std::string line =
        fmt::format("{} total={} free={}", name(event.kind), exact_size(event.device_total_bytes()),
                    exact_size(event.device_free_bytes()));
    const bool told = event.has(kTotals);
    const bool agrees = event.allocated_bytes == allocated_bytes_ && event.reserved_bytes == reserved_bytes_;
    if (told && !(device_reports_ && agrees)) line += totals_text(event);
    if (!told && device_reports_) line += " flags=0";
    if (event.kind == Kind::mem_info && !event.has(kFromTorch)) line += " foreign";
    say_event(line + time_key(event, "time") + keys(event));
}

void CutWriter::write_refusal(const Event& event) {
    std::string line = fmt::format("fail {} {} code={} operation=no", name(event.op),
                                   exact_size(event.size_bytes), event.code);
    if (!event.has(kFromTorch)) line += " foreign";
    if (event.library != 0 && !event.has(kFromTorch))
        line += fmt::format(" library={}", library(event.library));
    if (event.device != source_.device()) line += fmt::format(" device={}", event.device);
    if (event.ticket == source_.failure().ticket) line += time_key(event, "time");
    say_event(line + keys(event));
}

// Stated whole: the calls that it sums up may be older than the cut.
void CutWriter::write_operation(const Event& event) {
    std::string refused = label_of(event.call_ticket());
    if (refused.empty()) refused = event.call_ticket() == kNoTicket ? "none" : "0";
    std::string seen = label_of(event.last_observation_ticket());
    if (seen.empty()) seen = "none";
    const std::string op =
        event.op == Op::none ? std::string() : fmt::format(" op={} code={}", name(event.op), event.code);
    say_event(fmt::format("operation{} address={} size={} link={} extra={} extra16={}{}", op,
                          exact_size(event.first_failed_call_bytes()), exact_size(event.last_attempt_bytes()),
                          refused, seen, event.failed_call_count(), keys(event)));
}

void CutWriter::write_tap(const Event& event) {
    const std::string where =
        fmt::format(" stream={} pool={}{}", stream(event.stream()), event.pool(), keys(event));
    if (event.kind == Kind::tap_oom) {
        const std::string free =
            event.device_free_bytes() == kNotTold ? "none" : exact_size(event.device_free_bytes());
        std::string line = fmt::format("tap_oom {} free={}", exact_size(event.size_bytes), free);
        if (event.requested_bytes() != kNotTold) line += " requested=" + exact_size(event.requested_bytes());
        say_event(line + where);
        return;
    }
    if (event.kind == Kind::tap_free_requested || event.kind == Kind::tap_free_completed) {
        const auto block = block_names_.find(event.address);
        if (block == block_names_.end()) return;
        say_event(fmt::format("{} {}{}", name(event.kind), block->second, keys(event)));
        tap_shown_ = true;
        return;
    }
    const auto after = regions_.upper_bound(event.address);
    if (after == regions_.begin()) return;
    tap_shown_ = true;
    say_event(fmt::format("{} {}{}", name(event.kind), std::prev(after)->second, where));
}

// That the torch tap was loaded is itself known: no free is deferred unless it says so.
void CutWriter::show_tap() {
    if (some_name_.empty()) say_event("reserve " + (some_name_ = "nothing") + " 2MiB");
    say_event("tap_alloc " + some_name_);
    tap_shown_ = true;
}

}  // namespace memsnap
