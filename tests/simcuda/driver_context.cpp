// SPDX-License-Identifier: Apache-2.0
// Primary and created contexts, and the calling thread's stack of them.
// Rule: a context takes its bytes from the device when it comes to life and gives them back, with all memory
// and streams made in it, when it ends (CUDA driver API, "Primary Context Management", "Context Management").
// Memory from pools, of graphs and of cuMemCreate outlives it, also the primary one (observed with
// cuMemAllocFromPoolAsync and cuDevicePrimaryCtxReset: github.com/JuliaGPU/CUDA.jl/issues/1579).
#include "driver_state.h"
#include "simcuda.h"

namespace simcuda {
namespace {

CUresult start_context(Driver& state, CUcontext context) {
    const int device = session_device(state, context->device);
    const Grant grant = state.session->charge_context(device, state.session->context_bytes());
    if (grant != Grant::granted) return to_result(grant);
    context->is_active = true;
    context->poison = CUDA_SUCCESS;
    context->id = state.next_context_id++;
    state.contexts.insert(context);
    return CUDA_SUCCESS;
}

void end_context(Driver& state, CUcontext context) {
    synchronise_context(state, context);
    destroy_streams_of(state, context);
    free_memory_of(state, context);
    destroy_arrays_of(state, context);
    destroy_external_memory_of(state, context);
    state.contexts.erase(context);
    for (CUcontext other : state.contexts)
        other->peers.erase(context);
    context->peers.clear();
    context->is_active = false;
    context->retain_count = 0;
    state.session->give_back(session_device(state, context->device), state.session->context_bytes());
}

CUctx_st& primary(Driver& state, CUdevice device) {
    return *state.primary_contexts[static_cast<size_t>(device)];
}

template <typename Body>
CUresult with_primary(CUdevice device, Body body) {
    return with_driver([&](Driver& state) {
        return is_device(state, device) ? body(state, primary(state, device)) : CUDA_ERROR_INVALID_DEVICE;
    });
}

}  // namespace

CUresult retain_primary(Driver& state, CUdevice device, CUcontext* context) {
    CUctx_st& found = primary(state, device);
    if (!found.is_active) {
        const CUresult started = start_context(state, &found);
        if (started != CUDA_SUCCESS) return started;
    }
    ++found.retain_count;
    *context = &found;
    return CUDA_SUCCESS;
}

}  // namespace simcuda

using namespace simcuda;

extern "C" {

CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
    if (context == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return with_primary(device,
                        [&](Driver& state, CUctx_st&) { return retain_primary(state, device, context); });
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
    return with_primary(device, [](Driver& state, CUctx_st& context) {
        if (!context.is_active) return CUDA_ERROR_INVALID_CONTEXT;
        if (--context.retain_count == 0) end_context(state, &context);
        return CUDA_SUCCESS;
    });
}

CUresult cuDevicePrimaryCtxRelease(CUdevice device) {
    return cuDevicePrimaryCtxRelease_v2(device);
}

CUresult cuDevicePrimaryCtxReset_v2(CUdevice device) {
    return with_primary(device, [](Driver& state, CUctx_st& context) {
        if (context.is_active) end_context(state, &context);
        return CUDA_SUCCESS;
    });
}

CUresult cuDevicePrimaryCtxReset(CUdevice device) {
    return cuDevicePrimaryCtxReset_v2(device);
}

CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice device, unsigned int flags) {
    return with_primary(device, [flags](Driver&, CUctx_st& context) {
        context.flags = flags;
        return CUDA_SUCCESS;
    });
}

CUresult cuDevicePrimaryCtxSetFlags(CUdevice device, unsigned int flags) {
    return cuDevicePrimaryCtxSetFlags_v2(device, flags);
}

CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned int* flags, int* active) {
    return with_primary(device, [=](Driver&, CUctx_st& context) {
        if (flags != nullptr) *flags = context.flags;
        if (active != nullptr) *active = context.is_active ? 1 : 0;
        return CUDA_SUCCESS;
    });
}

