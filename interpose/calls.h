// SPDX-License-Identifier: Apache-2.0
//
// What a hooked CUDA call records, whatever the call: try -> real call -> ok or fail; a free before the real
// free, and free_fail when it was refused. The rules: the caller's arguments and results are never changed,
// an unknown pointer passes through, and no state of ours is held while the original runs.
//
// A driver call made inside a recorded runtime call of the same thread is the same fact seen twice and is not
// recorded: a runtime call's own record has the caller that matters.
#pragma once

#include <cstddef>
#include <cstdint>

#include "birth.h"
#include "callers.h"
#include "device.h"

namespace memsnap::recorder {

// Both the runtime's and the driver's "not supported" and "out of memory".
inline constexpr int kNotSupported = 801;
inline constexpr int kOutOfMemory = 2;

enum class Act : uint8_t {
    allocate,  // a new object of class objects[0] when it succeeds
    release,   // the end of an object of one of the classes
    observe,   // device memory was asked for: `out` total, `pitch` free
    change,    // neither: tried, and succeeded or failed
};

enum class DeviceSource : uint8_t {
    current,   // the calling thread's current device
    given,     // `device`
    no_device  // host memory
};

// A call, described before it is made from its arguments alone.
struct Call {
    wire::Op op = wire::Op::none;  // none: nothing to record
    Act act = Act::change;
    wire::Object objects[4] = {};
    DeviceSource device_source = DeviceSource::current;
    int8_t device = kDeviceUnknown;
    uint8_t flags = 0;
    uint64_t address = 0;  // argument: the object, where the caller names one
    uint64_t size = 0;
    uint64_t extra = 0;             // handle, stream or pool
    const void* out = nullptr;      // where the call leaves the object's address or handle
    const size_t* pitch = nullptr;  // where it leaves the bytes of a row; then size = pitch * rows
    uint64_t rows = 0;
};

// Between the two halves of a call; lives on the hook's stack.
struct PendingCall {
    static constexpr uint64_t kInside = 0x6d656d736e617021;

    Recorder* recorder = nullptr;  // null: this call is not recorded
    uint64_t inside = 0;           // kInside from begin to end: tells a live frame from what one left behind
    ThreadState* state = nullptr;
    uint64_t try_ticket = wire::kNoTicket;
    uint64_t site = 0;
    uint16_t thread = 0;
    uint16_t library = 0;
    uint8_t flags = 0;
    int8_t device = kDeviceUnknown;
    Departed departed;  // what a release removed
};

void begin_call(const Call& call, uint16_t library, PendingCall& pending);
void end_call(const Call& call, PendingCall& pending, int result);

// A hook's whole body: `make` makes the real call and returns its result.
template <typename Make>
int record_call(const Call& call, uint16_t library, Make make) {
    PendingCall pending;
    begin_call(call, library, pending);
    int result = make();
    end_call(call, pending, result);
    return result;
}

// The calling library reaches no such function: counted, recorded and said once.
void note_missing_original(wire::Op op, uint16_t library);

// Pieces for calls that end several objects; see endings.h.
bool prepare_call(const Call& call, uint16_t library, PendingCall& pending, Recorder* recorder);
// `slot` is claimed, or LiveTable::kNoSlot for an object never seen.
void record_end(const Call& call, PendingCall& pending, uint64_t address, uint32_t slot, Departed& departed);
void record_refused_end(const Call& call, PendingCall& pending, uint64_t address, const Departed& departed,
                        int result);
void leave_call(PendingCall& pending);

}  // namespace memsnap::recorder
