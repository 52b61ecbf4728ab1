// SPDX-License-Identifier: Apache-2.0
//
// From committed records and the live table to a window: redoes what the table lacks and works out what was
// live before the first event. The rule (WIRE.md, "Recovery"): an object is its birth ticket; state at the
// begin = state at the end + objects freed in the window - objects born in it.
#pragma once

#include <expected>
#include <vector>

#include "rules.h"
#include "window.h"

namespace memsnap {

struct WindowSource {
    EventStream events;
    std::vector<LiveObject> table;  // the live entries, in any order
    WindowFacts facts;              // of the records; the uncertainties known so far
    // Events from here on may be newer than the table: it was copied while the job ran.
    uint64_t table_head_ticket = kNoTicket;
    uint64_t incomplete_from_ticket = kNoTicket;
};

struct WindowProblem {
    Rule rule = Rule::table_end;
    uint64_t ticket = kNoTicket;
};

std::expected<Window, WindowProblem> build_window(WindowSource source);

// From which ticket on nothing impossible can be called corruption.
uint64_t certain_until(const WindowFacts& facts, uint64_t begin_ticket, uint64_t incomplete_from_ticket);

// The events that make and remove an object. `birth` tells of a fact that the live table also holds.
bool is_birth(const Event& event);
bool is_death(const Event& event);
bool is_refused_death(const Event& event);  // takes the death before it back
Object object_of(const Event& event);
// The class of what a `free` ended: that of the birth it names, where the window can read it, else that of
// its call.
Object freed_object(const EventStream& events, const Event& free);
// Of a call that asks for memory of the device, whatever came of it.
bool serves_device_memory(const Event& event);

}  // namespace memsnap
