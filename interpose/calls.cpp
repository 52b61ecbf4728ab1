// SPDX-License-Identifier: Apache-2.0
#include "calls.h"

#include <cstring>

#include "blind.h"
#include "contexts.h"
#include "keyframe.h"
#include "phases.h"
#include "pinned.h"
#include "quiet.h"
#include "side_thread.h"
#include "sites.h"

namespace memsnap::recorder {
namespace {

bool is_captured(const Call& call) {
    return (call.flags & wire::kFlagCapturing) != 0;
}

bool is_device_request(const Call& call) {
    if (call.act != Act::allocate || is_captured(call)) return false;
    if (call.device_source == DeviceSource::no_device) return false;  // physical memory of the host
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
    note_device_call(*pending.recorder, event.device);
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

void record_attempt(const Call& call, PendingCall& pending) {
    if (call.act == Act::allocate) {
        ModuleCall module{};
        bool from_torch = (pending.flags & wire::kFlagFromTorch) != 0;
        pending.site =
            site_of_birth(*pending.recorder, from_torch ? SiteOf::block : SiteOf::foreign_call, module);
    }
    Event event = make_event(call, pending, wire::Kind::try_call);
    event.link = pending.site;
    pending.try_ticket = commit(call, pending, event).ticket();
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
    event.link = pending.site;
    if (call.act == Act::allocate && event.address != 0 && !is_captured(call)) {
        set_place(*pending.recorder, pending.state, event);
        Home home = home_of_birth(*pending.recorder, event, call.objects[0]);
        keep(pending, commit_birth(*pending.recorder, event, call.objects[0], home).unpack(),
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
    add_reported_totals(recorder, event);
    PackedRecord record = recorder.ring.commit(event);
    note_device_call(recorder, event.device);
    if ((pending.flags & wire::kFlagFromTorch) != 0) keep(pending, record.unpack(), false);
    pin_observation(recorder, event, record);
}

void record_release(const Call& call, PendingCall& pending) {
    if (is_captured(call)) {  // a node that will free: nothing ends now
        Event event = make_event(call, pending, wire::Kind::free);
        event.link = wire::kNoTicket;
        commit(call, pending, event);
        return;
    }
    uint32_t slot = LiveTable::kNoSlot;
    for (wire::Object object : call.objects) {
        if (object != wire::Object::none && slot == LiveTable::kNoSlot)
            slot = pending.recorder->table.claim(object, call.address);
    }
    record_end(call, pending, call.address, slot, pending.departed);
}

// A primary context is taken by programs that only look at a device, and by ranks before their launcher has
// told them which they are: too early to choose the file's name. What is made in it is at home there anyway.
Start start_of(const Call& call) {
    bool too_early = call.act == Act::release || call.op == wire::Op::cuDevicePrimaryCtxRetain;
    return too_early ? Start::never : Start::if_needed;
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
    enter_call(*recorder);
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

void record_end(const Call& call, PendingCall& pending, uint64_t address, uint32_t slot, Departed& departed) {
    Recorder& recorder = *pending.recorder;
    Event event = make_event(call, pending, wire::Kind::free);
    event.address = address;
    departed.was_known = slot != LiveTable::kNoSlot;
    if (departed.was_known) {
        departed.entry = recorder.table.entry(slot);
        departed.home = recorder.table.home(slot);
        event.size = departed.entry.size;
        event.device = departed.entry.device;
    }
    keep(pending, commit_death(recorder, event, slot).unpack(), false);
}

void record_refused_end(const Call& call, PendingCall& pending, uint64_t address, const Departed& departed,
                        int result) {
    Event event = make_event(call, pending, wire::Kind::free_fail);
    event.address = address;
    event.link = wire::kNoTicket;
    event.code = static_cast<uint16_t>(result);
    if (departed.was_known) {
        event.size = departed.entry.size;
        event.link = departed.entry.birth_ticket;
        event.device = departed.entry.device;
    }
    uint64_t ticket = commit(call, pending, event).ticket();
    if (departed.was_known) enter_again(*pending.recorder, departed, ticket);
}

void note_missing_original(wire::Op op, uint16_t library) {
    EventScope scope(Start::if_needed);
    if (scope.recorder() == nullptr) return;
    Recorder& recorder = *scope.recorder();
    record_blind(recorder, wire::Blind::original_missing, op, library);
    bump(recorder.header->counters.originals_missing);
    note_trouble(recorder, wire::Trouble::original_missing, 0);
}

void leave_call(PendingCall& pending) {
    pending.inside = 0;
    exit_call(*pending.recorder);
    if (pending.state != nullptr) pending.state->outer_call = nullptr;
}

void begin_call(const Call& call, uint16_t library, PendingCall& pending) {
    if (call.op == wire::Op::none) return;
    if (call.act == Act::release && call.address == 0)
        return;  // cudaFree(0): the idiom to create the context
    EventScope scope(start_of(call));
    if (!prepare_call(call, library, pending, scope.recorder())) return;
    switch (call.act) {
        case Act::allocate:
        case Act::change:
            record_attempt(call, pending);
            break;
        case Act::release:
            record_release(call, pending);
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
                record_refused_end(call, pending, call.address, pending.departed, result);
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
