// SPDX-License-Identifier: Apache-2.0
//
// Objects below the caching allocator, and the segments that some of them are. The rule: this layer belongs
// to many libraries and is never strict; an object is its birth ticket, physical memory is its handle.
#include <algorithm>

#include "ledger.h"

namespace memsnap {

namespace {

// What can be a segment or a tensor of its own. PyTorch takes the latter from the driver's pools, too.
bool is_region(const DriverObject& object) {
    const bool pooled_tensor = object.object == Object::async && object.from_torch();
    return (object.object == Object::device || object.object == Object::mapping || pooled_tensor) &&
           object.size_bytes != 0 && object.address <= ~object.size_bytes;
}

}  // namespace

std::optional<Rule> Ledger::object_alloc(const DriverObject& object) {
    const DriverObject& entered = enter(object);
    if (!is_region(entered) || entered.imported()) return std::nullopt;
    Segment region;
    region.address = entered.address;
    region.size_bytes = entered.size_bytes;
    region.birth_ticket = entered.birth_ticket;
    region.library = entered.library;
    region.device = entered.device;
    if (!entered.from_torch()) {
        region.state = SegmentState::foreign;
    } else if (entered.object == Object::mapping) {
        region.kind = SegmentKind::expandable;
        region.state = SegmentState::segment;
        region.granule_bytes = entered.size_bytes;
        page_bytes_[entered.address] = entered.size_bytes;
    }
    if (entered.op == Op::none)
        region.state = SegmentState::segment;  // told by the allocator at a late start
    return add_region(region);
}

// In the table and in the sums, but not yet as a region.
DriverObject& Ledger::enter(const DriverObject& object) {
    DriverObject entered = object;
    entered.in_segment = object.object == Object::mapping && object.from_torch();
    if (entered.object == Object::mapping) {
        const auto memory = physical_.find(entered.handle);
        if (memory == physical_.end()) {
            entered.handle = 0;  // a later handle of that number is another
        } else {
            if (entered.device < 0) entered.device = memory->second.device;
            if (memory->second.imported) entered.flags |= kImported;
        }
    }
    take_handle(entered);
    count(entered, true);
    return objects_.insert(entered.birth_ticket, entered);
}

// Contiguous mappings of PyTorch's allocator are one segment.
std::optional<Rule> Ledger::add_region(const Segment& added) {
    Segment region = added;
    std::optional<Rule> broken;
    for (auto near = segments_.place(region.address);; near = segments_.place(region.address)) {
        const Segment* other = nullptr;
        if (near.before != nullptr && near.before->end() > region.address) other = near.before;
        if (other == nullptr && near.after != nullptr && near.after->address < region.end())
            other = near.after;
        if (other == nullptr) break;
        broken = Rule::segment_overlap;
        account(*other, false);
        segments_.erase(other->address);
    }
    const auto joins = [&](const Segment* other) {
        return other != nullptr && region.kind == SegmentKind::expandable &&
               other->kind == SegmentKind::expandable && other->device == region.device &&
               other->state == region.state;
    };
    const auto near = segments_.place(region.address);
    const bool joins_after = joins(near.after) && near.after->address == region.end();
    const bool joins_before = joins(near.before) && near.before->end() == region.address;
    account(region, true);
    if (joins_after) {
        const Segment after = *near.after;
        segments_.erase(after.address);
        region.size_bytes += after.size_bytes;
        region.largest_block_bytes = std::max(region.largest_block_bytes, after.largest_block_bytes);
    }
    if (joins_before) {
        Segment& before = *segments_.at_or_before(region.address);
        before.size_bytes += region.size_bytes;
        before.largest_block_bytes = std::max(before.largest_block_bytes, region.largest_block_bytes);
    } else {
        segments_.insert(region.address, region);
    }
    return broken;
}

std::optional<Rule> Ledger::object_free(const Event& event, Change& change) {
    const DriverObject* const found = objects_.find(event.birth_ticket());
    if (found == nullptr) return Rule::object_unmatched;
    LastFree& last = last_free(event, found->birth_ticket);
    last.object = *found;
    change.object = &last.object;
    count(last.object, false);
    objects_.erase(last.object.birth_ticket);
    last.memory = drop_handle(last.object);
    if (is_region(last.object) && !last.object.imported()) remove_region(last.object, last.segment);
    return std::nullopt;
}

// The frees of a context's end, or of a range of mappings, belong together: what ends with it was born before
// the first of them.
Ledger::LastFree& Ledger::last_free(const Event& event, uint64_t birth_ticket) {
    LastCall& last = last_calls_[event.thread];
    const bool same_call = frees_many(event.op) && last.op == event.op && birth_ticket < last.first_ticket;
    if (!same_call) {
        last.op = event.op;
        last.first_ticket = event.ticket;
        last.frees.clear();
    }
    return last.frees[birth_ticket];
}

std::optional<Rule> Ledger::object_free_failed(const Event& event, Change& change) {
    // A free that ended nothing leaves nothing to take back; it was counted itself.
    const auto call = last_calls_.find(event.thread);
    if (call == last_calls_.end()) return std::nullopt;
    const auto freed = call->second.frees.extract(event.birth_ticket());
    if (freed.empty()) return std::nullopt;
    const LastFree& last = freed.mapped();
    if (last.memory) physical_.emplace(handle_of(last.object), *last.memory);
    change.object = &enter(last.object);
    return last.segment ? add_region(*last.segment) : std::nullopt;
}

void Ledger::remove_region(const DriverObject& object, std::optional<Segment>& removed) {
    const Segment* const segment = segments_.at_or_before(object.address);
    if (segment == nullptr || segment->end() < object.address + object.size_bytes) return;
    if (segment->kind == SegmentKind::native && segment->birth_ticket != object.birth_ticket) return;
    removed = *segment;
    removed->address = object.address;
    removed->size_bytes = object.size_bytes;
    if (removed->kind == SegmentKind::expandable) removed->granule_bytes = object.size_bytes;
    unmap(object.address, object.size_bytes);
}

// Cuts a range out of the segment that holds it.
void Ledger::unmap(uint64_t address, uint64_t size_bytes) {
    const Segment whole = *segments_.at_or_before(address);
    const uint64_t end = address + size_bytes;
    account(whole, false);
    segments_.erase(whole.address);
    const auto keep = [&](uint64_t from, uint64_t to) {
        if (from >= to) return;
        Segment rest = whole;
        rest.address = from;
        rest.size_bytes = to - from;
        if (const auto page = page_bytes_.find(from); page != page_bytes_.end())
            rest.granule_bytes = page->second;
        account(rest, true);
        segments_.insert(from, rest);
    };
    keep(whole.address, address);
    keep(end, whole.end());
}

uint64_t Ledger::handle_of(const DriverObject& object) {
    if (object.object == Object::vmm_handle) return object.address;
    return object.object == Object::mapping ? object.handle : 0;
}

const PhysicalMemory* Ledger::memory_behind(uint64_t birth_ticket) const {
    const DriverObject* const object = objects_.find(birth_ticket);
    const auto found = object == nullptr ? physical_.end() : physical_.find(handle_of(*object));
    return found == physical_.end() ? nullptr : &found->second;
}

// Physical memory lives while it has a reference or a mapping.
void Ledger::take_handle(const DriverObject& object) {
    const uint64_t handle = handle_of(object);
    if (handle == 0) return;
    if (object.object == Object::mapping) {
        change_memory(handle, &PhysicalMemory::mapping_count, true);
        return;
    }
    const auto [found, fresh] = physical_.try_emplace(handle);
    PhysicalMemory& memory = found->second;
    if (fresh) {
        memory.size_bytes = object.size_bytes;
        memory.library = object.library;
        memory.device = object.device;
        memory.from_torch = object.from_torch();
        memory.imported = object.op == Op::cuMemImportFromShareableHandle || object.imported();
        memory.birth_ticket = object.birth_ticket;
    }
    change_memory(handle, &PhysicalMemory::reference_count, true);
}

std::optional<PhysicalMemory> Ledger::drop_handle(const DriverObject& object) {
    const uint64_t handle = handle_of(object);
    const auto found = physical_.find(handle);
    if (handle == 0 || found == physical_.end()) return std::nullopt;
    const bool reference = object.object == Object::vmm_handle;
    change_memory(handle, reference ? &PhysicalMemory::reference_count : &PhysicalMemory::mapping_count,
                  false);
    if (found->second.lives()) return std::nullopt;
    const PhysicalMemory gone = found->second;
    physical_.erase(found);
    return gone;
}

// The torch tap refines a segment that was seen being made; of another it tells nothing, also when it tells
// of an older one again.
void Ledger::tap_segment(const Event& event) {
    tap_seen_ = true;
    const bool lives = event.kind == Kind::tap_segment_alloc || event.kind == Kind::tap_segment_map;
    Segment* const segment = segments_.at_or_before(event.address);
    if (!lives || segment == nullptr || event.address >= segment->end()) return;
    segment->stream = event.stream();
    segment->pool = event.pool();
    segment->tap_known = true;
    account(*segment, false);
    if (segment->device < 0) segment->device = event.device;
    segment->state = SegmentState::segment;
    account(*segment, true);
}

}  // namespace memsnap
