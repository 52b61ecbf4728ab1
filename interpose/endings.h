// SPDX-License-Identifier: Apache-2.0
//
// Calls that end several objects at once: the unmapping of a range, and the end of a context. The rules: one
// `free` an object, found in the live table; a refusal enters again what it can, and says so where it cannot.
// The end of a device's primary context leaves no record of its own where nothing we know was at home there.
#pragma once

#include "calls.h"
#include "contexts.h"

namespace memsnap::recorder {

enum class Ends : uint8_t {
    mappings,       // those in the range call.address, call.size
    own_context,    // call.address, with what was made in it
    primary,        // the device's primary context, with what is at home there
    one_reference,  // to the device's primary context; the last one ends it
    green_context,  // call.address, which holds such a reference
};

struct Ending {
    Call call;
    Ends ends = Ends::mappings;
};

// What can be entered again when the driver refuses; lives on the hook's stack.
struct EndedObjects {
    static constexpr uint32_t kCapacity = 64;
    Departed objects[kCapacity];
    uint64_t addresses[kCapacity];
    uint32_t count = 0;
    bool overflowed = false;
    Home left = Home::untold;  // the own context taken out of the list
};

Ending end_mappings(wire::Op op, uint64_t address, uint64_t size);
Ending end_own_context(wire::Op op, const void* context);
Ending end_primary(wire::Op op, int device);
Ending end_primary_of_current_device(wire::Op op);
Ending end_reference(wire::Op op, int device);
Ending end_green_context(wire::Op op, const void* context);

void begin_ending(const Ending& ending, uint16_t library, PendingCall& pending, EndedObjects& ended);
void end_ending(const Ending& ending, PendingCall& pending, EndedObjects& ended, int result);

// As record_call of calls.h.
template <typename Make>
int record_call(const Ending& ending, uint16_t library, Make make) {
    PendingCall pending;
    EndedObjects ended;
    begin_ending(ending, library, pending, ended);
    int result = make();
    end_ending(ending, pending, ended, result);
    return result;
}

}  // namespace memsnap::recorder
