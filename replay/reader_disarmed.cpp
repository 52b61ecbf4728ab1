// SPDX-License-Identifier: Apache-2.0
//
// A file that was made in standby and is not armed: its window ended when it was disarmed, and the state
// there was put into a slot of its own, since the live table goes on. The rule: without that state there is
// no window, and what is live now is all; nothing is guessed from the records that are left.
#include <fmt/format.h>

#include <algorithm>

#include "reader.h"

namespace memsnap {

// Only what was made in standby can be in it, and can begin in the middle.
bool Reader::check_arming() {
    const bool possible = made_in_standby()
                              ? wire_.armed_from <= wire_.head && wire_.disarmed_at <= wire_.head + 1
                              : wire_.armed_from == 0 && wire_.arm_state != wire::ArmState::standby;
    return possible ||
           corrupt("arming",
                   fmt::format("is armed from ticket {} on, was disarmed at {} and is in state {}, "
                               "with {} keyframe slots and the head at {}",
                               wire_.armed_from, wire_.disarmed_at, static_cast<uint32_t>(wire_.arm_state),
                               area(wire::AreaId::keyframes).entry_count, wire_.head),
                   offsetof(wire::Header, armed_from));
}

// Armed, or not made in standby and gone cold: the table then ends with the ring, as that of a killed process
// does.
bool Reader::keeps_ring() const {
    return area(wire::AreaId::ring).entry_count != 0 &&
           (wire_.arm_state == wire::ArmState::recording || !made_in_standby());
}

// Sets disarmed_ticket_ and the window, where the file tells of one.
bool Reader::read_disarmed() {
    const wire::Area& slots = area(wire::AreaId::keyframes);
    const bool told = wire_.disarmed_at != 0 && wire_.disarmed_at - 1 >= wire_.armed_from &&
                      area(wire::AreaId::ring).entry_count != 0 && made_in_standby();
    if (!told) return true;
    const uint64_t offset_bytes = slots.offset_bytes + uint64_t{wire::kDisarmedSlot} * slots.entry_bytes;
    const Pages storage(slots.entry_bytes);
    if (storage.bytes().empty()) {
        return fail(ErrorCode::io, "memory", "no memory for a copy of the state when it was disarmed",
                    std::nullopt, "replay on a machine with more memory");
    }
    uint64_t begin_again = 0;
    if (!copy(offset_bytes, storage.bytes()) ||
        !copy(offset_bytes, std::as_writable_bytes(std::span(&begin_again, 1)))) {
        return false;
    }
    KeyframeParts parts;
    if (!cut_keyframe(storage.bytes(), parts))
        return corrupt("keyframe", "the state when it was disarmed has parts outside its slot", offset_bytes);
    const wire::Keyframe& head = parts.head;
    const bool valid = head.begin != 0 && head.begin == head.end && begin_again == head.begin &&
                       head.end_ticket + 1 == wire_.disarmed_at;
    if (!valid) return true;
    disarmed_ticket_ = wire_.disarmed_at - 1;

    StreamLayout layout;
    if (!read_ring(layout)) return false;
    begin_window(layout, std::max(layout.end_ticket, top_ticket_));
    WindowFacts facts;
    find_gaps(layout, facts);
    declare_losses(facts);
    facts.uncertain[static_cast<size_t>(Uncertainty::table_incomplete)] |= head.entries_dropped != 0;
    WindowSource source{
        .events = EventStream(std::move(layout)), .table = table_entries(parts.table), .facts = facts};
    source.table_head_ticket = head.begin_ticket;
    if (head.entries_dropped != 0) source.incomplete_from_ticket = 0;
    decode_pinned(parts.pinned, capture_.pinned);
    return take_window(std::move(source));
}

bool Reader::read_without_window() {
    const uint64_t head_before_table = wire_.head;
    if (!read_table() || !reread_header()) return false;
    WindowFacts facts;
    declare_losses(facts);
    facts.uncertain[static_cast<size_t>(Uncertainty::recording_dormant)] = true;
    const bool moving = wire_.head != head_before_table;
    const bool copied = !moving && top_of_table_ > wire_.head;
    facts.uncertain[static_cast<size_t>(Uncertainty::copied_while_written)] = copied;
    StreamLayout layout;
    layout.slot_count = 1;
    layout.accepted.assign(1, 0);
    layout.origin_ticket = layout.oldest_ticket = layout.begin_ticket = layout.end_ticket = wire_.head;
    if (bad_table_offset_bytes_ != 0 && !moving && !copied)
        return broken(Rule::table_check, std::nullopt, bad_table_offset_bytes_);
    return take_window(
        {.events = EventStream(std::move(layout)), .table = std::move(table_), .facts = facts});
}

}  // namespace memsnap
