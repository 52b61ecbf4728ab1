// SPDX-License-Identifier: Apache-2.0
//
// Births and deaths, the same for blocks and for objects of the CUDA API. The rule, in this order: record
// committed, then the table; the reader redoes what was committed and not yet in the table.
#pragma once

#include "process.h"

namespace memsnap::recorder {

// From `ticket` on the table is known to lack something.
void mark_incomplete(Recorder& recorder, uint64_t ticket);

// Commits a birth and enters the object; a full table is counted and makes the state incomplete from here on.
PackedRecord commit_birth(Recorder& recorder, const Event& event, wire::Object object,
                          Home home = Home::untold);
// The same with a ticket that was taken.
PackedRecord commit_birth(Recorder& recorder, const Event& event, wire::Object object, Home home,
                          const RingWriter::Tickets& ticket);

// What a death removes from the table, in case the call that ends it is refused.
struct Departed {
    wire::LiveEntry entry;
    Home home;
    bool was_known = false;
};
// Enters it again; `ticket` is that of its free_fail.
void enter_again(Recorder& recorder, const Departed& departed, uint64_t ticket);

// Commits the death of an object, with its birth beside it when that may have left the ring, and retires its
// entry. `slot` may be LiveTable::kNoSlot: the birth was never seen. Completes `event` (link, flags).
PackedRecord commit_death(Recorder& recorder, Event& event, uint32_t slot);

}  // namespace memsnap::recorder
