// SPDX-License-Identifier: Apache-2.0
//
// Single structures of the file to values of the replay. The rule: a number that this build does not know
// becomes "unknown"; a structure whose check does not fit is never decoded.
#include "reader_decode.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "../interpose/wire_marks.h"
#include "crc32c.h"

namespace memsnap {

namespace {

// The vocabularies were written for these numbers.
#define MEMSNAP_SAME_KIND(name, number, ...) static_assert(static_cast<int>(wire::Kind::name) == number);
MEMSNAP_KINDS(MEMSNAP_SAME_KIND)
#define MEMSNAP_SAME_OP(name, number, ...) static_assert(static_cast<int>(wire::Op::name) == number);
MEMSNAP_OPS(MEMSNAP_SAME_OP)
#define MEMSNAP_SAME_OBJECT(name, number, ...) static_assert(static_cast<int>(wire::Object::name) == number);
MEMSNAP_OBJECTS(MEMSNAP_SAME_OBJECT)
#define MEMSNAP_SAME_BLIND(name, number, ...) static_assert(static_cast<int>(wire::Blind::name) == number);
MEMSNAP_BLINDS(MEMSNAP_SAME_BLIND)
#define MEMSNAP_SAME_SAMPLING(name, number, ...) \
    static_assert(static_cast<int>(wire::Sampling::name) == number);
MEMSNAP_SAMPLINGS(MEMSNAP_SAME_SAMPLING)
#define MEMSNAP_SAME_ORIGIN(name, number, ...) static_assert(static_cast<int>(wire::Origin::name) == number);
MEMSNAP_ORIGINS(MEMSNAP_SAME_ORIGIN)
#define MEMSNAP_SAME_TAP_STATE(name, number, ...) \
    static_assert(static_cast<int>(wire::TapState::name) == number);
MEMSNAP_TAP_STATES(MEMSNAP_SAME_TAP_STATE)
static_assert(kPoolUnknown == wire::kPoolUnknown && kToldAgain == wire::kToldAgain &&
              kNotTold == wire::kRequestedUnknown);
static_assert(kNoTicket == wire::kNoTicket && kDeviceCapacity == wire::kDeviceCapacity);

constexpr uint8_t kKnownFlags =
    kBirthFollows | kNested | kFromTorch | kTotals | kCapturing | kUnavailable | kImported;

uint64_t u40(const uint8_t* bytes) {
    uint64_t value = 0;
    std::memcpy(&value, bytes, 5);
    return value;
}

// CRC32C over a structure without its check word.
template <class T>
bool check_fits(const T& value, size_t from, size_t check_at, size_t to) {
    const auto bytes = std::as_bytes(std::span(&value, 1));
    const uint32_t first = crc32c(0, bytes.subspan(from, check_at - from));
    return crc32c(first, bytes.subspan(check_at + 4, to - check_at - 4)) == value.check;
}
}  // namespace

bool check_fits(const wire::Record& record) {
    return check_fits(record, 0, offsetof(wire::Record, check), sizeof record);
}
bool check_fits(const wire::LiveEntry& entry) {
    return check_fits(entry, 8, offsetof(wire::LiveEntry, check), 64);
}
bool check_fits(const wire::Boundary& boundary) {
    return check_fits(boundary, 8, offsetof(wire::Boundary, check), 64);
}

bool is_known(const wire::Record& record) {
    return kind_of_number(static_cast<uint8_t>(record.kind)) && op_of_number(static_cast<uint8_t>(record.op));
}

namespace {
bool tail_is_totals(const wire::Record& record) {
    return record.kind == wire::Kind::block_alloc || record.kind == wire::Kind::block_free ||
           record.kind == wire::Kind::block_oom || (record.flags & wire::kFlagTotals) != 0;
}

// Called for every record of a ring: fields are copied from where they lie.
inline void decode_into(const wire::Record& record, Event& event) {
    event.ticket = record.seq - 1;
    event.time_counter = record.time;
    event.address = record.address;
    event.size_bytes = record.size;
    event.link = record.link;
    event.flags = record.flags & kKnownFlags;
    event.allocated_bytes = event.reserved_bytes = event.extra = 0;
    event.extra16 = 0;
    if (tail_is_totals(record)) {
        event.flags |= kTotals;
        uint64_t low = 0, high = 0;  // the ten bytes of the two totals, overlapping
        std::memcpy(&low, record.tail, 8);
        std::memcpy(&high, record.tail + 2, 8);
        event.allocated_bytes = (low & ((uint64_t{1} << 40) - 1)) * wire::kTotalsUnit_bytes;
        event.reserved_bytes = (high >> 24) * wire::kTotalsUnit_bytes;
    } else {
        std::memcpy(&event.extra, record.tail, 8);
        std::memcpy(&event.extra16, record.tail + 8, 2);
    }
    event.thread = record.thread;
    event.library = record.library;
    event.code = record.code;
    event.kind = static_cast<Kind>(record.kind);
    event.op = static_cast<Op>(record.op);
    event.device = record.device >= 0 && record.device < kDeviceCapacity ? record.device : int8_t{-1};
}

}  // namespace

const wire::Record& record_at(std::span<const std::byte> slots, uint64_t slot) {
    return *reinterpret_cast<const wire::Record*>(slots.data() + slot * sizeof(wire::Record));
}

Event decode(const wire::Record& record) {
    Event event;
    decode_into(record, event);
    return event;
}

LiveObject decode(const wire::LiveEntry& entry) {
    LiveObject object;
    object.address = entry.address;
    object.size_bytes = entry.size;
    object.birth_ticket = entry.birth_ticket;
    object.birth_time_counter = entry.birth_time;
    object.site = entry.site;
    object.last_ticket = (entry.state >> 1) - 1;
    object.step = entry.step;
    object.phase = entry.phase;
    object.library = entry.library;
    object.object = object_of_number(static_cast<uint8_t>(entry.object)).value_or(Object::none);
    object.op = op_of_number(static_cast<uint8_t>(entry.op)).value_or(Op::none);
    object.device = entry.device >= 0 && entry.device < kDeviceCapacity ? entry.device : int8_t{-1};
    object.flags = entry.flags & kKnownFlags;
    return object;
}

Boundary decode(const wire::Boundary& wire) {
    constexpr uint64_t kNever = (uint64_t{1} << 40) - 1;
    Boundary boundary;
    boundary.ticket = wire.state - 1;
    boundary.opened_ticket = wire.opened_ticket;
    boundary.time_counter = wire.time;
    boundary.free_age_counter = uint64_t{wire.free_age} << wire::kAgeShift_bits;
    boundary.allocated_bytes = u40(wire.allocated) * wire::kTotalsUnit_bytes;
    boundary.reserved_bytes = u40(wire.reserved) * wire::kTotalsUnit_bytes;
    if (const uint64_t free = u40(wire.device_free); free != kNever) {
        boundary.device_free_bytes = free * wire::kTotalsUnit_bytes;
    }
    boundary.ordinal = wire.ordinal;
    boundary.dimensions = wire.dimensions;
    boundary.exact_name = wire.name;
    boundary.folded_name = wire.folded_name;
    boundary.thread = wire.thread;
    boundary.family = known(wire.family, BoundaryFamily::module, BoundaryFamily::none);
    boundary.device = wire.device >= 0 && wire.device < kDeviceCapacity ? wire.device : int8_t{-1};
    boundary.depth = wire.depth;
    return boundary;
}

std::optional<Event> decode_checked(const wire::Record& record) {
    if (record.seq == 0 || !check_fits(record) || !is_known(record)) return std::nullopt;
    return decode(record);
}

std::span<const Event> EventStream::decode(uint64_t& from, uint64_t to, std::span<Event> chunk) const {
    size_t count = 0;
    to = std::min(to, layout_.end_ticket);
    from = std::max(from, layout_.oldest_ticket);
    if (from >= to) {
        from = to;
        return {};
    }
    uint64_t at = slot(from);
    for (; from < to && count < chunk.size(); ++from) {
        if ((layout_.accepted[at / 64] >> (at % 64) & 1) != 0) {
            decode_into(record_at(layout_.slots, at), chunk[count++]);
        }
        if (++at == layout_.slot_count) at = 0;
    }
    return chunk.first(count);
}

bool EventStream::read(uint64_t ticket, Event& event) const {
    if (!accepted(ticket)) return false;
    decode_into(record_at(layout_.slots, slot(ticket)), event);
    return true;
}

Kind EventStream::kind(uint64_t ticket) const {
    if (!accepted(ticket)) return Kind::none;
    return static_cast<Kind>(record_at(layout_.slots, slot(ticket)).kind);
}

}  // namespace memsnap
