// SPDX-License-Identifier: Apache-2.0
//
// The header and what is live at the begin, line by line.
#include "cut_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "window_builder.h"

namespace memsnap {
namespace {

// An observation that is old is said to be of the first second, anything else of the third.
constexpr const char* kNewTime = "2000000000";

bool makes_region(const Event& event) {
    if (event.kind == Kind::initial_segment) return true;
    if (event.kind != Kind::ok) return false;
    const Object object = object_of(event);
    return event.has(kFromTorch) &&
           (object == Object::device || object == Object::mapping || object == Object::async);
}

}  // namespace

std::string CutDraft::text(uint64_t keyframe_records) const {
    const std::string keyframe =
        keyframe_records == 0
            ? std::string()
            : fmt::format(" keyframe_records={} keyframe_entries={}", keyframe_records, table_entries);
    std::string out = fmt::format(
        "memsnap-events 1\n# An incident, cut out of its recording by memsnap-replay --window.\n"
        "header ring_records={} table_entries={} boundary_entries={} start={}{} pinned=no boundaries=no\n",
        ring_records, table_entries, boundary_entries, first_ticket, keyframe);
    out += head + body;
    // The recording went on until its ring no longer held the failure.
    if (keyframe_records != 0) out += "keyframe\n";
    if (keyframe_records != 0 && !without_ring) out += fmt::format("mark later count={}\n", ring_records);
    return out + rest;
}

CutWriter::CutWriter(const CutSource& source, const CutChoice& choice, const CutState& state)
    : source_(source), choice_(choice), state_(state) {
    draft_.in_keyframe = source.keyframe != nullptr;
    draft_.without_ring =
        draft_.in_keyframe && !source.capture.window.events.began_after(source.failure().ticket);
    thread(source.failure().thread);
}

CutDraft CutWriter::write() {
    choose_boundaries();
    find_places();
    find_earlier_peak();
    find_older();
    find_labels();
    const uint64_t records = 4 * (choice_.events.size() + choice_.restated.size() + boundaries_.size() + 32);
    draft_.ring_records = std::bit_ceil(std::max<uint64_t>(records, 64));
    synthetic_limit_ = 2 * places_.all().size() + state_.foreign.size() + 8;
    draft_.first_ticket = draft_.ring_records + synthetic_limit_ + older_.size();
    write_head();
    write_state();
    for (const Boundary& boundary : boundaries_) {
        if (boundary.ticket >= choice_.begin_ticket) break;
        write_boundary(boundary, fmt::format(" closing={}", old_ticket(boundary.ticket)));
        ++next_boundary_;
    }
    write_events();
    if (draft_.in_keyframe) failed_ = false;  // the keyframe copies what is pinned before it
    write_pinned();
    draft_.table_entries = std::bit_ceil(name_count_ + 2 * places_.all().size() + 16);
    draft_.boundary_entries = std::bit_ceil(boundaries_.size() + 8);
    for (const CutPlace& place : places_.all()) {
        if (!place.segment) continue;
        ++draft_.segments_count;
        draft_.blocks_count = std::max(draft_.blocks_count, place.most_blocks_count);
    }
    return std::move(draft_);
}

// ---------------------------------------------------------------- words

uint64_t CutWriter::site(uint64_t token) {
    if (token == 0) return 0;
    return draft_.sites.emplace(token, draft_.sites.size() + 1).first->second;
}

uint64_t CutWriter::stream(uint64_t handle) {
    if (handle == 0) return 0;
    return streams_.try_emplace(handle, streams_.size() + 1).first->second;
}

uint64_t CutWriter::thread(uint16_t number) {
    return threads_.emplace(number, threads_.size() + 1).first->second;
}

uint64_t CutWriter::library(uint16_t number) {
    if (number == 0) return 0;
    const auto [found, fresh] = draft_.libraries.emplace(number, draft_.libraries.size() + 1);
    if (fresh) {
        const LibraryRole role = source_.capture.library_role(number);
        draft_.head += fmt::format("library_entry {} role={}\n", found->second, name(role));
    }
    return found->second;
}

std::string CutWriter::phase(uint16_t name) {
    if (name == 0) return {};
    return fmt::format(" phase=p{}", phases_.emplace(name, phases_.size() + 1).first->second);
}

// Tickets of older things keep their order and nothing else; those below are of things that have none.
uint64_t CutWriter::old_ticket(uint64_t ticket) const {
    const auto found = std::ranges::lower_bound(older_, ticket);
    return synthetic_limit_ + static_cast<uint64_t>(found - older_.begin());
}

std::string CutWriter::time_key(const Event& observation, const char* key) {
    const bool dated = source_.incident.evidence.outside.earlier_outside.known();
    const bool is_new = !source_.is_old(observation);
    if (!dated || is_new == time_is_new_) return {};
    time_is_new_ = is_new;
    return fmt::format(" {}={}", key, is_new ? kNewTime : "1000");
}

std::string CutWriter::keys(const Event& event) {
    std::string out;
    if (const uint64_t ordinal = thread(event.thread); ordinal != 1)
        out += fmt::format(" thread={}", ordinal);
    if (const auto label = labels_.find(event.ticket); label != labels_.end()) out += " as=" + label->second;
    return out;
}

// ---------------------------------------------------------------- what there is

void CutWriter::find_places() {
    for (const StatedRegion& region : state_.regions) {
        if (region.filler) continue;
        places_.add({region.address, region.end(), region.expandable, true, true});
    }
    for (const Event& event : choice_.events) {
        if (!makes_region(event)) continue;
        const bool mapping = event.kind == Kind::ok && object_of(event) == Object::mapping;
        const bool torch = event.kind != Kind::ok || event.has(kFromTorch);
        places_.add({event.address, event.address + event.size_bytes, mapping, false, torch, event.ticket});
    }
    std::vector<CutRange> loose;
    for (const StatedBlock& block : state_.loose)
        loose.push_back({block.address, block.address + block.size_bytes, true, true, false});
    for (const Event& event : choice_.events) {
        const bool block = event.kind == Kind::block_alloc || event.kind == Kind::initial;
        if (block && !places_.knows(event.address))
            loose.push_back({event.address, event.address + event.size_bytes, true, false, false});
    }
    for (const CutRange& range : loose)
        places_.add(range);
    places_.settle();
}

void CutWriter::find_older() {
    const auto add = [&](uint64_t ticket) {
        if (ticket < choice_.begin_ticket) older_.push_back(ticket);
    };
    for (const StatedRegion& region : state_.regions) {
        if (!region.expandable) add(region.birth_ticket);
        for (const StatedMapping& mapping : region.mappings)
            add(mapping.birth_ticket);
        for (const StatedBlock& block : region.blocks)
            add(block.birth_ticket);
    }
    for (const StatedBlock& block : state_.loose)
        add(block.birth_ticket);
    for (const StatedForeign& foreign : state_.foreign)
        add(foreign.birth_ticket);
    for (const Boundary& boundary : boundaries_) {
        add(boundary.ticket);
        add(boundary.opened_ticket);
    }
    add(source_.capture.header.initial_until_ticket);
    const PinnedDevice& pinned = source_.pinned();
    for (const auto* fact : {&pinned.first_processes, &pinned.peak_allocated, &pinned.peak_reserved})
        if (*fact) add((*fact)->ticket);
    if (const Event* const baseline = source_.baseline()) add(baseline->ticket);
    std::ranges::sort(older_);
    const auto twice = std::ranges::unique(older_);
    older_.erase(twice.begin(), twice.end());
}

void CutWriter::write_head() {
    const HeaderFacts& header = source_.capture.header;
    std::string line = "header";
    const auto put = [&](const char* key, uint64_t value) {
        if (value != 0) line += fmt::format(" {}={}", key, value);
    };
    put("torch_version", header.torch_version);
    put("cudart_version", header.cudart_version);
    put("driver_version", header.driver_version);
    put("python_version", header.python_version);
    put("steps", state_.step_count);
    const AllocatorConfig& config = header.config;
    if (config.expandable_segments) line += " expandable";
    if (config.backend_async) line += " async";
    if (config.caching_disabled) line += " uncached";
    if (config.roundup_list) line += " roundup_list";
    if (!config.known) line += " config_unknown";
    put("max_split_size", config.max_split_size_bytes);
    put("gc_threshold_permille", config.gc_threshold_permille);
    put("roundup_power2_divisions", config.roundup_power2_divisions);
    put("unknown_option_count", config.unknown_option_count);
    if (header.start_mode != StartMode::from_birth)
        line += fmt::format(" start_mode={}", name(header.start_mode));
    if (draft_.without_ring) line += " standby";
    const uint64_t known_from = header.initial_until_ticket;
    if (known_from != 0 && known_from < choice_.begin_ticket)
        line += fmt::format(" initial_until={}", old_ticket(known_from));
    // A number that this build does not know is none of the list's.
    const bool imported = header.origin != Origin::recorder;
    if (imported)
        line += fmt::format(" origin={}", header.origin == Origin::unknown ? "none" : name(header.origin));
    if (header.total_stated) line += " stated=total";
    if (header.stack_wish != StackWish::off) line += fmt::format(" stack_wish={}", name(header.stack_wish));
    if (header.python_stacks != PythonStacks::none)
        line += fmt::format(" python_stacks={}", name(header.python_stacks));
    if (header.native_stacks != NativeStacks::none)
        line += fmt::format(" native_stacks={}", name(header.native_stacks));
    put("stack_depth", header.stack_depth_count);
    if (header.sampling != Sampling::unknown) line += fmt::format(" sampling={}", name(header.sampling));
    put("sample_period_ms", header.sample_period_ms);
    put("blind", header.counters.blind);
    const uint64_t failed = source_.failure().ticket;
    const auto& incomplete = header.incomplete_from_ticket;
    if (incomplete && *incomplete <= failed) put("incomplete_from", 1);
    put("lapped", header.counters.lapped);
    // A loss of another kind before the failure is stated as one that was counted.
    const bool lossy = source_.window().facts.certain_until_ticket < failed;
    put("lost", std::max<uint64_t>(header.counters.lost, lossy ? 1 : 0));
    draft_.head += line + "\n";
    if (source_.device() != 0) draft_.head += fmt::format("device {}\n", source_.device());
}

// ---------------------------------------------------------------- what was live

void CutWriter::write_state() {
    uint64_t fillers = 0, filled = 0;
    for (const StatedRegion& region : state_.regions) {
        if (!region.filler) continue;
        filled += region.stands_for_count;
        const std::string name = fmt::format("full{}", ++fillers);
        const uint64_t birth =
            region.birth_ticket == kNoTicket ? new_ticket() : old_ticket(region.birth_ticket);
        say(fmt::format("live segment {} {} birth={}", name, exact_size(region.size_bytes), birth));
        reserved_bytes_ += region.size_bytes;
        for (const StatedBlock& block : region.blocks)
            write_block(block, name + "+" + exact_size(block.address - region.address));
        ++draft_.segments_count;
        draft_.blocks_count = std::max<uint64_t>(draft_.blocks_count, region.blocks.size());
    }
    if (fillers != 0)
        say(fmt::format("# {} of them: all of {} segments without a free extent", fillers, filled));
    if (earlier_bytes_) {
        const std::string size = exact_size(*earlier_bytes_);
        say(fmt::format("live reserve gone {} birth={}", size, new_ticket()));
        say(fmt::format("live alloc earlier gone+0 {} birth={}", size, new_ticket()));
        allocated_bytes_ += *earlier_bytes_;
    }
    auto region = state_.regions.begin() + static_cast<ptrdiff_t>(fillers);
    auto loose = state_.loose.begin();
    for (const CutPlace& place : places_.all()) {
        if (place.reserved)
            say(fmt::format("live reserve {} {} birth={}", place.name, exact_size(place.end - place.begin),
                            new_ticket()));
        for (; region != state_.regions.end() && region->address < place.end; ++region)
            write_region(*region);
        for (; loose != state_.loose.end() && loose->address < place.end; ++loose)
            write_block(*loose, places_.where(loose->address));
    }
    write_foreign();
}

void CutWriter::write_region(const StatedRegion& region) {
    CutPlace& place = *places_.at(region.address);
    if (!region.expandable) {
        const std::string name = place.reserved ? fmt::format("r{}", ++name_count_) : place.name;
        std::string line = region.op == Op::cudaMalloc
                               ? fmt::format("live segment {} {}", name, exact_size(region.size_bytes))
                               : fmt::format("live call {} {} {} from_torch", name, memsnap::name(region.op),
                                             exact_size(region.size_bytes));
        if (place.reserved) line += " at=" + places_.where(region.address);
        say(line + fmt::format(" birth={}", old_ticket(region.birth_ticket)));
        regions_[region.address] = objects_[region.birth_ticket] = name;
        if (region.op == Op::cudaMalloc) {
            reserved_bytes_ += region.size_bytes;
            reserved_by_[region.birth_ticket] = region.size_bytes;
        }
    }
    if (!region.mappings.empty() && !has_handle_) {
        // Whose physical memory a mapping shows decides nothing: one handle stands for all.
        say(fmt::format("live create handle {} birth={}", exact_size(region.mappings[0].size_bytes),
                        new_ticket()));
        has_handle_ = true;
    }
    for (const StatedMapping& mapping : region.mappings) {
        const std::string name = fmt::format("m{}", ++name_count_);
        say(fmt::format("live map {} {} handle {} birth={}", name, places_.where(mapping.address),
                        exact_size(mapping.size_bytes), old_ticket(mapping.birth_ticket)));
        regions_[mapping.address] = objects_[mapping.birth_ticket] = name;
        reserved_bytes_ += mapping.size_bytes;
        reserved_by_[mapping.birth_ticket] = mapping.size_bytes;
    }
    for (const StatedBlock& block : region.blocks)
        write_block(block, places_.where(block.address));
}

void CutWriter::write_block(const StatedBlock& block, const std::string& where) {
    const std::string name = fmt::format("b{}", ++name_count_);
    block_names_[block.address] = some_name_ = name;
    if (block.deferred) {
        deferred_.push_back({name, where, block.size_bytes});
        if (defers_one_by_one_) return;
    }
    const uint64_t birth = block.birth_ticket == kNoTicket ? new_ticket() : old_ticket(block.birth_ticket);
    std::string line =
        fmt::format("live alloc {} {} {} birth={}", name, where, exact_size(block.size_bytes), birth);
    if (block.site != 0) line += fmt::format(" site={}", site(block.site));
    if (block.step != 0) line += fmt::format(" step={}", block.step);
    line += phase(block.phase);
    if (block.count > 1) line += fmt::format(" count={}", block.count);
    say(std::move(line));
    allocated_bytes_ += block.size_bytes;
    block_sizes_[block.address] = block.size_bytes;
    if (CutPlace* const place = places_.at(block.address); place != nullptr) {
        place->most_blocks_count = std::max(place->most_blocks_count, ++place->block_count);
    }
}

void CutWriter::write_foreign() {
    for (const StatedForeign& foreign : state_.foreign) {
        const std::string name = fmt::format("f{}", ++name_count_);
        const uint64_t birth =
            foreign.birth_ticket == kNoTicket ? new_ticket() : old_ticket(foreign.birth_ticket);
        std::string line = fmt::format("live call {} {} {} birth={}", name, memsnap::name(foreign.op),
                                       exact_size(foreign.size_bytes), birth);
        if (foreign.library != 0) line += fmt::format(" library={}", library(foreign.library));
        if (foreign.count > 1) line += fmt::format(" count={}", foreign.count);
        say(std::move(line));
        if (foreign.alone) objects_[foreign.birth_ticket] = name;
    }
}

}  // namespace memsnap
