// SPDX-License-Identifier: Apache-2.0
#include "endings.h"

#include "call_builders.h"

namespace memsnap::recorder {
namespace {

Ending make_ending(Ends ends, wire::Op op, uint64_t address) {
    Ending ending;
    ending.ends = ends;
    ending.call.op = op;
    ending.call.act = Act::release;
    ending.call.address = address;
    ending.call.device_source = DeviceSource::no_device;  // the entries know
    return ending;
}

Ending make_device_ending(Ends ends, wire::Op op, int8_t device) {
    Ending ending = make_ending(ends, op, 0);
    ending.call.device_source = DeviceSource::given;
    ending.call.device = device;
    return ending;
}

// The last place is used over and over: what it held can no longer be entered again.
void end_one(const Call& call, PendingCall& pending, EndedObjects& ended, uint64_t address, uint32_t slot) {
    ended.overflowed = ended.count == EndedObjects::kCapacity;
    uint32_t i = ended.overflowed ? EndedObjects::kCapacity - 1 : ended.count++;
    ended.addresses[i] = address;
    record_end(call, pending, address, slot, ended.objects[i]);
}

void end_range(const Call& call, PendingCall& pending, EndedObjects& ended) {
    uint64_t end = call.address + call.size;
    for (uint64_t at = call.address; at < end;) {
        uint32_t slot = pending.recorder->table.claim(wire::Object::mapping, at);
        uint64_t size = slot == LiveTable::kNoSlot ? 0 : pending.recorder->table.entry(slot).size;
        end_one(call, pending, ended, at, slot);
        if (size == 0) break;
        at += size;
    }
}

// What was made in a context first, then the context and all references to it.
void end_home(const Call& call, PendingCall& pending, EndedObjects& ended, Home home) {
    LiveTable& table = pending.recorder->table;
    for (bool contexts : {false, true}) {
        uint32_t slot = 0;
        while (table.claim_at_home(home, contexts, slot) != LiveTable::kNoSlot) {
            end_one(call, pending, ended, table.entry(slot).address, slot);
        }
    }
}

void end_own(const Call& call, PendingCall& pending, EndedObjects& ended) {
    Recorder& recorder = *pending.recorder;
    Home home = recorder.contexts.find(call.address);
    if (home == Home::untold) {
        if (recorder.contexts.has_overflowed()) mark_incomplete(recorder, recorder.ring.head());
        end_one(call, pending, ended, call.address,
                recorder.table.claim(wire::Object::context, call.address));
        return;
    }
    // Before the call, as its memory: the driver may hand out both again at once.
    recorder.contexts.leave(home);
    ended.left = home;
    end_home(call, pending, ended, home);
}

// Only the driver knows whether that was the last reference, and only afterwards.
void end_after_success(const Ending& ending, PendingCall& pending, EndedObjects& ended) {
    const Call& call = ending.call;
    LiveTable& table = pending.recorder->table;
    int8_t device = call.device;
    uint32_t slot = 0;
    if (ending.ends == Ends::green_context) {
        slot = table.claim(wire::Object::context, call.address);
        if (slot != LiveTable::kNoSlot) device = table.entry(slot).device;
    }
    if (is_primary_context_gone(device)) {
        end_home(call, pending, ended, primary_home(device));
    } else if (ending.ends == Ends::one_reference) {
        slot = table.claim_at_home(primary_home(device), true, slot);
        if (slot != LiveTable::kNoSlot) end_one(call, pending, ended, table.entry(slot).address, slot);
    }
    if (ending.ends == Ends::green_context) end_one(call, pending, ended, call.address, slot);
}

void enter_all_again(const Call& call, PendingCall& pending, const EndedObjects& ended, int result) {
    Recorder& recorder = *pending.recorder;
    for (uint32_t i = 0; i < ended.count; ++i) {
        record_refused_end(call, pending, ended.addresses[i], ended.objects[i], result);
    }
    if (is_own_context(ended.left)) recorder.contexts.restore(ended.left, call.address);
    if (ended.overflowed) mark_incomplete(recorder, recorder.ring.head());
}

}  // namespace

Ending end_mappings(wire::Op op, uint64_t address, uint64_t size) {
    Ending ending = make_ending(Ends::mappings, op, address);
    ending.call.size = size;
    return ending;
}

Ending end_own_context(wire::Op op, const void* context) {
    return make_ending(Ends::own_context, op, word(context));
}

Ending end_primary(wire::Op op, int device) {
    return make_device_ending(Ends::primary, op, narrow_device(device));
}

Ending end_primary_of_current_device(wire::Op op) {
    return make_device_ending(Ends::primary, op, current_device());
}

Ending end_reference(wire::Op op, int device) {
    return make_device_ending(Ends::one_reference, op, narrow_device(device));
}

Ending end_green_context(wire::Op op, const void* context) {
    return make_ending(Ends::green_context, op, word(context));
}

void begin_ending(const Ending& ending, uint16_t library, PendingCall& pending, EndedObjects& ended) {
    // Without a current device the runtime knows which one, and asks the driver for it: that call is the
    // fact.
    if (ending.ends == Ends::primary && ending.call.device == kDeviceUnknown) return;
    EventScope scope(Start::never);
    if (!prepare_call(ending.call, library, pending, scope.recorder())) return;
    switch (ending.ends) {
        case Ends::mappings:
            return end_range(ending.call, pending, ended);
        case Ends::own_context:
            return end_own(ending.call, pending, ended);
        case Ends::primary:
            return end_home(ending.call, pending, ended, primary_home(ending.call.device));
        case Ends::one_reference:
        case Ends::green_context:
            return;
    }
}

void end_ending(const Ending& ending, PendingCall& pending, EndedObjects& ended, int result) {
    if (pending.recorder == nullptr || pending.recorder != current_recorder()) return;
    EventScope scope(Start::never);
    if (scope.recorder() == nullptr) return;
    bool waits = ending.ends == Ends::one_reference || ending.ends == Ends::green_context;
    if (result == 0 && waits) end_after_success(ending, pending, ended);
    if (result != 0) enter_all_again(ending.call, pending, ended, result);
    leave_call(pending);
}

}  // namespace memsnap::recorder
