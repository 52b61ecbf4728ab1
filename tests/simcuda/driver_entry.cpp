// SPDX-License-Identifier: Apache-2.0
// How programs find the driver's functions, and what its errors are called.
// Rule: the pointer handed out is the exported symbol of exactly the ABI asked for (CUDA driver API, "Driver
// Entry Point Access"); the table comes from cudaTypedefs.h.
#include <cuda.h>

#include <cstring>

#include "stub.h"

using namespace simcuda;

namespace {

struct Found {
    void* function = nullptr;
    bool name_exists = false;
};

void* to_pointer(AnyFunction function) {
    void* pointer = nullptr;
    static_assert(sizeof pointer == sizeof function);
    std::memcpy(&pointer, &function, sizeof pointer);
    return pointer;
}

// The newest ABI not newer than `version`; with per-thread streams asked for, its per-thread twin when there
// is one.
Found find_entry(const char* name, int version, bool per_thread) {
    Found result;
    int best_version = 0;
    bool best_is_twin = false;
    for (const EntryPoint* entry = kEntryPoints; entry->base_name != nullptr; ++entry) {
        if (std::strcmp(entry->base_name, name) != 0) continue;
        result.name_exists = true;
        if (entry->since_version > version || (entry->per_thread_stream && !per_thread)) continue;
        const bool is_better = entry->per_thread_stream != best_is_twin ? entry->per_thread_stream
                                                                        : entry->since_version > best_version;
        if (!is_better) continue;
        best_version = entry->since_version;
        best_is_twin = entry->per_thread_stream;
        result.function = to_pointer(entry->symbol);
    }
    return result;
}

constexpr cuuint64_t kKnownFlags =
    CU_GET_PROC_ADDRESS_LEGACY_STREAM | CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;

}  // namespace

extern "C" CUresult cuGetProcAddress_v2(const char* name, void** function, int version, cuuint64_t flags,
                                        CUdriverProcAddressQueryResult* status) {
    if (name == nullptr || function == nullptr || version > CUDA_VERSION || (flags & ~kKnownFlags) != 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    const Found found =
        find_entry(name, version, (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0);
    *function = found.function;
    if (status != nullptr) {
        *status = found.function != nullptr ? CU_GET_PROC_ADDRESS_SUCCESS
                  : found.name_exists       ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
                                            : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    }
    return CUDA_SUCCESS;
}

// The 11.3 ABI has no status to report with: CUDA 11 documents CUDA_ERROR_NOT_FOUND instead.
extern "C" CUresult cuGetProcAddress(const char* name, void** function, int version, cuuint64_t flags) {
    const CUresult result = cuGetProcAddress_v2(name, function, version, flags, nullptr);
    return result == CUDA_SUCCESS && *function == nullptr ? CUDA_ERROR_NOT_FOUND : result;
}

// No private interface is simulated.
extern "C" CUresult cuGetExportTable(const void** table, const CUuuid*) {
    if (table == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *table = nullptr;
    return CUDA_ERROR_NOT_FOUND;
}

extern "C" CUresult cuDriverGetVersion(int* version) {
    if (version == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *version = CUDA_VERSION;
    return CUDA_SUCCESS;
}

extern "C" CUresult cuGetErrorName(CUresult error, const char** text) {
    if (text == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *text = find_error_name(kDriverErrorNames, static_cast<int>(error));
    return *text == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

extern "C" CUresult cuGetErrorString(CUresult error, const char** text) {
    if (text == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *text = describe_error(static_cast<int>(error));
    if (*text != nullptr) return CUDA_SUCCESS;
    return cuGetErrorName(error, text);
}
