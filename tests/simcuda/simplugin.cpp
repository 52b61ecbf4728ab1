// SPDX-License-Identifier: Apache-2.0
// A library with its own hidden copy of the runtime, as NCCL, cuDNN and cuBLAS have a static one.
// Rule: only simplugin_* is exported; the runtime inside shares nothing with libcudart.so but the driver.
#include <cuda_runtime_api.h>

extern "C" {

int simplugin_malloc(void** pointer, size_t bytes) {
    return cudaMalloc(pointer, bytes);
}
int simplugin_free(void* pointer) {
    return cudaFree(pointer);
}

int simplugin_mem_get_info(size_t* free_bytes, size_t* total_bytes) {
    return cudaMemGetInfo(free_bytes, total_bytes);
}

int simplugin_malloc_async(void** pointer, size_t bytes) {
    return cudaMallocAsync(pointer, bytes, nullptr);
}
int simplugin_free_async(void* pointer) {
    return cudaFreeAsync(pointer, nullptr);
}
int simplugin_host_alloc(void** pointer, size_t bytes) {
    return cudaHostAlloc(pointer, bytes, cudaHostAllocDefault);
}
int simplugin_free_host(void* pointer) {
    return cudaFreeHost(pointer);
}
int simplugin_last_error() {
    return cudaGetLastError();
}

// As NCCL finds cuMemCreate: through its own runtime's entry-point query.
int simplugin_entry_point(const char* name, int version, void** function) {
    return cudaGetDriverEntryPointByVersion(name, function, static_cast<unsigned>(version), cudaEnableDefault,
                                            nullptr);
}

}  // extern "C"
