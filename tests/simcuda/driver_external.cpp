// SPDX-License-Identifier: Apache-2.0
// Memory of other APIs, known by a file descriptor. Rule: its bytes are the other API's account; what is
// mapped of it here is given up by cuMemFree or cuMipmappedArrayDestroy, and with the context (CUDA driver
// API, "External Resource Interoperability"). Any descriptor will do: there is no other API here.
#include <sys/mman.h>
#include <unistd.h>

#include "driver_state.h"

namespace simcuda {

void destroy_external_memory_of(Driver& state, CUcontext context) {
    std::erase_if(state.external_memory, [&](const auto& entry) { return entry.second.context == context; });
}

}  // namespace simcuda

using namespace simcuda;

namespace {

template <typename Body>
CUresult with_external(CUexternalMemory handle, Body body) {
    return with_context([&](Driver& state, CUctx_st& context) {
        const auto found = state.external_memory.find(handle);
        return found == state.external_memory.end() ? CUDA_ERROR_INVALID_HANDLE
                                                    : body(state, context, found->second);
    });
}

}  // namespace

extern "C" {

// The descriptor is the driver's from now on.
CUresult cuImportExternalMemory(CUexternalMemory* handle,
                                const CUDA_EXTERNAL_MEMORY_HANDLE_DESC* description) {
    if (handle == nullptr || description == nullptr || description->size == 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (description->type != CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD) return CUDA_ERROR_NOT_SUPPORTED;
    return with_context([&](Driver& state, CUctx_st& context) {
        if (close(description->handle.fd) != 0) return CUDA_ERROR_INVALID_HANDLE;
        *handle = reinterpret_cast<CUexternalMemory>(state.next_external_memory++);
        state.external_memory[*handle] = {&context, description->size};
        return CUDA_SUCCESS;
    });
}

CUresult cuExternalMemoryGetMappedBuffer(CUdeviceptr* pointer, CUexternalMemory handle,
                                         const CUDA_EXTERNAL_MEMORY_BUFFER_DESC* buffer) {
    if (pointer == nullptr || buffer == nullptr || buffer->size == 0) return CUDA_ERROR_INVALID_VALUE;
    return with_external(handle, [&](Driver& state, CUctx_st& context, const ExternalMemory& memory) {
        if (buffer->offset > memory.bytes || buffer->size > memory.bytes - buffer->offset)
            return CUDA_ERROR_INVALID_VALUE;
        const uint64_t base = reserve_address_space(buffer->size, PROT_READ | PROT_WRITE);
        if (base == 0) return CUDA_ERROR_MAP_FAILED;
        state.memory.add({.base = base,
                          .bytes = buffer->size,
                          .reserved_bytes = buffer->size,
                          .kind = MemoryKind::foreign,
                          .device = context.device,
                          .context = &context});
        *pointer = base;
        return CUDA_SUCCESS;
    });
}

CUresult cuExternalMemoryGetMappedMipmappedArray(CUmipmappedArray* array, CUexternalMemory handle,
                                                 const CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC* shape) {
    if (array == nullptr || shape == nullptr || shape->numLevels == 0) return CUDA_ERROR_INVALID_VALUE;
    return with_external(handle, [&](Driver& state, CUctx_st& context, const ExternalMemory&) {
        auto made = std::make_unique<DeviceArray>(DeviceArray{&context, 0});
        *array = reinterpret_cast<CUmipmappedArray>(made.get());
        state.arrays[made.get()] = std::move(made);
        return CUDA_SUCCESS;
    });
}

CUresult cuDestroyExternalMemory(CUexternalMemory handle) {
    return with_driver([&](Driver& state) {
        return state.external_memory.erase(handle) == 1 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
    });
}

}  // extern "C"
