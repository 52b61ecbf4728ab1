// SPDX-License-Identifier: Apache-2.0
// Kernels, modules and libraries. Rule: code is accepted and never run; a launch is work on its stream, no
// more.
#include <cstring>

#include "driver_state.h"

using namespace simcuda;

namespace {

// All code handles are this one object: nothing is ever looked at behind them.
template <typename Handle>
CUresult give_handle(Handle* handle) {
    static int object = 0;
    if (handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *handle = reinterpret_cast<Handle>(&object);
    return CUDA_SUCCESS;
}

struct Extent {
    unsigned x, y, z;
    bool is_empty() const { return x == 0 || y == 0 || z == 0; }
};

CUresult launch(CUstream stream, Extent grid, Extent block) {
    if (grid.is_empty() || block.is_empty()) return CUDA_ERROR_INVALID_VALUE;
    return with_context([&](Driver& state, CUctx_st& context) {
        return enqueue(state, context, stream, {.type = CU_GRAPH_NODE_TYPE_KERNEL});
    });
}

int function_attribute(CUfunction_attribute attribute) {
    switch (static_cast<int>(attribute)) {
        case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
            return 1024;
        case CU_FUNC_ATTRIBUTE_NUM_REGS:
            return 32;
        case CU_FUNC_ATTRIBUTE_PTX_VERSION:
        case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
            return 90;
        case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
            return 49152;
        default:
            return 0;
    }
}

}  // namespace

extern "C" {

CUresult cuModuleLoad(CUmodule* module, const char*) {
    return give_handle(module);
}
CUresult cuModuleLoadData(CUmodule* module, const void*) {
    return give_handle(module);
}
CUresult cuModuleLoadFatBinary(CUmodule* module, const void*) {
    return give_handle(module);
}
CUresult cuModuleLoadDataEx(CUmodule* module, const void*, unsigned, CUjit_option*, void**) {
    return give_handle(module);
}
CUresult cuModuleUnload(CUmodule) {
    return CUDA_SUCCESS;
}
CUresult cuModuleGetFunction(CUfunction* function, CUmodule, const char*) {
    return give_handle(function);
}

CUresult cuModuleGetLoadingMode(CUmoduleLoadingMode* mode) {
    if (mode == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *mode = CU_MODULE_LAZY_LOADING;
    return CUDA_SUCCESS;
}

CUresult cuLibraryLoadData(CUlibrary* library, const void*, CUjit_option*, void**, unsigned, CUlibraryOption*,
                           void**, unsigned) {
    return give_handle(library);
}

CUresult cuLibraryUnload(CUlibrary) {
    return CUDA_SUCCESS;
}
CUresult cuLibraryGetKernel(CUkernel* kernel, CUlibrary, const char*) {
    return give_handle(kernel);
}
CUresult cuKernelGetFunction(CUfunction* function, CUkernel) {
    return give_handle(function);
}
CUresult cuKernelSetAttribute(CUfunction_attribute, int, CUkernel, CUdevice) {
    return CUDA_SUCCESS;
}

CUresult cuFuncGetAttribute(int* value, CUfunction_attribute attribute, CUfunction) {
    if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *value = function_attribute(attribute);
    return CUDA_SUCCESS;
}

CUresult cuFuncSetAttribute(CUfunction, CUfunction_attribute, int) {
    return CUDA_SUCCESS;
}
CUresult cuFuncSetCacheConfig(CUfunction, CUfunc_cache) {
    return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, CUfunction, int, size_t,
                                                              unsigned) {
    if (blocks == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *blocks = 2;
    return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction function, int threads,
                                                     size_t shared) {
    return cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, threads, shared, 0);
}

CUresult cuLaunchKernel(CUfunction, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                        unsigned block_y, unsigned block_z, unsigned, CUstream stream, void**, void**) {
    return launch(stream, {grid_x, grid_y, grid_z}, {block_x, block_y, block_z});
}

CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction, void**, void**) {
    if (config == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return launch(config->hStream, {config->gridDimX, config->gridDimY, config->gridDimZ},
                  {config->blockDimX, config->blockDimY, config->blockDimZ});
}

CUresult cuLaunchCooperativeKernel(CUfunction, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                   unsigned block_x, unsigned block_y, unsigned block_z, unsigned,
                                   CUstream stream, void**) {
    return launch(stream, {grid_x, grid_y, grid_z}, {block_x, block_y, block_z});
}

CUresult cuStreamWriteValue32_v2(CUstream stream, CUdeviceptr, cuuint32_t, unsigned int) {
    return launch(stream, {1, 1, 1}, {1, 1, 1});
}

// A callback is accepted and never called: nothing here writes logs.
CUresult cuLogsRegisterCallback(CUlogsCallback, void*, CUlogsCallbackHandle* handle) {
    return give_handle(handle);
}
CUresult cuLogsUnregisterCallback(CUlogsCallbackHandle) {
    return CUDA_SUCCESS;
}

CUresult cuTensorMapEncodeTiled(CUtensorMap* map, CUtensorMapDataType, cuuint32_t, void*, const cuuint64_t*,
                                const cuuint64_t*, const cuuint32_t*, const cuuint32_t*,
                                CUtensorMapInterleave, CUtensorMapSwizzle, CUtensorMapL2promotion,
                                CUtensorMapFloatOOBfill) {
    if (map == nullptr) return CUDA_ERROR_INVALID_VALUE;
    std::memset(map, 0, sizeof *map);
    return CUDA_SUCCESS;
}

}  // extern "C"
