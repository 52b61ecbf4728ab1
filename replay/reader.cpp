// SPDX-License-Identifier: Apache-2.0
//
// Bytes to values. The reader (reader*.cpp) is the one part of the replay that knows the wire format. The
// rule: every offset and count is checked before it is used, records are accepted by the commit rule of
// WIRE.md alone, and nothing is parsed but a copy. Order of copying: live table, then head, then ring, then
// head, so that whatever the table lacks or has too much is in the ring.
#include "reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "window_builder.h"

namespace memsnap {

Result<Capture> Capture::read(const std::string& path) {
    auto file = RingFile::open(path);
    if (!file) return failure(std::move(file.error()));
    return Reader(std::move(*file)).read(true);
}

Result<Capture> Capture::read(CaptureFiles files) {
    auto file = RingFile::open(files.ring_path, files.path);
    if (!file) return failure(std::move(file.error()));
    auto capture = Reader(std::move(*file)).read(true);
    if (!capture) return capture;
    capture->names_path = std::move(files.names_path);
    capture->owner_ = std::move(files.owner);
    return capture;
}

Result<Capture> Capture::read_facts(const std::string& path) {
    auto file = RingFile::open(path);
    if (!file) return failure(std::move(file.error()));
    return Reader(std::move(*file)).read(false);
}

Result<Capture> Reader::read(bool with_events) {
    if (!read_header()) return failure(std::move(error_));
    if (is_dormant() && with_events && !refuse_dormant()) return failure(std::move(error_));
    if (!is_dormant()) {
        if (with_events && !(read_events() && (disarmed_ticket_ || read_pinned()) && read_boundaries()))
            return failure(std::move(error_));
        if (!read_small_tables() || !list_keyframes()) return failure(std::move(error_));
    }
    take_header();
    return std::move(capture_);
}

bool Reader::refuse_dormant() {
    return fail(ErrorCode::dormant, "dormant", "is dormant: nothing was recorded yet", std::nullopt,
                "memsnap arm " + printable(capture_.path) + " starts the recording, while the job runs");
}

bool Reader::read_events() {
    // A process that was killed while it was disarmed may not have said that it is.
    if (!read_disarmed()) return false;
    if (disarmed_ticket_) return true;
    return keeps_ring() ? read_armed() : read_without_window();
}

bool Reader::read_armed() {
    const uint64_t head_before_table = wire_.head;
    StreamLayout ring;
    return read_table() && reread_header() && read_ring(ring) && reread_header() &&
           take_ring(std::move(ring), head_before_table);
}

bool Reader::fail(ErrorCode code, std::string_view rule, std::string detail,
                  std::optional<uint64_t> offset_bytes, std::string way_out) {
    error_.code = code;
    error_.file = capture_.path;
    error_.rule = rule;
    error_.detail = std::move(detail);
    error_.offset_bytes = offset_bytes;
    error_.way_out = std::move(way_out);
    return false;
}

bool Reader::corrupt(std::string_view rule, std::string detail, uint64_t offset_bytes) {
    return fail(ErrorCode::corrupt, rule, std::move(detail), offset_bytes,
                "the file is damaged: use another copy of it, or record again");
}

bool Reader::broken(Rule rule, std::optional<uint64_t> ticket, uint64_t offset_bytes) {
    corrupt(name(rule), std::string(sentence(rule)), offset_bytes);
    error_.ticket = ticket;
    return false;
}

bool Reader::copy(uint64_t offset_bytes, std::span<std::byte> into) {
    auto done = capture_.file_.read(offset_bytes, into);
    if (!done) error_ = std::move(done.error());
    return done.has_value();
}

// The counters move while a file is written; the layout, once checked, is kept.
bool Reader::reread_header() {
    wire::Header again;
    if (!copy(0, std::as_writable_bytes(std::span(&again, 1)))) return false;
    std::copy(std::begin(wire_.areas), std::end(wire_.areas), std::begin(again.areas));
    wire_ = again;
    return check_counts();
}

bool Reader::read_table() {
    return each_entry<wire::LiveEntry>(wire::AreaId::table, area(wire::AreaId::table).entry_count,
                                       [&](const wire::LiveEntry& entry, uint64_t offset_bytes) {
                                           top_of_table_ = std::max(top_of_table_, entry.state >> 1);
                                           if ((entry.state & 1) == 0) return true;
                                           if (!check_fits(entry)) {
                                               if (bad_table_offset_bytes_ == 0)
                                                   bad_table_offset_bytes_ = offset_bytes;
                                           } else {
                                               table_.push_back(decode(entry));
                                           }
                                           return true;
                                       });
}

// Copies the ring and accepts its records while they are warm.
bool Reader::read_ring(StreamLayout& layout) {
    constexpr uint64_t kChunk_records = 4096;
    layout.slot_count = area(wire::AreaId::ring).entry_count;
    layout.end_ticket = disarmed_ticket_.value_or(wire_.head);
    layout.accepted.assign((layout.slot_count + 63) / 64, 0);
    const uint64_t used = std::min(wire_.head, layout.slot_count);
    capture_.ring_ = Pages(used * sizeof(wire::Record));
    layout.slots = capture_.ring_.bytes();
    if (layout.slots.size() != used * sizeof(wire::Record)) {
        return fail(ErrorCode::io, "memory", fmt::format("no memory for a copy of {} records", used),
                    std::nullopt, "replay on a machine with more memory");
    }
    const uint64_t ring_offset_bytes = area(wire::AreaId::ring).offset_bytes;
    for (uint64_t slot = 0; slot < used; slot += kChunk_records) {
        // The copy of a hole is left untouched, so that it takes no memory.
        const uint64_t data_offset_bytes =
            capture_.file_.next_data(ring_offset_bytes + slot * sizeof(wire::Record));
        slot =
            (data_offset_bytes - ring_offset_bytes) / sizeof(wire::Record) / kChunk_records * kChunk_records;
        if (slot >= used) break;
        const uint64_t count = std::min(kChunk_records, used - slot);
        const auto chunk =
            capture_.ring_.bytes().subspan(slot * sizeof(wire::Record), count * sizeof(wire::Record));
        if (!copy(ring_offset_bytes + slot * sizeof(wire::Record), chunk)) return false;
        for (uint64_t at = slot; at < slot + count; ++at) {
            if (!accept_record(layout, at)) return false;
        }
    }
    return true;
}

// Marks a slot whose record is the committed one of the last lap; what else is in the window is a gap.
bool Reader::accept_record(StreamLayout& layout, uint64_t slot) {
    const wire::Record& record = record_at(layout.slots, slot);
    if (record.seq == 0) return true;
    const uint64_t ticket = record.seq - 1;
    const uint64_t offset_bytes = area(wire::AreaId::ring).offset_bytes + slot * sizeof(wire::Record);
    if (!check_fits(record)) return !exited() || broken(Rule::record_check, ticket, offset_bytes);
    if (ticket % layout.slot_count != slot) return broken(Rule::record_order, ticket, offset_bytes);
    top_ticket_ = std::max(top_ticket_, record.seq);
    const bool last_lap = ticket >= wire_.armed_from && ticket < layout.end_ticket &&
                          layout.end_ticket - ticket <= layout.slot_count;
    if (last_lap && is_known(record)) layout.accepted[slot / 64] |= uint64_t{1} << (slot % 64);
    return true;
}

void find_gaps(const StreamLayout& layout, WindowFacts& facts) {
    uint64_t slot = (layout.begin_ticket - layout.origin_ticket) % layout.slot_count;
    for (uint64_t ticket = layout.begin_ticket; ticket < layout.end_ticket; ++ticket) {
        const uint64_t at = slot;
        if (++slot == layout.slot_count) slot = 0;
        if ((layout.accepted[at / 64] >> (at % 64) & 1) != 0) {
            ++facts.accepted_count;
            continue;
        }
        facts.first_missing_ticket = std::min(facts.first_missing_ticket, ticket);
        const wire::Record& record = record_at(layout.slots, at);
        const bool named = record.seq == ticket + 1;
        const bool intact = named && check_fits(record);
        ++(intact ? facts.unknown_kind_count : facts.missing_count);
        facts.torn_count += named && !intact;
    }
}

// Slots of tickets that many below the top may have been overwritten; before it was armed there were none.
void Reader::begin_window(StreamLayout& layout, uint64_t top_ticket) const {
    const uint64_t capacity = layout.slot_count;
    const uint64_t armed_from = wire_.armed_from;
    const uint64_t oldest = std::max(armed_from, top_ticket > capacity ? top_ticket - capacity : 0);
    layout.oldest_ticket = std::min(layout.end_ticket, oldest);
    layout.begin_ticket =
        oldest == armed_from
            ? layout.oldest_ticket
            : std::min(layout.end_ticket, layout.oldest_ticket + capacity / wire::kWindowDivisor);
}

void Reader::declare_losses(WindowFacts& facts) const {
    const wire::Counters& counted = wire_.counters;
    const auto declare = [&](Uncertainty uncertainty, bool holds) {
        facts.uncertain[static_cast<size_t>(uncertainty)] |= holds;
    };
    declare(Uncertainty::records_missing, facts.missing_count != 0);
    declare(Uncertainty::kinds_unknown, facts.unknown_kind_count != 0);
    declare(Uncertainty::events_lost, counted.lost != 0);
    declare(Uncertainty::events_lapped, counted.lapped != 0);
    declare(Uncertainty::late_start, wire_.start_mode != wire::StartMode::from_birth);
    declare(Uncertainty::table_incomplete, wire_.incomplete_from != 0);
}

bool Reader::take_ring(StreamLayout layout, uint64_t head_before_table) {
    const uint64_t head = layout.end_ticket;
    WindowFacts facts;
    const bool moving = wire_.head != head || head != head_before_table;
    const auto declare = [&](Uncertainty uncertainty, bool holds) {
        facts.uncertain[static_cast<size_t>(uncertainty)] |= holds;
    };
    declare(Uncertainty::copied_while_written, !moving && std::max(top_ticket_, top_of_table_) > head);
    begin_window(layout, std::max(wire_.head, top_ticket_));
    find_gaps(layout, facts);
    declare_losses(facts);
    if (bad_table_offset_bytes_ != 0 && !moving && !facts.is_uncertain(Uncertainty::copied_while_written)) {
        return broken(Rule::table_check, std::nullopt, bad_table_offset_bytes_);
    }
    declare(Uncertainty::copied_while_written, bad_table_offset_bytes_ != 0 && !moving);

    WindowSource source{.events = EventStream(std::move(layout)), .table = std::move(table_), .facts = facts};
    if (moving) source.table_head_ticket = head_before_table;
    return take_window(std::move(source));
}

bool Reader::take_window(WindowSource source) {
    if (wire_.incomplete_from != 0)
        source.incomplete_from_ticket = std::min(source.incomplete_from_ticket, wire_.incomplete_from - 1);
    auto window = build_window(std::move(source));
    if (!window) {
        const WindowProblem problem = window.error();
        const uint64_t slots = std::max<uint64_t>(1, area(wire::AreaId::ring).entry_count);
        const uint64_t at = problem.ticket % slots * sizeof(wire::Record);
        return broken(problem.rule, problem.ticket, area(wire::AreaId::ring).offset_bytes + at);
    }
    capture_.window = std::move(*window);
    return true;
}

bool Reader::read_pinned() {
    std::vector<std::byte> bytes(sizeof(wire::PinnedDevice) * wire::kDeviceCapacity);
    const uint64_t offset_bytes = area(wire::AreaId::pinned).offset_bytes;
    if (!copy(offset_bytes, bytes)) return false;
    const auto bad = decode_pinned(bytes, capture_.pinned);
    if (bad && exited()) return broken(Rule::record_check, std::nullopt, offset_bytes + *bad);
    return true;
}

bool Reader::read_boundaries() {
    const bool done = each_entry<wire::Boundary>(
        wire::AreaId::boundaries, wire_.boundary_count,
        [&](const wire::Boundary& boundary, uint64_t offset_bytes) {
            if (boundary.state == 0) return true;
            if (check_fits(boundary)) {
                capture_.boundaries.push_back(decode(boundary));
                return true;
            }
            return !exited() || corrupt("boundary_check", "a boundary's checksum does not fit", offset_bytes);
        });
    std::sort(capture_.boundaries.begin(), capture_.boundaries.end(),
              [](const Boundary& a, const Boundary& b) {
                  return std::tuple(a.ordinal, a.device) < std::tuple(b.ordinal, b.device);
              });
    return done;
}

bool Reader::read_small_tables() {
    const bool done =
        each_entry<wire::Thread>(wire::AreaId::threads, wire_.thread_count,
                                 [&](const wire::Thread& thread, uint64_t) {
                                     capture_.threads.push_back({thread.tid, thread.first_ticket});
                                     return true;
                                 }) &&
        each_entry<wire::Library>(
            wire::AreaId::libraries, wire_.library_count,
            [&](const wire::Library& library, uint64_t) {
                const auto role = static_cast<uint8_t>(library.role);
                capture_.libraries.push_back({known(role, LibraryRole::program, LibraryRole::unknown),
                                              library.name, library.entry_point_count});
                return true;
            }) &&
        each_entry<wire::Anchor>(
            wire::AreaId::anchors, area(wire::AreaId::anchors).entry_count,
            [&](const wire::Anchor& anchor, uint64_t) {
                if (anchor.state != 0) {
                    capture_.anchors.push_back({anchor.counter, anchor.monotonic_ns, anchor.realtime_ns});
                }
                return true;
            });
    std::sort(capture_.anchors.begin(), capture_.anchors.end(),
              [](const Anchor& a, const Anchor& b) { return a.counter < b.counter; });
    return done;
}

// Than the head that was read, by more than a job can write while its file is copied; or made up.
bool Reader::is_of_later(uint64_t ticket) const {
    const uint64_t lap = std::max(uint64_t{1}, uint64_t{area(wire::AreaId::ring).entry_count});
    return ticket >= wire_.head && ticket - wire_.head >= lap;
}

bool Reader::list_keyframes() {
    for (uint32_t slot = 0; slot < wire::kKeyframeSlots; ++slot) {
        wire::Keyframe keyframe;
        const wire::Area& slots = area(wire::AreaId::keyframes);
        if (!copy(slots.offset_bytes + uint64_t{slot} * slots.entry_bytes,
                  std::as_writable_bytes(std::span(&keyframe, 1)))) {
            return false;
        }
        if (keyframe.begin == 0 || keyframe.begin != keyframe.end) continue;
        const auto failure = decode_checked(keyframe.failure);
        if (!failure || is_of_later(failure->ticket)) continue;
        capture_.keyframes.push_back(
            {slot, keyframe.begin_ticket, keyframe.end_ticket, *failure, keyframe.entries_dropped});
    }
    std::sort(capture_.keyframes.begin(), capture_.keyframes.end(),
              [](const auto& a, const auto& b) { return a.failure.ticket < b.failure.ticket; });
    return true;
}

}  // namespace memsnap
