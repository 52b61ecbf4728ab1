// SPDX-License-Identifier: Apache-2.0
#include "calls.h"

#include <cstring>

#include "birth.h"
#include "keyframe.h"
#include "pinned.h"
#include "side_thread.h"

namespace memsnap::recorder {
namespace {

bool is_device_request(const Call& call) {
    if (call.act != Act::allocate) return false;
    switch (call.objects[0]) {
        case wire::Object::device:
        case wire::Object::managed:
        case wire::Object::array:
        case wire::Object::async:
        case wire::Object::vmm_handle:
            return true;
        case wire::Object::none:
        case wire::Object::block:
        case wire::Object::host:
        case wire::Object::mapping:
        case wire::Object::reservation:
        case wire::Object::pool:
        case wire::Object::import:
        case wire::Object::multicast:
        case wire::Object::context:
        case wire::Object::graph_node:
            return false;
    }
    return false;
}

// A refused request that nobody will report otherwise: PyTorch's allocator tries again, and then reports the
// failure itself, unless its cache is off or CUDA's own pool does the caching.
bool is_final_failure(const Call& call, const PendingCall& pending, int result) {
    if (result != kOutOfMemory || !is_device_request(call)) return false;
    bool from_torch = (pending.flags & wire::kFlagFromTorch) != 0;
    return !from_torch || pending.recorder->caching_disabled || call.objects[0] == wire::Object::async;
}

Event make_event(const Call& call, const PendingCall& pending, wire::Kind kind) {
    Event event;
    event.kind = kind;
    event.flags = pending.flags;
    event.thread = pending.thread;
    event.time = read_counter();
    event.address = call.address;
    event.size = call.size;
    event.set_extra(call.extra, 0);
    event.device = pending.device;
    event.op = call.op;
    event.library = pending.library;
    return event;
}

// Every call record is also kept by its thread, as part of the operation that may yet fail.
void keep(PendingCall& pending, const wire::Record& record, bool device_request) {
    if (pending.state == nullptr) return;
    Operation& operation = pending.state->operation;
    pending.state->calls[operation.call_count() % wire::kKeyframeOperationRecords] = record;
    operation.note(record, device_request);
}

PackedRecord commit(const Call& call, PendingCall& pending, const Event& event) {
    PackedRecord record = pending.recorder->ring.commit(event);
    keep(pending, record.unpack(), is_device_request(call));
    return record;
}

int8_t device_of(const Call& call) {
    switch (call.device_source) {
        case DeviceSource::current:
            return current_device();
        case DeviceSource::given:
            return call.device;
        case DeviceSource::no_device:
            return kDeviceUnknown;
    }
    return kDeviceUnknown;
}

// Before its first allocation a thread may have no context yet; after it, the answer is there.
void settle_device(const Call& call, PendingCall& pending) {
    if (call.device_source == DeviceSource::no_device || pending.device != kDeviceUnknown) return;
    pending.device = device_of(call);
    if (pending.device == kDeviceUnknown) bump(pending.recorder->header->counters.device_unknown);
}

uint64_t load_word(const void* at) {
    uint64_t word = 0;
    if (at != nullptr) std::memcpy(&word, at, sizeof word);
    return word;
}

void record_failure(const Call& call, PendingCall& pending, int result) {
    Event event = make_event(call, pending, wire::Kind::fail);
    event.link = pending.try_ticket;
    event.code = static_cast<uint16_t>(result);
    wire::Record record = commit(call, pending, event).unpack();
    if (!is_final_failure(call, pending, result)) return;

    Recorder& recorder = *pending.recorder;
    if (pending.state != nullptr) {
        Event summary = make_event(call, pending, wire::Kind::operation);
        pending.state->operation.describe(summary);
        recorder.ring.commit(summary);
    }
    write_keyframe(recorder, record, pending.state);
    if (pending.state != nullptr) pending.state->operation.restart();
    announce_failure();
}

void record_success(const Call& call, PendingCall& pending) {
    settle_device(call, pending);
    Call done = call;
    if (call.out != nullptr) done.address = load_word(call.out);
    if (call.pitch != nullptr) done.size = *call.pitch * call.rows;
    Event event = make_event(done, pending, wire::Kind::ok);
    if (call.act == Act::allocate && event.address != 0) {
        keep(pending, commit_birth(*pending.recorder, event, call.objects[0]).unpack(),
             is_device_request(call));
    } else {
        commit(done, pending, event);
    }
    if ((pending.flags & wire::kFlagFromTorch) == 0 && pending.state != nullptr)
        pending.state->operation.restart();
}

void record_observation(const Call& call, PendingCall& pending, int result) {
    Recorder& recorder = *pending.recorder;
    settle_device(call, pending);
    // What another library asks is no part of the operation that PyTorch's allocator may be in, and no later
    // failure of its own may take the answer for one seen at that failure.
    if ((pending.flags & wire::kFlagFromTorch) == 0 && pending.state != nullptr)
        pending.state->operation.restart();
    Event event = make_event(call, pending, wire::Kind::mem_info);
    if (result == 0) {
        event.size = load_word(call.out);
        event.link = load_word(call.pitch);
    }
    event.code = static_cast<uint16_t>(result);
    auto device = static_cast<uint32_t>(pending.device);
    if (device < wire::kDeviceCapacity &&
        recorder.devices[device].has_reported.load(std::memory_order_acquire)) {
        event.set_totals(recorder.devices[device].allocated_bytes.load(std::memory_order_relaxed),
                         recorder.devices[device].reserved_bytes.load(std::memory_order_relaxed));
    }
    PackedRecord record = recorder.ring.commit(event);
    if ((pending.flags & wire::kFlagFromTorch) != 0) keep(pending, record.unpack(), false);
    pin_observation(recorder, event, record);
}

// Whether this thread is inside another recorded call. Stacks grow down: an outer call's frame lies above
// ours, and is still in use. One that was left without returning (an exception, a forced unwind) says nothing
// any more.
bool is_nested(const ThreadState& state, const PendingCall& pending) {
    const PendingCall* outer = state.outer_call;
    return outer != nullptr && &pending < outer && outer->inside == PendingCall::kInside;
}

}  // namespace

bool prepare_call(const Call& call, uint16_t library, PendingCall& pending, Recorder* recorder) {
    if (recorder == nullptr) return false;
    uint16_t thread = thread_index(*recorder);
    ThreadState* state = thread_state(*recorder, thread);
    if (state != nullptr) {
        if (is_nested(*state, pending)) return false;
        state->outer_call = &pending;
    }
    if (library >=
        std::atomic_ref<uint32_t>(recorder->header->library_count).load(std::memory_order_relaxed)) {
        list_callers(*recorder);
    }
    pending.recorder = recorder;
    pending.inside = PendingCall::kInside;
    pending.state = state;
    pending.thread = thread;
    pending.library = library;
    pending.flags =
        static_cast<uint8_t>(call.flags | (is_torch_allocator(library) ? wire::kFlagFromTorch : 0));
    pending.device = device_of(call);
    return true;
}

void record_release(const Call& call, PendingCall& pending, uint64_t address, wire::LiveEntry& entry,
                    bool& had_entry) {
    Recorder& recorder = *pending.recorder;
    uint32_t slot = LiveTable::kNoSlot;
    for (wire::Object object : call.objects) {
        if (object != wire::Object::none && slot == LiveTable::kNoSlot)
            slot = recorder.table.claim(object, address);
    }
    Event event = make_event(call, pending, wire::Kind::free);
    event.address = address;
    had_entry = slot != LiveTable::kNoSlot;
    if (had_entry) {
        entry = recorder.table.entry(slot);
        event.size = entry.size;
        event.device = entry.device;
    }
    keep(pending, commit_death(recorder, event, slot).unpack(), false);
}

void record_refused_release(const Call& call, PendingCall& pending, uint64_t address,
                            const wire::LiveEntry& entry, bool had_entry, int result) {
    Event event = make_event(call, pending, wire::Kind::free_fail);
    event.address = address;
    event.link = wire::kNoTicket;
    event.code = static_cast<uint16_t>(result);
    if (had_entry) {
        event.size = entry.size;
        event.link = entry.birth_ticket;
        event.device = entry.device;
    }
    uint64_t ticket = commit(call, pending, event).ticket();
    if (had_entry) enter_again(*pending.recorder, entry, ticket);
}

void note_missing_original(wire::Op op, uint16_t library) {
    EventScope scope(Start::if_needed);
    if (scope.recorder() == nullptr) return;
    Recorder& recorder = *scope.recorder();
    Event event;
    event.kind = wire::Kind::blind;
    event.thread = thread_index(recorder);
    event.time = read_counter();
    event.op = op;
    event.library = library;
    event.code = static_cast<uint16_t>(wire::Blind::original_missing);
    recorder.ring.commit(event);
    bump(recorder.header->counters.blind);
    bump(recorder.header->counters.originals_missing);
    note_trouble(recorder, wire::Trouble::original_missing, 0);
}

void leave_call(PendingCall& pending) {
    pending.inside = 0;
    if (pending.state != nullptr) pending.state->outer_call = nullptr;
}

void begin_call(const Call& call, uint16_t library, PendingCall& pending) {
    if (call.act == Act::release && call.address == 0)
        return;  // cudaFree(0): the idiom to create the context
    EventScope scope(call.act == Act::release ? Start::never : Start::if_needed);
    if (!prepare_call(call, library, pending, scope.recorder())) return;
    switch (call.act) {
        case Act::allocate:
        case Act::change:
            pending.try_ticket =
                commit(call, pending, make_event(call, pending, wire::Kind::try_call)).ticket();
            break;
        case Act::release:
            record_release(call, pending, call.address, pending.entry, pending.had_entry);
            break;
        case Act::observe:
            break;
    }
}

void end_call(const Call& call, PendingCall& pending, int result) {
    // A child forked inside the call has no business with its parent's record.
    if (pending.recorder == nullptr || pending.recorder != current_recorder()) return;
    EventScope scope(Start::never);
    if (scope.recorder() == nullptr) return;
    switch (call.act) {
        case Act::allocate:
        case Act::change:
            if (result == 0) record_success(call, pending);
            if (result != 0) record_failure(call, pending, result);
            break;
        case Act::release:
            if (result != 0) {
                record_refused_release(call, pending, call.address, pending.entry, pending.had_entry, result);
            } else if ((pending.flags & wire::kFlagFromTorch) == 0 && pending.state != nullptr) {
                pending.state->operation.restart();
            }
            break;
        case Act::observe:
            record_observation(call, pending, result);
            break;
    }
    leave_call(pending);
}

}  // namespace memsnap::recorder
