// SPDX-License-Identifier: Apache-2.0
// Events. Rule: an event is ready when the work recorded in it is done (stream_model.h); one that was never
// recorded is ready (CUDA driver API, "Event Management").
#include <ctime>

#include "driver_state.h"
#include "simcuda.h"

using namespace simcuda;

namespace {

uint64_t now_ns() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

template <typename Body>
CUresult with_event(CUevent handle, Body body) {
    return with_driver([&](Driver& state) {
        return state.events.contains(handle) ? body(state, *handle) : CUDA_ERROR_INVALID_HANDLE;
    });
}

// Events of a capture may not be asked about; others may only be when no capture forbids it.
CUresult check_askable(Driver& state, const CUevent_st& event) {
    if (event.capture_id == 0) return state.captures.check_unsafe_call();
    if (Capture* capture = state.captures.find(event.capture_id)) capture->is_invalid = true;
    return CUDA_ERROR_CAPTURED_EVENT;
}

}  // namespace

extern "C" {

CUresult cuEventCreate(CUevent* event, unsigned int flags) {
    constexpr unsigned kKnown = CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;
    const bool is_timed_ipc = (flags & CU_EVENT_INTERPROCESS) != 0 && (flags & CU_EVENT_DISABLE_TIMING) == 0;
    if (event == nullptr || (flags & ~kKnown) != 0 || is_timed_ipc) return CUDA_ERROR_INVALID_VALUE;
    return with_context([&](Driver& state, CUctx_st& context) {
        auto created = std::make_unique<CUevent_st>();
        created->context = &context;
        created->flags = flags;
        *event = created.get();
        state.events[*event] = std::move(created);
        return CUDA_SUCCESS;
    });
}

CUresult cuEventDestroy_v2(CUevent handle) {
    return with_event(handle, [&](Driver& state, CUevent_st&) {
        state.events.erase(handle);
        return CUDA_SUCCESS;
    });
}

CUresult cuEventRecordWithFlags(CUevent handle, CUstream stream_handle, unsigned int) {
    return with_context([&](Driver& state, CUctx_st& context) {
        if (!state.events.contains(handle)) return CUDA_ERROR_INVALID_HANDLE;
        CUstream stream = find_stream(state, context, stream_handle);
        if (stream == nullptr || stream->context != handle->context) return CUDA_ERROR_INVALID_HANDLE;
        handle->is_recorded = true;
        handle->recorded_ns = now_ns();
        handle->capture_id = stream->capture != nullptr ? stream->capture->id : 0;
        handle->captured_nodes = stream->capture_tail;
        handle->position = stream->capture != nullptr ? Position{} : state.stream_model.now(stream->id);
        return CUDA_SUCCESS;
    });
}

CUresult cuEventRecord(CUevent event, CUstream stream) {
    return cuEventRecordWithFlags(event, stream, 0);
}

CUresult cuEventQuery(CUevent handle) {
    return with_event(handle, [](Driver& state, CUevent_st& event) {
        const CUresult askable = check_askable(state, event);
        if (askable != CUDA_SUCCESS) return askable;
        return state.stream_model.is_done(event.position) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
    });
}

CUresult cuEventSynchronize(CUevent handle) {
    return with_event(handle, [](Driver& state, CUevent_st& event) {
        const CUresult askable = check_askable(state, event);
        if (askable != CUDA_SUCCESS) return askable;
        state.stream_model.synchronise(event.position);
        state.pools.trim_to_thresholds(state);
        return CUDA_SUCCESS;
    });
}

CUresult cuEventElapsedTime_v2(float* milliseconds, CUevent start, CUevent end) {
    if (milliseconds == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return with_event(start, [&](Driver& state, CUevent_st&) {
        if (!state.events.contains(end)) return CUDA_ERROR_INVALID_HANDLE;
        const unsigned untimed = (start->flags | end->flags) & CU_EVENT_DISABLE_TIMING;
        if (untimed != 0 || !start->is_recorded || !end->is_recorded) return CUDA_ERROR_INVALID_HANDLE;
        if (!state.stream_model.is_done(start->position) || !state.stream_model.is_done(end->position)) {
            return CUDA_ERROR_NOT_READY;
        }
        *milliseconds =
            static_cast<float>(static_cast<int64_t>(end->recorded_ns - start->recorded_ns)) / 1e6F;
        return CUDA_SUCCESS;
    });
}

CUresult cuEventElapsedTime(float* milliseconds, CUevent start, CUevent end) {
    return cuEventElapsedTime_v2(milliseconds, start, end);
}

// Events of another process are always ready: nothing runs there that this process could wait for.
CUresult cuIpcGetEventHandle(CUipcEventHandle* ipc, CUevent handle) {
    if (ipc == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return with_event(handle, [&](Driver&, CUevent_st& event) {
        if ((event.flags & CU_EVENT_INTERPROCESS) == 0) return CUDA_ERROR_INVALID_HANDLE;
        *ipc = CUipcEventHandle{};
        return CUDA_SUCCESS;
    });
}

CUresult cuIpcOpenEventHandle(CUevent* event, CUipcEventHandle) {
    return cuEventCreate(event, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING);
}

// Test knob: what SIMCUDA_PENDING_EVENTS=1 sets from the start.
int simcuda_set_pending_events(int pending) {
    return with_driver([&](Driver& state) {
        state.stream_model.set_pending(pending != 0);
        return CUDA_SUCCESS;
    });
}

}  // extern "C"
