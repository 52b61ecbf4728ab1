// SPDX-License-Identifier: Apache-2.0
//
// Events to records and live entries.
#include "ring_image.h"

#include <cstring>

#include "ring_image_state.h"

namespace memsnap::snapshot {

namespace {

constexpr uint8_t kUnknownDevice = 0xFF;  // −1

void put_extra(wire::Record& record, uint64_t extra, uint16_t extra16) {
    std::memcpy(record.tail, &extra, 8);
    std::memcpy(record.tail + 8, &extra16, 2);
}

}  // namespace

RingImage::RingImage(wire::Origin origin, const std::array<uint8_t, 16>& id)
    : state_(std::make_unique<State>(origin, id)) {}
RingImage::RingImage(RingImage&& other) noexcept = default;
RingImage::~RingImage() = default;

uint64_t RingImage::site(const Texts& texts, const std::vector<Frame>& innermost_first) {
    return state_->names.stack(texts, innermost_first);
}

uint16_t RingImage::name(std::string_view text) {
    return state_->names.name(text);
}

void RingImage::config(const Settings& settings) {
    if (!settings.known) return;
    wire::AllocatorConfig& config = state_->config;
    config.flags = wire::kConfigKnown;
    if (settings.expandable_segments) config.flags |= wire::kConfigExpandableSegments;
    config.gc_threshold_permille = settings.gc_threshold_permille.value_or(0);
    config.max_split_size_bytes = settings.max_split_size_bytes.value_or(0);
    const auto& divisions = settings.roundup_power2_divisions;
    bool equal = true;
    for (const auto& [bound, count] : divisions)
        equal = equal && count == divisions.front().second;
    if (divisions.empty()) return;
    if (equal) config.roundup_power2_divisions = static_cast<uint32_t>(divisions.front().second);
    if (!equal) config.flags |= wire::kConfigRoundupList;
}

void RingImage::total_is_stated() {
    state_->stated |= wire::kTotalStated;
}

void RingImage::events_are_lost(uint64_t count) {
    state_->lost_count += count;
}

wire::Record RingImage::State::blank(const Moment& moment, wire::Kind kind) const {
    wire::Record record = {};
    record.kind = kind;
    record.thread = thread_index(moment);
    record.device = static_cast<int8_t>(moment.device == kHostMemory ? kUnknownDevice : moment.device);
    record.library = kTorchLibrary;
    record.flags = wire::kFlagFromTorch;
    return record;
}

const wire::Record& RingImage::State::append(const Moment& moment, wire::Record record) {
    if (moment.time_ns != 0) last_time_ns = moment.time_ns;
    if (first_time_ns == 0) first_time_ns = moment.time_ns;
    ThreadImage& thread = thread_of(moment);
    if (!thread.used) thread.first_ticket = records.count();
    thread.used = true;
    record.seq = records.count() + 1;
    record.time = last_time_ns;
    seal(record);
    records.append(record);
    last = record;
    return last;
}

void RingImage::State::put_totals(wire::Record& record, const Totals& given, DeviceImage& device) const {
    const auto [allocated_bytes, reserved_bytes] =
        given ? *given : std::pair(device.allocated_bytes, device.reserved_bytes);
    device.reported_allocated_bytes = allocated_bytes;
    device.reported_reserved_bytes = reserved_bytes;
    put_u40(record.tail, allocated_bytes / wire::kTotalsUnit_bytes);
    put_u40(record.tail + 5, reserved_bytes / wire::kTotalsUnit_bytes);
    record.flags |= wire::kFlagTotals;
}

LiveThing RingImage::State::enter(const wire::Record& birth, wire::Object object) {
    auto place = static_cast<uint32_t>(table.size());
    if (unused_entries.empty()) {
        table.emplace_back();
    } else {
        place = unused_entries.back();
        unused_entries.pop_back();
    }
    wire::LiveEntry& entry = table[place];
    entry = {};
    entry.state = birth.seq << 1 | 1;
    entry.address = birth.address;
    entry.size = birth.size;
    entry.birth_ticket = birth.seq - 1;
    entry.birth_time = birth.time;
    entry.site = birth.link;
    entry.phase = phase_on(birth.thread);
    entry.library = birth.library;
    entry.object = object;
    entry.device = birth.device;
    entry.op = birth.op;
    entry.flags = birth.flags;
    seal(entry);
    if (birth.link == 0) ++without_site_count;
    return {entry.birth_ticket, birth.size, place};
}

void RingImage::State::leave(const LiveThing& thing, uint64_t death_ticket) {
    table[thing.entry].state = (death_ticket + 1) << 1;
    unused_entries.push_back(thing.entry);
}

LiveThing RingImage::State::born(const Moment& moment, wire::Record record, wire::Object object,
                                 uint64_t address, uint64_t size_bytes) {
    record.address = address;
    record.size = size_bytes;
    record.link = moment.site;
    return enter(append(moment, record), object);
}

void RingImage::State::freed(const Moment& moment, wire::Op op, uint64_t address, const LiveThing& thing) {
    wire::Record record = blank(moment, wire::Kind::free);
    record.op = op;
    record.address = address;
    record.size = thing.size_bytes;
    record.link = thing.birth_ticket;
    leave(thing, append(moment, record).seq - 1);
}

// ---------------------------------------------------------------- blocks

void RingImage::State::block_born(const Moment& moment, wire::Record record, uint64_t address,
                                  uint64_t granted_bytes) {
    DeviceImage& device = on(moment);
    const LiveThing block = born(moment, record, wire::Object::block, address, granted_bytes);
    const auto [found, fresh] = device.blocks.try_emplace(address, block);
    if (fresh) return;
    leave(found->second, last.seq - 1);  // whose end nobody told
    found->second = block;
}

void RingImage::initial_block(const Moment& moment, uint64_t address, uint64_t granted_bytes, bool last) {
    DeviceImage& device = state_->on(moment);
    device.allocated_bytes += granted_bytes;
    wire::Record record = state_->blank(moment, wire::Kind::initial);
    if (last) state_->put_totals(record, {}, device);
    state_->block_born(moment, record, address, granted_bytes);
    state_->initial_until = state_->last.seq;
    if (last)
        device.pins.block(state_->last, device.reported_allocated_bytes, device.reported_reserved_bytes);
}

void RingImage::block_alloc(const Moment& moment, uint64_t address, uint64_t granted_bytes, Totals totals) {
    DeviceImage& device = state_->on(moment);
    if (const auto older = device.blocks.find(address); older != device.blocks.end())
        device.allocated_bytes -= older->second.size_bytes;
    device.allocated_bytes += granted_bytes;
    wire::Record record = state_->blank(moment, wire::Kind::block_alloc);
    state_->put_totals(record, totals, device);
    state_->block_born(moment, record, address, granted_bytes);
    device.pins.block(state_->last, device.reported_allocated_bytes, device.reported_reserved_bytes);
}

void RingImage::block_free(const Moment& moment, uint64_t address, uint64_t granted_bytes, Totals totals) {
    DeviceImage& device = state_->on(moment);
    wire::Record record = state_->blank(moment, wire::Kind::block_free);
    record.address = address;
    record.size = granted_bytes;
    record.link = wire::kNoTicket;
    const auto found = device.blocks.find(address);
    const bool known = found != device.blocks.end();
    if (known) {
        device.allocated_bytes -= found->second.size_bytes;
        record.link = found->second.birth_ticket;
    } else {
        ++state_->unknown_free_count;
    }
    state_->put_totals(record, totals, device);
    const uint64_t ticket = state_->append(moment, record).seq - 1;
    if (!known) return;
    state_->leave(found->second, ticket);
    device.blocks.erase(found);
}

void RingImage::oom(const Moment& moment, uint64_t request_bytes, Totals totals) {
    DeviceImage& device = state_->on(moment);
    wire::Record operation = state_->blank(moment, wire::Kind::operation);
    operation.link = wire::kNoTicket;  // nobody told which device call was refused, if one was
    put_extra(operation, device.failing_observation, 0);
    device.failing_observation = wire::kNoTicket;
    state_->append(moment, operation);
    wire::Record record = state_->blank(moment, wire::Kind::block_oom);
    record.size = request_bytes;
    record.link = moment.site;
    state_->put_totals(record, totals, device);
    state_->append(moment, record);
    ++state_->failure_count;
}

// ---------------------------------------------------------------- below the blocks

void RingImage::initial_segment(const Moment& moment, uint64_t address, uint64_t size_bytes, bool last) {
    DeviceImage& device = state_->on(moment);
    device.reserved_bytes += size_bytes;
    wire::Record record = state_->blank(moment, wire::Kind::initial_segment);
    if (last) state_->put_totals(record, {}, device);
    device.segments[address] = state_->born(moment, record, wire::Object::device, address, size_bytes);
    state_->initial_until = state_->last.seq;
    if (last)
        device.pins.block(state_->last, device.reported_allocated_bytes, device.reported_reserved_bytes);
}

void RingImage::segment_alloc(const Moment& moment, uint64_t address, uint64_t size_bytes) {
    DeviceImage& device = state_->on(moment);
    device.reserved_bytes += size_bytes;
    wire::Record record = state_->blank(moment, wire::Kind::ok);
    record.op = wire::Op::cudaMalloc;
    device.segments[address] = state_->born(moment, record, wire::Object::device, address, size_bytes);
}

void RingImage::segment_free(const Moment& moment, uint64_t address) {
    DeviceImage& device = state_->on(moment);
    const auto found = device.segments.find(address);
    if (found == device.segments.end()) return;
    device.reserved_bytes -= found->second.size_bytes;
    state_->freed(moment, wire::Op::cudaFree, address, found->second);
    device.segments.erase(found);
}

void RingImage::State::pages(const Moment& moment, uint64_t address, uint64_t size_bytes,
                             uint64_t page_bytes) {
    DeviceImage& device = on(moment);
    device.reserved_bytes += size_bytes;
    for (uint64_t at = address; at < address + size_bytes; at += page_bytes) {
        wire::Record record = blank(moment, wire::Kind::ok);
        record.op = wire::Op::cuMemMap;
        device.pages[at] =
            born(moment, record, wire::Object::mapping, at, std::min(page_bytes, address + size_bytes - at));
    }
}

void RingImage::initial_pages(const Moment& moment, uint64_t address, uint64_t size_bytes,
                              uint64_t page_bytes) {
    state_->pages(moment, address, size_bytes, page_bytes);
}

void RingImage::map_pages(const Moment& moment, uint64_t address, uint64_t size_bytes, uint64_t page_bytes) {
    state_->pages(moment, address, size_bytes, page_bytes);
}

void RingImage::unmap_pages(const Moment& moment, uint64_t address, uint64_t size_bytes) {
    DeviceImage& device = state_->on(moment);
    auto page = device.pages.lower_bound(address);
    while (page != device.pages.end() && page->first < address + size_bytes) {
        device.reserved_bytes -= page->second.size_bytes;
        state_->freed(moment, wire::Op::cuMemUnmap, page->first, page->second);
        page = device.pages.erase(page);
    }
}

void RingImage::initial_host(const Moment& moment, uint64_t address, uint64_t size_bytes) {
    host_alloc(moment, address, size_bytes);
}

void RingImage::host_alloc(const Moment& moment, uint64_t address, uint64_t size_bytes) {
    wire::Record record = state_->blank(moment, wire::Kind::ok);
    record.op = wire::Op::cudaHostAlloc;
    record.flags = 0;  // not the caching allocator of a device
    record.library = 0;
    state_->host[address] = state_->born(moment, record, wire::Object::host, address, size_bytes);
}

void RingImage::host_free(const Moment& moment, uint64_t address) {
    const auto found = state_->host.find(address);
    if (found == state_->host.end()) return;
    state_->freed(moment, wire::Op::cudaFreeHost, address, found->second);
    state_->host.erase(found);
}

// ---------------------------------------------------------------- the tap, and observations

void RingImage::tap(const Moment& moment, wire::Kind kind, uint64_t address, uint64_t size_bytes,
                    uint64_t stream, uint16_t pool, uint64_t link) {
    wire::Record record = state_->blank(moment, kind);
    record.address = address;
    record.size = size_bytes;
    record.link = link;
    put_extra(record, stream, pool);
    state_->append(moment, record);
}

uint64_t RingImage::State::observe(const Moment& moment, uint64_t total_bytes, uint64_t free_bytes) {
    DeviceImage& device = on(moment);
    wire::Record record = blank(moment, wire::Kind::mem_info);
    record.op = wire::Op::cudaMemGetInfo;
    record.size = total_bytes;
    record.link = free_bytes;
    if (device.pins.has_reported()) {
        const std::pair reported(device.reported_allocated_bytes, device.reported_reserved_bytes);
        put_totals(record, reported, device);
    }
    append(moment, record);
    device.pins.observation(last, device.reported_reserved_bytes);
    return last.seq - 1;
}

void RingImage::observation(const Moment& moment, uint64_t total_bytes, uint64_t free_bytes) {
    state_->observe(moment, total_bytes, free_bytes);
}

void RingImage::failing_observation(const Moment& moment, uint64_t total_bytes, uint64_t free_bytes) {
    state_->on(moment).failing_observation = state_->observe(moment, total_bytes, free_bytes);
}

// ---------------------------------------------------------------- what is live now

uint64_t RingImage::allocated_bytes(int device) const {
    return state_->devices[static_cast<size_t>(device)].allocated_bytes;
}

uint64_t RingImage::reserved_bytes(int device) const {
    return state_->devices[static_cast<size_t>(device)].reserved_bytes;
}

uint64_t RingImage::left_out_range_count() const {
    return state_->left_out_range_count;
}

std::optional<uint64_t> RingImage::granted_bytes(int device, uint64_t address) const {
    const auto& blocks = state_->devices[static_cast<size_t>(device)].blocks;
    const auto found = blocks.find(address);
    return found == blocks.end() ? std::nullopt : std::optional(found->second.size_bytes);
}

}  // namespace memsnap::snapshot
