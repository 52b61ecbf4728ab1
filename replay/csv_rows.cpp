// SPDX-License-Identifier: Apache-2.0
//
// Each event's cells from its record and the ledger after it.
#include "csv_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "anchor.h"
#include "csv_columns.h"
#include "csv_numbering.h"
#include "outside.h"
#include "receipt_dictionary.h"
#include "window_builder.h"

namespace memsnap {
namespace {

constexpr size_t kChunk_bytes = 65536;

bool is_block_event(const Event& event) {
    return event.kind == Kind::block_alloc || event.kind == Kind::block_free || event.kind == Kind::initial ||
           event.kind == Kind::category || event.kind == Kind::tap_alloc ||
           event.kind == Kind::tap_free_requested || event.kind == Kind::tap_free_completed;
}

bool is_region_event(const Event& event) {
    if (event.kind != Kind::ok && event.kind != Kind::initial_segment)
        return event.kind == Kind::tap_segment_alloc || event.kind == Kind::tap_segment_map;
    const Object object = object_of(event);
    return object == Object::device || object == Object::mapping || object == Object::async;
}

bool has_site(const Event& event) {
    return event.kind == Kind::block_alloc || event.kind == Kind::block_oom || event.kind == Kind::birth ||
           event.kind == Kind::try_call || event.kind == Kind::ok || event.kind == Kind::initial ||
           event.kind == Kind::initial_segment;
}

class RowWriter {
  public:
    RowWriter(const Window& window, const Analysis& analysis, const LineSink& sink)
        : window_(window),
          dictionary_(analysis),
          sink_(sink),
          sites_(dictionary_.site_count()),
          phases_(dictionary_.phase_count()),
          dimensions_(dictionary_.dimension_count()) {
        chunk_ = csv_header();
    }

    void operator()(const Event& event, const Ledger& ledger, const Change& change) {
        if (!open_) return;
        cells_ = {};
        take_record(event, ledger);
        take_object(event, ledger, change);
        take_totals(event, ledger);
        if (event.device >= 0) take_holders(event, ledger);
        finish_row();
        if (chunk_.size() >= kChunk_bytes) flush();
    }

    bool finish() {
        flush();
        return open_;
    }

  private:
    void set(Column column, std::string_view word) { cells_[static_cast<size_t>(column)] = word; }
    void set(Column column, uint64_t number) {
        cells_[static_cast<size_t>(column)] = fmt::format_int(number).c_str();
    }
    void set_signed(Column column, int64_t number) {
        cells_[static_cast<size_t>(column)] = fmt::format_int(number).c_str();
    }

    void set_wide(Column column, Wide number) {
        if (number >= INT64_MIN && number <= INT64_MAX) set_signed(column, static_cast<int64_t>(number));
    }

    static uint16_t phase_of(const Event& event, const Ledger& ledger) {
        const bool own =
            event.kind == Kind::phase_begin || event.kind == Kind::phase_end || event.kind == Kind::mark;
        return own ? static_cast<uint16_t>(event.folded_name()) : ledger.phase_on(event.thread);
    }

    void take_record(const Event& event, const Ledger& ledger) {
        set(Column::ticket, event.ticket);
        set(Column::kind, name(event.kind));
        set(Column::op, name(event.op));
        if (event.device >= 0) set(Column::device, static_cast<uint64_t>(event.device));
        set(Column::thread, event.thread == 0 ? 0 : threads_.of(event.thread, 0));
        set(Column::library, dictionary_.library(event.library));
        const uint16_t phase = phase_of(event, ledger);
        set(Column::phase, phase == 0 ? 0 : phases_.of(phase, dictionary_.phase(phase)));
        set(Column::step, ledger.step_count());
        set(Column::code, event.code);
        set(Column::nested, event.has(kNested));
        set(Column::capturing, event.has(kCapturing));
        set(Column::from_torch, event.has(kFromTorch));
        take_meaning(event);
    }

