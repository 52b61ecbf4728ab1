// SPDX-License-Identifier: Apache-2.0
//
// The ledger's begin, its dispatch over kinds, and what is asked of it. The rule: each kind of event is named
// here, also those that change nothing.
#include "ledger.h"

#include <algorithm>
#include <set>
#include <utility>

#include "window_builder.h"

namespace memsnap {

namespace {

DriverObject driver_object(const LiveObject& object) {
    DriverObject out;
    out.address = object.address;
    out.size_bytes = object.size_bytes;
    out.birth_ticket = object.birth_ticket;
    out.site = object.site;
    out.step = object.step;
    out.phase = object.phase;
    out.library = object.library;
    out.object = object.object;
    out.op = object.op;
    out.device = object.device;
    out.flags = object.flags;
    return out;
}

}  // namespace

Block block_of(const LiveObject& object) {
    Block block;
    block.address = object.address;
    block.size_bytes = object.size_bytes;
    block.birth_ticket = object.birth_ticket;
    block.site = object.site;
    block.step = object.step;
    block.phase = object.phase;
    block.device = object.device;
    return block;
}

Ledger::Ledger(const Window& window)
    : step_count_(window.steps_at_begin), late_start_(window.facts.is_uncertain(Uncertainty::late_start)) {
    for (const LiveObject& object : window.objects) {
        if (object.live_at_begin && object.object != Object::block) object_alloc(driver_object(object));
    }
    for (const LiveObject& object : window.objects) {
        if (!object.live_at_begin || object.object != Object::block) continue;
        const auto broken = add_block(block_of(object), nullptr);
        if (broken && !begin_problem_) begin_problem_ = broken;
    }
}

std::optional<Rule> Ledger::apply(const Event& event, Change& change) {
    const uint64_t announced = std::exchange(birth_announced_at_, kNoTicket);
    const auto broken = change_state(event, change);
    if (event.ticket == announced && event.kind != Kind::birth && !broken) return Rule::birth_missing;
    return broken;
}

std::optional<Rule> Ledger::change_state(const Event& event, Change& change) {
    if (event.has(kBirthFollows)) birth_announced_at_ = event.ticket + 1;
    switch (event.kind) {
        case Kind::block_alloc:
            return block_alloc(event, change);
        case Kind::block_free:
            return block_free(event, change);
        case Kind::block_oom:
            return take_totals(event);
        case Kind::ok:
            return is_birth(event) ? object_alloc(born_object(event)) : std::nullopt;
        case Kind::initial_segment: {
            const auto broken = is_birth(event) ? object_alloc(born_object(event)) : std::nullopt;
            const auto totals = take_totals(event);
            return broken ? broken : totals;
        }
        case Kind::initial:
            return initial_block(event, change);
        case Kind::free:
            return is_death(event) ? object_free(event, change) : std::nullopt;
        case Kind::free_fail:
            return is_refused_death(event) ? object_free_failed(event, change) : std::nullopt;
        case Kind::step:
            step_count_ = static_cast<uint32_t>(event.size_bytes);
            return std::nullopt;
        case Kind::phase_begin:
            ranges_.begin(event);
            return std::nullopt;
        case Kind::phase_end:
            change.collection_ended = ranges_.end(event);
            return std::nullopt;
        case Kind::category:
            take_category(event);
            return std::nullopt;
        case Kind::tap_alloc:
            tap_alloc(event);
            return std::nullopt;
        case Kind::tap_free_requested:
        case Kind::tap_free_completed:
            tap_free(event);
            return std::nullopt;
        case Kind::tap_segment_alloc:
        case Kind::tap_segment_free:
        case Kind::tap_segment_map:
        case Kind::tap_segment_unmap:
            tap_segment(event);
            return std::nullopt;
        case Kind::birth:  // beside its free
        case Kind::try_call:
        case Kind::none:
        case Kind::fail:
        case Kind::mem_info:
        case Kind::blind:
        case Kind::operation:
        case Kind::device_sample:
        case Kind::process_sample:
        case Kind::neighbour:
        case Kind::mark:
        case Kind::note:
        case Kind::cap:
        case Kind::tap_oom:
        case Kind::keyframe:
        case Kind::cupti_memory:
            return std::nullopt;
    }
    return std::nullopt;
}

DriverObject Ledger::born_object(const Event& event) const {
    DriverObject object;
    object.address = event.address;
    object.size_bytes = event.size_bytes;
    object.birth_ticket = event.ticket;
    object.site = event.site();
    object.handle = event.op == Op::cuMemMap ? event.extra : 0;
    object.step = step_count_;
    object.phase = phase_on(event.thread);
    object.library = event.library;
    object.object = object_of(event);
    object.op = event.op;
    object.device = event.device;
    object.flags = event.flags;
    return object;
}

std::optional<Rule> Ledger::initial_block(const Event& event, Change& change) {
    Block block;
    block.address = event.address;
    block.size_bytes = event.size_bytes;
    block.birth_ticket = event.ticket;
    block.site = event.site();
    block.step = step_count_;
    block.phase = phase_on(event.thread);
    block.thread = event.thread;
    block.device = event.device;
    take_request(block);
    const auto broken = add_block(block, &change.born);
    const auto totals = take_totals(event);
    return broken ? broken : totals;
}

// Told of any address in the block. Another number, or none, tells nothing.
void Ledger::take_category(const Event& event) {
    const Block* const holder = block_at(event.address);
    const bool told = event.code > static_cast<uint16_t>(Category::none) && event.code < kCategoryCount;
    if (!told || holder == nullptr || holder->device != event.device) return;
    Block* const block = blocks_.find(holder->address);
    count_category(*block, false);
    block->category = static_cast<Category>(event.code);
    count_category(*block, true);
}

void Ledger::count_category(const Block& block, bool live) {
    if (block.category == Category::none || block.device < 0) return;
    totals_[static_cast<size_t>(block.device)].category_bytes[static_cast<size_t>(block.category)] +=
        live ? block.size_bytes : uint64_t{0} - block.size_bytes;
}

void Ledger::account(const Segment& segment, bool live) {
    const bool made_of_one = segment.kind == SegmentKind::native;
    if (made_of_one) settle_object(segment.birth_ticket, live && segment.state != SegmentState::foreign);
    if (segment.device < 0) return;
    DeviceTotals& totals = totals_[static_cast<size_t>(segment.device)];
    std::set<uint64_t>& candidates = states_[static_cast<size_t>(segment.device)].candidates;
    const uint64_t bytes = live ? segment.size_bytes : uint64_t{0} - segment.size_bytes;
    switch (segment.state) {
        case SegmentState::candidate:
            totals.candidate_bytes += bytes;
            if (live) {
                candidates.insert(segment.address);
            } else {
                candidates.erase(segment.address);
            }
            break;
        case SegmentState::segment:
            totals.segment_bytes += bytes;
            break;
        case SegmentState::direct:
            totals.direct_bytes += bytes;
            break;
        case SegmentState::foreign:
            break;
    }
}

void Ledger::set_state(Segment& segment, SegmentState state) {
    account(segment, false);
    segment.state = state;
    account(segment, true);
}

std::vector<int> Ledger::devices() const {
    std::vector<int> devices;
    for (int device = 0; device < kDeviceCapacity; ++device) {
        if (totals_[static_cast<size_t>(device)].in_use()) devices.push_back(device);
    }
    return devices;
}

const Segment* Ledger::segment_of(uint64_t address) const {
    const Segment* const segment = segments_.at_or_before(address);
    return segment != nullptr && address < segment->end() ? segment : nullptr;
}

std::optional<Rule> Ledger::check_end(const Window& window) const {
    uint64_t block_count = 0, object_count = 0;
    bool blocks_agree = true, objects_agree = true;
    for (const LiveObject& object : window.objects) {
        if (!object.live_at_end) continue;
        if (object.object == Object::block) {
            if (!has_block_size(block_of(object))) continue;  // said of its birth already
            const Block* const block = blocks_.find(object.address);
            blocks_agree &= block != nullptr && block->birth_ticket == object.birth_ticket &&
                            block->size_bytes == object.size_bytes;
            ++block_count;
        } else {
            const DriverObject* const found = objects_.find(object.birth_ticket);
            objects_agree &= found != nullptr && found->address == object.address;
            ++object_count;
        }
    }
    if (!blocks_agree || block_count != blocks_.size()) return Rule::table_end;
    if (!objects_agree || object_count != objects_.size()) return Rule::object_end;
    return std::nullopt;
}

}  // namespace memsnap
