// SPDX-License-Identifier: Apache-2.0
//
// The recorder in slow motion. Checks are computed bit by bit here, so that a mistake of the reader's CRC
// shows.
#include "ring_writer.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <stdexcept>

namespace memsnap::test {

namespace {

uint32_t crc_step(uint32_t state, uint8_t byte) {
    static const auto table = [] {
        std::array<uint32_t, 256> rows = {};
        for (uint32_t i = 0; i < 256; ++i) {
            rows[i] = i;
            for (int bit = 0; bit < 8; ++bit)
                rows[i] = (rows[i] >> 1) ^ (rows[i] % 2 != 0 ? 0x82F63B78U : 0U);
        }
        return rows;
    }();
    return (state >> 8) ^ table[(state ^ byte) & 0xFF];
}

// Over the bytes of a structure from `from` on, without the four of its check.
template <class T>
uint32_t check_of(const T& value, size_t from) {
    uint8_t bytes[sizeof(T)];
    std::memcpy(bytes, &value, sizeof(T));
    uint32_t state = ~0U;
    for (size_t i = from; i < sizeof(T); ++i) {
        if (i >= offsetof(T, check) && i < offsetof(T, check) + 4) continue;
        state = crc_step(state, bytes[i]);
    }
    return ~state;
}

struct KnownCall {
    wire::Op makes;
    wire::Op frees;
    wire::Object object;
};
constexpr KnownCall kKnownCalls[] = {
    {wire::Op::cudaMalloc, wire::Op::cudaFree, wire::Object::device},
    {wire::Op::cuMemAlloc, wire::Op::cuMemFree, wire::Object::device},
    {wire::Op::cuMemCreate, wire::Op::cuMemRelease, wire::Object::vmm_handle},
    {wire::Op::cuMemImportFromShareableHandle, wire::Op::cuMemRelease, wire::Object::vmm_handle},
    {wire::Op::cuMemMap, wire::Op::cuMemUnmap, wire::Object::mapping},
    {wire::Op::cudaMallocHost, wire::Op::cudaFreeHost, wire::Object::host},
    {wire::Op::cudaMallocManaged, wire::Op::cudaFree, wire::Object::managed},
    {wire::Op::cudaMallocAsync, wire::Op::cudaFreeAsync, wire::Object::async},
    {wire::Op::cudaIpcOpenMemHandle, wire::Op::cudaIpcCloseMemHandle, wire::Object::import},
};

const KnownCall& known_call(wire::Op op) {
    for (const KnownCall& call : kKnownCalls) {
        if (call.makes == op || call.frees == op) return call;
    }
    throw std::logic_error("the ring writer does not know this call");
}

wire::Object object_class(wire::Op op) {
    return known_call(op).object;
}

}  // namespace

RingWriter::RingWriter(const RingWriterOptions& options) : options_(options) {
    const uint64_t keyframe_bytes =
        sizeof(wire::Keyframe) +
        sizeof(wire::Record) * (wire::kKeyframeOperationRecords + uint64_t{options.keyframe_ring_records}) +
        sizeof(wire::PinnedDevice) * wire::kDeviceCapacity +
        sizeof(wire::LiveEntry) * uint64_t{options.keyframe_entries};
    const std::pair<uint64_t, uint32_t> areas[wire::kAreaCount] = {
        {sizeof(wire::Record), options.ring_records},
        {sizeof(wire::LiveEntry), options.table_entries},
        {sizeof(wire::PinnedDevice), wire::kDeviceCapacity},
        {sizeof(wire::Boundary), options.boundary_entries},
        {keyframe_bytes, wire::kKeyframeSlots},
        {sizeof(wire::Thread), 64},
        {sizeof(wire::Library), 64},
        {sizeof(wire::Anchor), 16},
    };
    wire::Header head = {};
    uint64_t offset_bytes = wire::kAreaAlignment_bytes;
    for (size_t i = 0; i < wire::kAreaCount; ++i) {
        const uint64_t bytes = areas[i].first * areas[i].second;
        const uint64_t mask = wire::kAreaAlignment_bytes - 1;
        head.areas[i] = {offset_bytes, (bytes + mask) & ~mask, static_cast<uint32_t>(areas[i].first),
                         areas[i].second};
        offset_bytes += head.areas[i].size_bytes;
    }
    std::copy(std::begin(wire::kMagic), std::end(wire::kMagic), head.magic);
    head.version_major = wire::kVersionMajor;
    head.version_minor = wire::kVersionMinor;
    head.byte_order = wire::kByteOrder;
    head.header_bytes = sizeof(wire::Header);
    head.record_bytes = sizeof(wire::Record);
    head.file_bytes = offset_bytes;
    for (uint8_t i = 0; i < 16; ++i)
        head.ring_id[i] = i;
    head.pid = 4121;
    head.rank = head.local_rank = head.world_size = -1;
    head.recorder_version = 100;
    head.torch_version = 21401;
    head.cudart_version = 13000;
    head.driver_version = 13000;
    head.clock_source = wire::ClockSource::monotonic_ns;
    head.config.flags = wire::kConfigKnown;
    head.library_count = head.thread_count = 2;
    head.boundary_stride = 1;
    image_.resize(offset_bytes);
    std::memcpy(image_.data(), &head, sizeof head);
    area<wire::Thread>(wire::AreaId::threads)[1].tid = 4121;
}

wire::Header& RingWriter::header() {
    return *reinterpret_cast<wire::Header*>(image_.data());
}

wire::Record& RingWriter::at(uint64_t ticket) {
    return area<wire::Record>(wire::AreaId::ring)[ticket % options_.ring_records];
}

void RingWriter::seal(wire::Record& record) {
    record.check = check_of(record, 0);
}
void RingWriter::seal(wire::LiveEntry& entry) {
    entry.check = check_of(entry, 8);
}
void RingWriter::seal(wire::Boundary& boundary) {
    boundary.check = check_of(boundary, 8);
}

wire::Record RingWriter::blank(wire::Kind kind, int device) const {
    wire::Record record = {};
    record.kind = kind;
    record.device = static_cast<int8_t>(device);
    return record;
}

void RingWriter::put_u40(uint8_t* out, uint64_t value) {
    std::memcpy(out, &value, 5);
}

void RingWriter::put_totals(wire::Record& record) const {
    const auto found = totals_.find(record.device);
    if (found == totals_.end()) return;
    RingWriter::put_u40(record.tail, found->second.allocated_bytes / wire::kTotalsUnit_bytes);
    RingWriter::put_u40(record.tail + 5, found->second.reserved_bytes / wire::kTotalsUnit_bytes);
    record.flags |= wire::kFlagTotals;
}

uint64_t RingWriter::record(wire::Record record) {
    const uint64_t ticket = header().head++;
    record.seq = ticket + 1;
    record.thread = thread;
    if (record.library == 0) record.library = library;
    if (record.time == 0) record.time = ++time;
    seal(record);
    at(ticket) = record;
    return ticket;
}

uint64_t RingWriter::lose() {
    const uint64_t ticket = header().head++;
    at(ticket).seq = 0;
    return ticket;
}

size_t RingWriter::enter(uint64_t ticket, wire::Object object) {
    const wire::Record& record = at(ticket);
    size_t place = table_.size();
    if (unused_entries_.empty()) {
        if (place == options_.table_entries) throw std::length_error("the test's live table is full");
        table_.emplace_back();
    } else {
        place = unused_entries_.back();
        unused_entries_.pop_back();
    }
    wire::LiveEntry entry = {};
    entry.state = (ticket + 1) << 1 | 1;
    entry.address = record.address;
    entry.size = record.size;
    entry.birth_ticket = ticket;
    entry.birth_time = record.time;
    entry.site = record.link;
    entry.step = step_;
    entry.phase = phase_;
    entry.library = record.library;
    entry.object = object;
    entry.device = record.device;
    entry.op = record.op;
    entry.flags = record.flags;
    seal(entry);
    table_[place] = entry;
    return place;
}

wire::LiveEntry* RingWriter::live(uint64_t birth_ticket) {
    for (wire::LiveEntry& entry : table_) {
        if ((entry.state & 1) != 0 && entry.birth_ticket == birth_ticket) return &entry;
    }
    return nullptr;
}

uint64_t RingWriter::block_alloc(uint64_t address, uint64_t size_bytes, int device) {
    totals_[device].allocated_bytes += size_bytes;
    wire::Record it = blank(wire::Kind::block_alloc, device);
    it.address = address;
    it.size = size_bytes;
    it.link = site;
    put_totals(it);
    const uint64_t ticket = record(it);
    blocks_[address] = {ticket,         size_bytes, device,
                        wire::Op::none, false,      enter(ticket, wire::Object::block)};
    return ticket;
}

uint64_t RingWriter::block_free(uint64_t address) {
    const Object block = blocks_.at(address);
    blocks_.erase(address);
    totals_[block.device].allocated_bytes -= block.size_bytes;
    wire::Record it = blank(wire::Kind::block_free, block.device);
    it.address = address;
    it.size = block.size_bytes;
    put_totals(it);
    return free_record(it, block);
}

// The record of a free, with the birth behind it when the birth is old; then the entry dies.
uint64_t RingWriter::free_record(wire::Record it, const Object& object) {
    it.link = object.birth_ticket;
    const wire::LiveEntry entry = table_[object.entry];
    const bool old = header().head - object.birth_ticket > options_.ring_records / wire::kWindowDivisor;
    if (old) it.flags |= wire::kFlagBirthFollows;
    const uint64_t ticket = record(it);
    if (old) {
        wire::Record birth = blank(wire::Kind::birth, object.device);
        birth.address = it.address;
        birth.size = object.size_bytes;
        birth.link = entry.site;
        birth.time = entry.birth_time;
        birth.library = entry.library;
        birth.op = entry.op;
        const uint64_t step = entry.step;
        std::memcpy(birth.tail, &step, 8);
        std::memcpy(birth.tail + 8, &entry.phase, 2);
        record(birth);
    }
    table_[object.entry].state = (ticket + 1) << 1;
    unused_entries_.push_back(object.entry);
    return ticket;
}

uint64_t RingWriter::block_oom(uint64_t request_bytes, int device) {
    wire::Record it = blank(wire::Kind::block_oom, device);
    it.size = request_bytes;
    it.link = site;
    put_totals(it);
    header().failure_count++;
    return record(it);
}

uint64_t RingWriter::call(wire::Op op, uint64_t address, uint64_t size_bytes, int device, uint64_t extra,
                          bool from_torch) {
    wire::Record it = blank(wire::Kind::try_call, device);
    it.op = op;
    it.size = size_bytes;
    it.link = site;
    if (from_torch) it.flags |= wire::kFlagFromTorch;
    record(it);
    it.kind = wire::Kind::ok;
    it.address = address;
    std::memcpy(it.tail, &extra, 8);
    const uint64_t ticket = record(it);
    const bool reserved = from_torch && (op == wire::Op::cudaMalloc || op == wire::Op::cuMemMap);
    if (reserved) totals_[device].reserved_bytes += size_bytes;
    objects_[{known_call(op).frees, address}] = {ticket, size_bytes, device,
                                                 op,     reserved,   enter(ticket, object_class(op))};
    return ticket;
}

uint64_t RingWriter::torch_call(wire::Op op, uint64_t address, uint64_t size_bytes, int device,
                                uint64_t extra) {
    return call(op, address, size_bytes, device, extra, true);
}

uint64_t RingWriter::foreign_call(wire::Op op, uint64_t address, uint64_t size_bytes, int device,
                                  uint64_t extra) {
    return call(op, address, size_bytes, device, extra, false);
}

uint64_t RingWriter::call_free(wire::Op op, uint64_t address) {
    const Object freed = objects_.at({op, address});
    objects_.erase({op, address});
    if (freed.reserved) totals_[freed.device].reserved_bytes -= freed.size_bytes;
    wire::Record it = blank(wire::Kind::free, freed.device);
    it.op = op;
    it.address = address;
    it.size = freed.size_bytes;
    return free_record(it, freed);
}

uint64_t RingWriter::call_free_failed(wire::Op op, uint64_t address, uint16_t code) {
    const Object kept = objects_.at({op, address});
    wire::LiveEntry entry = table_[kept.entry];
    wire::Record it = blank(wire::Kind::free, kept.device);
    it.op = op;
    it.address = address;
    it.size = kept.size_bytes;
    free_record(it, kept);
    it.kind = wire::Kind::free_fail;
    it.link = kept.birth_ticket;
    it.code = code;
    const uint64_t ticket = record(it);
    unused_entries_.pop_back();
    entry.state = (ticket + 1) << 1 | 1;
    table_[kept.entry] = entry;
    return ticket;
}

uint64_t RingWriter::call_failed(wire::Op op, uint64_t size_bytes, uint16_t code, bool from_torch,
                                 int device) {
    wire::Record it = blank(wire::Kind::try_call, device);
    it.op = op;
    it.size = size_bytes;
    it.link = site;
    if (from_torch) it.flags |= wire::kFlagFromTorch;
    const uint64_t tried = record(it);
    it.kind = wire::Kind::fail;
    it.code = code;
    it.link = tried;
    return record(it);
}

uint64_t RingWriter::mem_info(uint64_t total_bytes, uint64_t free_bytes, int device) {
    wire::Record it = blank(wire::Kind::mem_info, device);
    it.op = wire::Op::cudaMemGetInfo;
    it.size = total_bytes;
    it.link = free_bytes;
    put_totals(it);
    return record(it);
}

uint64_t RingWriter::step(uint64_t number) {
    wire::Record it = blank(wire::Kind::step, -1);
    it.size = number;
    step_ = static_cast<uint32_t>(number);
    return record(it);
}

uint64_t RingWriter::phase(wire::Kind kind, uint32_t exact_name, uint32_t folded_name, wire::Family family) {
    wire::Record it = blank(kind, -1);
    it.link = uint64_t{exact_name} << 32 | folded_name;
    it.code = static_cast<uint16_t>(family);
    phase_ = kind == wire::Kind::phase_begin ? static_cast<uint16_t>(folded_name) : uint16_t{0};
    return record(it);
}

const std::vector<std::byte>& RingWriter::bytes() {
    if (!table_.empty()) {
        std::memcpy(area<std::byte>(wire::AreaId::table), table_.data(),
                    table_.size() * sizeof(wire::LiveEntry));
    }
    wire::Boundary* const boundaries = area<wire::Boundary>(wire::AreaId::boundaries);
    for (uint32_t i = 0; i < header().boundary_count; ++i) {
        if (boundaries[i].check == 0) seal(boundaries[i]);
    }
    return image_;
}

void RingWriter::write(const std::string& path) {
    const std::vector<std::byte>& image = bytes();
    std::ofstream out(path, std::ios::binary | std::ios::trunc);
    out.write(reinterpret_cast<const char*>(image.data()), static_cast<std::streamsize>(image.size()));
    if (!out.flush()) throw std::runtime_error("cannot write " + path);
}

}  // namespace memsnap::test
