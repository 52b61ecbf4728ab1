// SPDX-License-Identifier: Apache-2.0
// cuInit, and what every call is checked against first.
// Rule: a process forked after cuInit gets CUDA_ERROR_NOT_INITIALIZED for ever (CUDA programming guide,
// "Initialization": a context is not inherited across fork()).
#include "driver_state.h"

#include <pthread.h>

#include <cstdlib>
#include <cstring>
#include <string>

namespace simcuda {
namespace {

// CUDA_VISIBLE_DEVICES: a list of indexes; the first invalid one hides itself and all after it (CUDA
// programming guide, "CUDA Environment Variables").
std::vector<int> read_visible_devices(int device_count) {
    std::vector<int> devices;
    const char* text = std::getenv("CUDA_VISIBLE_DEVICES");
    if (text == nullptr) {
        for (int device = 0; device < device_count; ++device)
            devices.push_back(device);
        return devices;
    }
    while (*text != '\0') {
        char* end = nullptr;
        const long device = std::strtol(text, &end, 10);
        if (end == text || device < 0 || device >= device_count) break;
        devices.push_back(static_cast<int>(device));
        text = *end == ',' ? end + 1 : end;
    }
    return devices;
}

void mark_forked_child() {
    driver().is_forked_child = true;
}

bool is_set(const char* name) {
    const char* value = std::getenv(name);
    return value != nullptr && std::strcmp(value, "1") == 0;
}

CUresult initialise(Driver& state) {
    if (state.is_initialised) return CUDA_SUCCESS;
    state.session = SharedState::get();
    if (state.session == nullptr) return CUDA_ERROR_NO_DEVICE;
    state.visible_devices = read_visible_devices(state.session->device_count());
    if (state.visible_devices.empty()) return CUDA_ERROR_NO_DEVICE;
    for (size_t index = 0; index < state.visible_devices.size(); ++index) {
        auto context = std::make_unique<CUctx_st>();
        context->device = static_cast<int>(index);
        context->is_primary = true;
        state.primary_contexts.push_back(std::move(context));
    }
    state.stream_model.set_pending(is_set("SIMCUDA_PENDING_EVENTS"));
    state.pools.add_default_pools(static_cast<int>(state.visible_devices.size()));
    pthread_atfork(nullptr, nullptr, mark_forked_child);
    state.is_initialised = true;
    return CUDA_SUCCESS;
}

}  // namespace

Driver& driver() {
    static Driver& state = *new Driver;  // never destroyed: programs free memory from their own destructors
    return state;
}

ContextStack& context_stack() {
    thread_local ContextStack stack;
    return stack;
}

CUresult check_driver(const Driver& state) {
    return state.is_initialised ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
}

CUresult check_context(Driver& state, CUcontext* context) {
    *context = current_context();
    if (*context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    if (!state.contexts.contains(*context)) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    return (*context)->poison;
}

int session_device(const Driver& state, CUdevice ordinal) {
    return state.visible_devices[static_cast<size_t>(ordinal)];
}

bool is_device(const Driver& state, CUdevice ordinal) {
    return ordinal >= 0 && static_cast<size_t>(ordinal) < state.visible_devices.size();
}

}  // namespace simcuda

using namespace simcuda;

extern "C" CUresult cuInit(unsigned int flags) {
    if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
    Driver& state = driver();
    if (state.is_forked_child) return CUDA_ERROR_NOT_INITIALIZED;
    load_injection();
    const std::lock_guard lock(state.mutex);
    return initialise(state);
}