    // What size and link of the record mean by its kind.
    void take_meaning(const Event& event) {
        switch (event.kind) {
            case Kind::step:
                return;
            case Kind::note:
                set_signed(Column::value, static_cast<int64_t>(event.size_bytes));
                set(Column::dimension, dimensions_.of(event.link, dictionary_.dimension(event.link)));
                return;
            case Kind::mem_info:
            case Kind::device_sample:
                if (!is_observation(event)) return;
                set(Column::device_total_bytes, event.device_total_bytes());
                set(Column::device_free_bytes, event.device_free_bytes());
                return;
            case Kind::process_sample:
                if (event.has(kUnavailable)) return;
                set(Column::size_bytes, event.own_process_bytes());
                set(Column::others_bytes, event.other_process_bytes());
                return;
            case Kind::tap_oom:
                set(Column::size_bytes, event.size_bytes);
                if (event.device_free_bytes() != kNotTold)
                    set(Column::device_free_bytes, event.device_free_bytes());
                return;
            case Kind::neighbour:
            case Kind::cap:
                set(Column::size_bytes, event.link);
                return;
            case Kind::fail:
                set(Column::size_bytes, event.size_bytes);
                take_cause(event, event.call_ticket());
                return;
            case Kind::operation:
                set(Column::size_bytes, event.last_attempt_bytes());
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
                set(Column::size_bytes, event.size_bytes);
                return;
        }
    }

    // A ticket before the row's own: what another link says is no fact.
    void take_cause(const Event& event, uint64_t ticket) {
        if (ticket < event.ticket) set(Column::cause, ticket);
    }

    void take_object(const Event& event, const Ledger& ledger, const Change& change) {
        const uint64_t birth = birth_of(event, ledger, change);
        const bool known = birth != kNoTicket && is_birth_of_window(window_, birth);
        if (known) set(Column::allocation, birth);
        announced_ = event.has(kBirthFollows) ? birth : kNoTicket;
        announced_at_ = event.ticket + 1;
        if (const Object object = class_of(event, change); object != Object::none)
            set(Column::object, name(object));
        take_place(event, ledger);
        set(Column::site, site_of(event, change));
    }

    static Object class_of(const Event& event, const Change& change) {
        if (change.object != nullptr) return change.object->object;
        return is_block_event(event) ? Object::block : object_of(event);
    }

    static const Block* block_told_of(const Event& category, const Ledger& ledger) {
        const Block* const block = ledger.block_at(category.address);
        return block != nullptr && block->device == category.device ? block : nullptr;
    }