CUresult cuCtxCreate_v2(CUcontext* context, unsigned int flags, CUdevice device) {
    if (context == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return with_driver([&](Driver& state) {
        if (!is_device(state, device)) return CUDA_ERROR_INVALID_DEVICE;
        auto created = std::make_unique<CUctx_st>();
        created->device = device;
        created->flags = flags;
        const CUresult started = start_context(state, created.get());
        if (started != CUDA_SUCCESS) return started;
        *context = created.release();
        return context_stack().push(*context) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
    });
}

CUresult cuCtxCreate(CUcontext* context, unsigned int flags, CUdevice device) {
    return cuCtxCreate_v2(context, flags, device);
}

CUresult cuCtxCreate_v3(CUcontext* context, CUexecAffinityParam*, int, unsigned int flags, CUdevice device) {
    return cuCtxCreate_v2(context, flags, device);
}

CUresult cuCtxCreate_v4(CUcontext* context, CUctxCreateParams*, unsigned int flags, CUdevice device) {
    return cuCtxCreate_v2(context, flags, device);
}

// The object stays, so that a stale handle on some thread's stack is recognised and never reused.
CUresult cuCtxDestroy_v2(CUcontext context) {
    return with_driver([&](Driver& state) {
        if (!state.contexts.contains(context) || context->is_primary) return CUDA_ERROR_INVALID_CONTEXT;
        end_context(state, context);
        if (current_context() == context) context_stack().pop();
        return CUDA_SUCCESS;
    });
}

CUresult cuCtxDestroy(CUcontext context) {
    return cuCtxDestroy_v2(context);
}

// A green context holds a reference to the device's primary context and shares its memory; what it
// partitions, multiprocessors, is not simulated, so any description will do (CUDA driver API, "Green
// Contexts").
CUresult cuGreenCtxCreate(CUgreenCtx* context, CUdevResourceDesc, CUdevice device, unsigned int flags) {
    if (context == nullptr || flags != CU_GREEN_CTX_DEFAULT_STREAM) return CUDA_ERROR_INVALID_VALUE;
    return with_primary(device, [&](Driver& state, CUctx_st&) {
        CUcontext retained = nullptr;
        const CUresult result = retain_primary(state, device, &retained);
        if (result != CUDA_SUCCESS) return result;
        *context = reinterpret_cast<CUgreenCtx>(state.next_green_context++);
        state.green_contexts[*context] = device;
        return CUDA_SUCCESS;
    });
}

CUresult cuGreenCtxDestroy(CUgreenCtx context) {
    return with_driver([&](Driver& state) {
        const auto found = state.green_contexts.find(context);
        if (found == state.green_contexts.end()) return CUDA_ERROR_INVALID_CONTEXT;
        CUctx_st& retained = primary(state, found->second);
        state.green_contexts.erase(found);
        if (retained.is_active && --retained.retain_count == 0) end_context(state, &retained);
        return CUDA_SUCCESS;
    });
}

CUresult cuCtxPushCurrent_v2(CUcontext context) {
    return with_driver([&](Driver& state) {
        if (!state.contexts.contains(context)) return CUDA_ERROR_INVALID_CONTEXT;
        return context_stack().push(context) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
    });
}

CUresult cuCtxPopCurrent_v2(CUcontext* context) {
    return with_driver([&](Driver&) {
        if (current_context() == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
        if (context != nullptr) *context = current_context();
        context_stack().pop();
        return CUDA_SUCCESS;
    });
}

CUresult cuCtxSetCurrent(CUcontext context) {
    return with_driver([&](Driver& state) {
        if (context != nullptr && !state.contexts.contains(context)) return CUDA_ERROR_INVALID_CONTEXT;
        context_stack().pop();
        if (context != nullptr) context_stack().push(context);
        return CUDA_SUCCESS;
    });
}

// A context that has ended is no longer current.
CUresult cuCtxGetCurrent(CUcontext* context) {
    if (context == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return with_driver([&](Driver& state) {
        *context = state.contexts.contains(current_context()) ? current_context() : nullptr;
        return CUDA_SUCCESS;
    });
}

CUresult cuCtxGetDevice_v2(CUdevice* device, CUcontext context) {
    if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return with_driver([&](Driver& state) {
        const CUcontext asked = context != nullptr ? context : current_context();
        if (!state.contexts.contains(asked)) return CUDA_ERROR_INVALID_CONTEXT;
        *device = asked->device;
        return CUDA_SUCCESS;
    });
}

CUresult cuCtxGetDevice(CUdevice* device) {
    return cuCtxGetDevice_v2(device, nullptr);
}

CUresult cuCtxGetId(CUcontext context, unsigned long long* id) {
    if (id == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return with_driver([&](Driver& state) {
        const CUcontext asked = context != nullptr ? context : current_context();
        if (!state.contexts.contains(asked)) return CUDA_ERROR_INVALID_CONTEXT;
        *id = asked->id;
        return CUDA_SUCCESS;
    });
}

CUresult cuCtxGetFlags(unsigned int* flags) {
    if (flags == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return with_context([&](Driver&, CUctx_st& context) {
        *flags = context.flags;
        return CUDA_SUCCESS;
    });
}

CUresult cuCtxGetApiVersion(CUcontext, unsigned int* version) {
    if (version == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *version = 3020;
    return CUDA_SUCCESS;
}

CUresult cuCtxGetStreamPriorityRange(int* least, int* greatest) {
    return with_context([&](Driver&, CUctx_st&) {
        if (least != nullptr) *least = 0;
        if (greatest != nullptr) *greatest = -5;
        return CUDA_SUCCESS;
    });
}

CUresult cuCtxSetLimit(CUlimit limit, size_t value) {
    return with_context([&](Driver&, CUctx_st& context) {
        context.limits[limit] = value;
        return CUDA_SUCCESS;
    });
}

CUresult cuCtxGetLimit(size_t* value, CUlimit limit) {
    if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return with_context([&](Driver&, CUctx_st& context) {
        *value = context.limits[limit];
        return CUDA_SUCCESS;
    });
}

// Test knob: from now on every call in the device's primary context fails with `error`, as after a kernel
// that touched an illegal address, until the device is reset (CUDA runtime API, "Error Handling": sticky
// errors).
int simcuda_poison_context(int device, int error) {
    return with_primary(device, [error](Driver&, CUctx_st& context) {
        context.poison = static_cast<CUresult>(error);
        return CUDA_SUCCESS;
    });
}

}  // extern "C"
