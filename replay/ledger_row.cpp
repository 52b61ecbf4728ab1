// SPDX-License-Identifier: Apache-2.0
//
// Each event's cells from its record and the ledger after it.
#include "ledger_row.h"

#include <algorithm>

#include "carried.h"
#include "outside.h"
#include "window_builder.h"

namespace memsnap {
namespace {

bool is_block_event(const Event& event) {
    return event.kind == Kind::block_alloc || event.kind == Kind::block_free || event.kind == Kind::initial ||
           event.kind == Kind::category || event.kind == Kind::tap_alloc ||
           event.kind == Kind::tap_free_requested || event.kind == Kind::tap_free_completed;
}

bool is_region_event(const Event& event) {
    if (event.kind != Kind::ok && event.kind != Kind::initial_segment)
        return event.kind == Kind::tap_segment_alloc || event.kind == Kind::tap_segment_map;
    return is_region_class(object_of(event));
}

// Whether the record has an address, and not a handle, of a block or of what may be a region.
bool lies_somewhere(const Event& event, Object object) {
    const bool told = event.kind == Kind::tap_segment_free || event.kind == Kind::tap_segment_unmap;
    if (is_block_event(event) || told || event.kind == Kind::initial_segment) return true;
    if (event.kind == Kind::tap_segment_alloc || event.kind == Kind::tap_segment_map) return true;
    const bool of_object = event.kind == Kind::ok || event.kind == Kind::free ||
                           event.kind == Kind::free_fail || event.kind == Kind::birth;
    const bool of_block = event.kind == Kind::birth && event.op == Op::none;
    return of_block || (of_object && is_region_class(object));
}

bool has_site(const Event& event) {
    return event.kind == Kind::block_alloc || event.kind == Kind::block_oom || event.kind == Kind::birth ||
           event.kind == Kind::try_call || event.kind == Kind::ok || event.kind == Kind::initial ||
           event.kind == Kind::initial_segment;
}

uint16_t phase_of(const Event& event, const Ledger& ledger) {
    const bool own =
        event.kind == Kind::phase_begin || event.kind == Kind::phase_end || event.kind == Kind::mark;
    return own ? static_cast<uint16_t>(event.folded_name()) : ledger.phase_on(event.thread);
}

Object class_of(const Event& event, const Change& change) {
    if (change.object != nullptr) return change.object->object;
    return is_block_event(event) ? Object::block : object_of(event);
}

const Block* block_told_of(const Event& category, const Ledger& ledger) {
    const Block* const block = ledger.block_at(category.address);
    return block != nullptr && block->device == category.device ? block : nullptr;
}

bool fits(Wide number) {
    return number >= INT64_MIN && number <= INT64_MAX;
}

}  // namespace

LedgerRows::LedgerRows(const Window& window, const Analysis& analysis)
    : window_(window),
      dictionary_(analysis),
      sites_(dictionary_.site_count()),
      phases_(dictionary_.phase_count()),
      dimensions_(dictionary_.dimension_count()) {}

const LedgerRow& LedgerRows::take(const Event& event, const Ledger& ledger, const Change& change) {
    row_.filled = 0;
    row_.address.reset();
    take_record(event, ledger);
    take_object(event, ledger, change);
    take_totals(event, ledger);
    if (event.device >= 0) take_holders(event, ledger);
    return row_;
}

uint64_t LedgerRows::site_ordinal(const SiteKey& key) {
    return key == SiteKey{} ? 0 : sites_.of(key, dictionary_.site(key));
}

uint64_t LedgerRows::phase_ordinal(uint16_t folded_name) {
    return folded_name == 0 ? 0 : phases_.of(folded_name, dictionary_.phase(folded_name));
}

LedgerNumbers LedgerRows::numbers() const {
    LedgerNumbers numbers{dictionary_.sites(), dictionary_.phases(), dictionary_.libraries(),
                          dictionary_.dimensions()};
    sites_.list_into(numbers.sites);
    phases_.list_into(numbers.phases);
    dimensions_.list_into(numbers.dimensions);
    return numbers;
}

void LedgerRows::set_wide(Column column, Wide number) {
    if (fits(number)) row_.set_signed(column, static_cast<int64_t>(number));
}

void LedgerRows::take_record(const Event& event, const Ledger& ledger) {
    row_.set(Column::ticket, event.ticket);
    row_.set(Column::kind, static_cast<uint64_t>(event.kind));
    row_.set(Column::op, static_cast<uint64_t>(event.op));
    if (event.device >= 0) row_.set(Column::device, static_cast<uint64_t>(event.device));
    row_.set(Column::thread, event.thread == 0 ? 0 : threads_.of(event.thread, 0));
    row_.set(Column::library, dictionary_.library(event.library));
    const uint16_t phase = phase_of(event, ledger);
    row_.set(Column::phase, phase_ordinal(phase));
    row_.set(Column::step, ledger.step_count());
    row_.set(Column::code, event.code);
    row_.set(Column::nested, event.has(kNested));
    row_.set(Column::capturing, event.has(kCapturing));
    row_.set(Column::from_torch, event.has(kFromTorch));
    take_meaning(event);
}

// What size and link of the record mean by its kind.
void LedgerRows::take_meaning(const Event& event) {
    switch (event.kind) {
        case Kind::step:
            return;
        case Kind::note:
            row_.set_signed(Column::value, static_cast<int64_t>(event.size_bytes));
            row_.set(Column::dimension, dimensions_.of(event.link, dictionary_.dimension(event.link)));
            return;
        case Kind::mem_info:
        case Kind::device_sample:
            if (!is_observation(event)) return;
            row_.set(Column::device_total_bytes, event.device_total_bytes());
            row_.set(Column::device_free_bytes, event.device_free_bytes());
            return;
        case Kind::process_sample:
            if (event.has(kUnavailable)) return;
            row_.set(Column::size_bytes, event.own_process_bytes());
            row_.set(Column::others_bytes, event.other_process_bytes());
            return;
        case Kind::tap_oom:
            row_.set(Column::size_bytes, event.size_bytes);
            if (event.device_free_bytes() != kNotTold)
                row_.set(Column::device_free_bytes, event.device_free_bytes());
            return;
        case Kind::neighbour:
        case Kind::cap:
            row_.set(Column::size_bytes, event.link);
            return;
        case Kind::fail:
            row_.set(Column::size_bytes, event.size_bytes);
            take_cause(event, event.call_ticket());
            return;
        case Kind::operation:
            row_.set(Column::size_bytes, event.last_attempt_bytes());
            take_cause(event, event.call_ticket());
            return;
        case Kind::phase_end:
            take_cause(event, event.address);
            return;
        case Kind::none:
        case Kind::phase_begin:
        case Kind::mark:
        case Kind::blind:
        case Kind::keyframe:
            return;
        case Kind::block_alloc:
        case Kind::block_free:
        case Kind::block_oom:
        case Kind::birth:
        case Kind::try_call:
        case Kind::ok:
        case Kind::free:
        case Kind::free_fail:
        case Kind::category:
        case Kind::tap_alloc:
        case Kind::tap_free_requested:
        case Kind::tap_free_completed:
        case Kind::tap_segment_alloc:
        case Kind::tap_segment_free:
        case Kind::tap_segment_map:
        case Kind::tap_segment_unmap:
        case Kind::initial:
        case Kind::initial_segment:
        case Kind::cupti_memory:
            row_.set(Column::size_bytes, event.size_bytes);
            return;
    }
}

// A ticket before the row's own: what another link says is no fact.
void LedgerRows::take_cause(const Event& event, uint64_t ticket) {
    if (ticket < event.ticket) row_.set(Column::cause, ticket);
}

void LedgerRows::take_object(const Event& event, const Ledger& ledger, const Change& change) {
    const uint64_t birth = birth_of(event, ledger, change);
    const bool known = birth != kNoTicket && (is_birth(event) || is_birth_of_window(window_, birth));
    if (known) row_.set(Column::allocation, birth);
    announced_ = event.has(kBirthFollows) ? birth : kNoTicket;
    announced_at_ = event.ticket + 1;
    if (const Object object = class_of(event, change); object != Object::none)
        row_.set(Column::object, static_cast<uint64_t>(object));
    take_place(event, ledger, change);
    row_.set(Column::site, site_of(event, change));
}

uint64_t LedgerRows::birth_of(const Event& event, const Ledger& ledger, const Change& change) const {
    if (is_birth(event)) return event.ticket;
    if (change.freed) return change.freed->birth_ticket;
    switch (event.kind) {
        case Kind::free:
        case Kind::free_fail:
            return event.birth_ticket();
        case Kind::birth:
            return event.ticket == announced_at_ ? announced_ : kNoTicket;
        case Kind::category: {
            const Block* const block = block_told_of(event, ledger);
            return block == nullptr ? kNoTicket : block->birth_ticket;
        }
        case Kind::tap_alloc:
        case Kind::tap_free_requested:
            if (const Block* block = ledger.find_block(event.address)) return block->birth_ticket;
            return kNoTicket;
        case Kind::none:
        case Kind::block_alloc:
        case Kind::block_free:
        case Kind::block_oom:
        case Kind::try_call:
        case Kind::ok:
        case Kind::fail:
        case Kind::mem_info:
        case Kind::blind:
        case Kind::operation:
        case Kind::device_sample:
        case Kind::process_sample:
        case Kind::neighbour:
        case Kind::phase_begin:
        case Kind::phase_end:
        case Kind::mark:
        case Kind::step:
        case Kind::note:
        case Kind::cap:
        case Kind::tap_free_completed:
        case Kind::tap_segment_alloc:
        case Kind::tap_segment_free:
        case Kind::tap_segment_map:
        case Kind::tap_segment_unmap:
        case Kind::tap_oom:
        case Kind::keyframe:
        case Kind::cupti_memory:
        case Kind::initial:
        case Kind::initial_segment:
            return kNoTicket;
    }
    return kNoTicket;
}

void LedgerRows::take_place(const Event& event, const Ledger& ledger, const Change& change) {
    uint64_t address = change.object != nullptr ? change.object->address : event.address;
    if (event.kind == Kind::category) {
        if (const Block* const block = block_told_of(event, ledger)) address = block->address;
    }
    if (is_block_event(event) || is_region_event(event)) {
        const Segment* const segment = ledger.segment_of(address);
        if (segment != nullptr && segment->state != SegmentState::foreign) {
            row_.set(Column::segment, segments_.of(segment->birth_ticket, 0));
            row_.set(Column::offset_bytes, address - segment->address);
        }
    } else if (event.kind == Kind::free) {
        // The region is gone; it had the birth of its object.
        if (const uint64_t ordinal = segments_.find(event.birth_ticket())) {
            row_.set(Column::segment, ordinal);
            row_.set(Column::offset_bytes, 0);
        }
    }
    if (lies_somewhere(event, class_of(event, change))) row_.address = address;
}

uint64_t LedgerRows::site_of(const Event& event, const Change& change) {
    SiteKey key;
    if (change.freed) {
        key = site_key(change.freed->site, change.freed->size_bytes);
    } else if (event.kind == Kind::block_alloc || event.kind == Kind::block_oom ||
               event.kind == Kind::initial) {
        key = site_key(event.site(), event.size_bytes);
    } else if (has_site(event)) {
        key.site = event.site();
    }
    return site_ordinal(key);
}

void LedgerRows::take_totals(const Event& event, const Ledger& ledger) {
    if (event.has(kTotals)) {
        row_.set(Column::allocated_bytes, event.allocated_bytes);
        row_.set(Column::reserved_bytes, event.reserved_bytes);
    }
    if (tells_outside(event, ledger.late_start())) row_.set(Column::outside_bytes, outside_bytes(event));
    if (event.device < 0) return;
    const DeviceTotals& totals = ledger.device(event.device);
    const uint64_t active = totals.allocated_bytes + totals.deferred_bytes;
    row_.set(Column::active_bytes, active);
    if (ledger.tap_seen()) row_.set(Column::deferred_bytes, totals.deferred_bytes);
    row_.set(Column::segment_bytes, totals.segment_bytes);
    row_.set(Column::free_bytes, totals.segment_bytes > active ? totals.segment_bytes - active : 0);
    for (const auto& [column, category] : kCategoryColumns)
        row_.set(column, totals.category_bytes[static_cast<size_t>(category)]);
}

// What the card should have free, by the answer before this event: an answer of its own is compared with
// that.
void LedgerRows::take_holders(const Event& event, const Ledger& ledger) {
    AnchorLog& log = anchors_[static_cast<size_t>(event.device)];
    const std::optional<BalanceAnchor> before = log.last();
    log.take(event, ledger);
    const Carried held = carried(ledger.device(event.device), before, log.others_bytes());
    set_wide(Column::held_bytes, held.held_bytes);
    set_wide(Column::own_outside_bytes, held.own_outside_bytes);
    if (held.other_processes_bytes) row_.set(Column::other_processes_bytes, *held.other_processes_bytes);
    // Beyond 64 bits an answer was nonsense, and so is what follows from it.
    if (!held.unattributed_bytes || !fits(*held.unattributed_bytes)) return;
    set_wide(Column::unattributed_bytes, *held.unattributed_bytes);
    set_wide(Column::expected_free_bytes, *held.expected_free_bytes);
}

bool is_region_class(Object object) {
    return object == Object::device || object == Object::mapping || object == Object::async;
}

bool is_birth_of_window(const Window& window, uint64_t ticket) {
    Event event;
    if (ticket >= window.events.begin_ticket() && window.events.read(ticket, event)) return is_birth(event);
    const auto found = std::ranges::lower_bound(window.objects, ticket, {}, &LiveObject::birth_ticket);
    return found != window.objects.end() && found->birth_ticket == ticket;
}

}  // namespace memsnap