    uint64_t birth_of(const Event& event, const Ledger& ledger, const Change& change) const {
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

    void take_place(const Event& event, const Ledger& ledger) {
        if (is_block_event(event) || is_region_event(event)) {
            uint64_t address = event.address;
            if (event.kind == Kind::category) {
                if (const Block* const block = block_told_of(event, ledger)) address = block->address;
            }
            const Segment* const segment = ledger.segment_of(address);
            if (segment == nullptr || segment->state == SegmentState::foreign) return;
            set(Column::segment, segments_.of(segment->birth_ticket, 0));
            set(Column::offset_bytes, address - segment->address);
        } else if (event.kind == Kind::free) {
            // The region is gone; it had the birth of its object.
            if (const uint64_t ordinal = segments_.find(event.birth_ticket())) {
                set(Column::segment, ordinal);
                set(Column::offset_bytes, 0);
            }
        }
    }

    uint64_t site_of(const Event& event, const Change& change) {
        SiteKey key;
        if (change.freed) {
            key = site_key(change.freed->site, change.freed->size_bytes);
        } else if (event.kind == Kind::block_alloc || event.kind == Kind::block_oom ||
                   event.kind == Kind::initial) {
            key = site_key(event.site(), event.size_bytes);
        } else if (has_site(event)) {
            key.site = event.site();
        }
        return key == SiteKey{} ? 0 : sites_.of(key, dictionary_.site(key));
    }

    void take_totals(const Event& event, const Ledger& ledger) {
        if (event.has(kTotals)) {
            set(Column::allocated_bytes, event.allocated_bytes);
            set(Column::reserved_bytes, event.reserved_bytes);
        }
        if (is_observation(event)) set(Column::outside_bytes, outside_bytes(event));
        if (event.device < 0) return;
        const DeviceTotals& totals = ledger.device(event.device);
        const uint64_t active = totals.allocated_bytes + totals.deferred_bytes;
        set(Column::active_bytes, active);
        if (ledger.tap_seen()) set(Column::deferred_bytes, totals.deferred_bytes);
        set(Column::segment_bytes, totals.segment_bytes);
        set(Column::free_bytes, totals.segment_bytes > active ? totals.segment_bytes - active : 0);
        for (const auto& [column, category] : kCategoryColumns)
            set(column, totals.category_bytes[static_cast<size_t>(category)]);
    }

    // What the card should have free, by the answer before this event: an answer of its own is compared with
    // that.
    void take_holders(const Event& event, const Ledger& ledger) {
        AnchorLog& log = anchors_[static_cast<size_t>(event.device)];
        const std::optional<BalanceAnchor> before = log.last();
        log.take(event, ledger);
        const DeviceTotals& totals = ledger.device(event.device);
        set_wide(Column::held_bytes, totals.held_bytes());
        set_wide(Column::own_outside_bytes, totals.own_bytes);
        const bool comparable = !before || before->others_bytes;
        const std::optional<uint64_t> others = comparable ? log.others_bytes() : std::nullopt;
        if (others) set(Column::other_processes_bytes, *others);
        if (!before) return;
        const Wide unattributed = before->residual_bytes - before->others_bytes.value_or(0);
        set_wide(Column::unattributed_bytes, unattributed);
        set_wide(Column::expected_free_bytes, Wide{before->total_bytes} - totals.held_bytes() -
                                                  totals.own_bytes - others.value_or(0) - unattributed);
    }

    void finish_row() {
        for (size_t at = 0; at < kCsvColumnCount; ++at) {
            if (at != 0) chunk_.push_back(',');
            chunk_ += cells_[at];
        }
        chunk_.push_back('\n');
    }

    void flush() {
        if (open_ && !chunk_.empty()) open_ = sink_(chunk_);
        chunk_.clear();
    }

    const Window& window_;
    const Dictionary dictionary_;
    const LineSink& sink_;
    Numbering<SiteKey, SiteKeyHash> sites_;
    Numbering<uint64_t> phases_;
    Numbering<uint64_t> dimensions_;
    Numbering<uint16_t> threads_{0};
    Numbering<uint64_t> segments_{0};  // by birth ticket
    uint64_t announced_ = kNoTicket;   // birth of the object whose birth record is due
    uint64_t announced_at_ = kNoTicket;
    std::array<AnchorLog, kDeviceCapacity> anchors_;
    std::array<std::string, kCsvColumnCount> cells_;
    std::string chunk_;
    bool open_ = true;
};

}  // namespace

std::string csv_header() {
    std::string line;
    for (const CsvColumn& column : kCsvColumns) {
        if (!line.empty()) line.push_back(',');
        line += column.name;
    }
    line.push_back('\n');
    return line;
}

Result<bool> write_rows(const Capture& capture, const Analysis& analysis, const LineSink& sink) {
    RowWriter writer(capture.window, analysis, sink);
    Ledger ledger(capture.window);
    if (auto outcome = replay(capture, capture.window, ledger, writer); !outcome)
        return failure(std::move(outcome.error()));
    return writer.finish();
}

bool is_birth_of_window(const Window& window, uint64_t ticket) {
    Event event;
    if (ticket >= window.events.begin_ticket() && window.events.read(ticket, event)) return is_birth(event);
    const auto found = std::ranges::lower_bound(window.objects, ticket, {}, &LiveObject::birth_ticket);
    return found != window.objects.end() && found->birth_ticket == ticket;
}

}  // namespace memsnap
