// SPDX-License-Identifier: Apache-2.0
#include "birth.h"

namespace memsnap::recorder {
namespace {

void note_table_full(Recorder& recorder, uint64_t ticket) {
    bump(recorder.header->counters.table_full);
    mark_incomplete(recorder, ticket);
    note_trouble(recorder, wire::Trouble::table_full, 0);
}

Event birth_beside_death(const wire::LiveEntry& entry, const Event& death) {
    Event birth;
    birth.kind = wire::Kind::birth;
    birth.flags = entry.flags & static_cast<uint8_t>(~wire::kFlagTotals);  // the tail holds step and phase
    birth.thread = death.thread;
    birth.time = entry.birth_time;
    birth.address = entry.address;
    birth.size = entry.size;
    birth.link = entry.site;
    birth.set_extra(entry.step, entry.phase);
    birth.device = entry.device;
    birth.op = entry.op;
    birth.library = entry.library;
    return birth;
}

}  // namespace

void mark_incomplete(Recorder& recorder, uint64_t ticket) {
    uint64_t complete = 0;
    std::atomic_ref<uint64_t>(recorder.header->incomplete_from).compare_exchange_strong(complete, ticket + 1);
}

PackedRecord commit_birth(Recorder& recorder, const Event& event, wire::Object object, Home home) {
    return commit_birth(recorder, event, object, home, recorder.ring.take_tickets(1));
}

PackedRecord commit_birth(Recorder& recorder, const Event& event, wire::Object object, Home home,
                          const RingWriter::Tickets& ticket) {
    PackedRecord record = recorder.ring.commit(event, ticket);
    if (!recorder.table.enter(pack_birth(event, record.ticket(), object), record.ticket(), home))
        [[unlikely]] {
        note_table_full(recorder, record.ticket());
    }
    return record;
}

void enter_again(Recorder& recorder, const Departed& departed, uint64_t ticket) {
    PackedEntry packed;
    std::memcpy(packed.words, &departed.entry, sizeof packed.words);
    packed.words[7] &= 0xffffffff;  // without the old check
    if (!recorder.table.enter(packed, ticket, departed.home)) note_table_full(recorder, ticket);
}

PackedRecord commit_death(Recorder& recorder, Event& event, uint32_t slot) {
    if (slot == LiveTable::kNoSlot) {
        bump(recorder.header->counters.unknown_frees);
        event.link = wire::kNoTicket;
        return recorder.ring.commit(event);
    }
    const wire::LiveEntry& entry = recorder.table.entry(slot);
    event.link = entry.birth_ticket;
    // In standby, too: the ring may be there when the tickets are taken.
    const bool tell_birth = recorder.ring.may_have_lost(entry.birth_ticket);
    const RingWriter::Tickets tickets = recorder.ring.take_tickets(tell_birth ? 2 : 1);
    if (tell_birth) {
        event.flags = static_cast<uint8_t>(event.flags | wire::kFlagBirthFollows);
        if (tickets.slots != nullptr) recorder.ring.commit(birth_beside_death(entry, event), tickets, 1);
    }
    PackedRecord record = recorder.ring.commit(event, tickets);
    recorder.table.retire(slot, tickets.first);
    return record;
}

}  // namespace memsnap::recorder
