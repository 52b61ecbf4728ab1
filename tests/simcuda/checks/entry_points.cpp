// SPDX-License-Identifier: Apache-2.0
// How the driver is reached: versions and ABIs, both resolvers, the hidden second runtime.
#include <dlfcn.h>

#include <string>

#include "session_fixture.h"

extern "C" {
int simplugin_malloc(void** pointer, size_t bytes);
int simplugin_free(void* pointer);
int simplugin_mem_get_info(size_t* free_bytes, size_t* total_bytes);
int simplugin_entry_point(const char* name, int version, void** function);
int simplugin_last_error();
}

namespace {

void* exported(const std::string& name) {
    void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    REQUIRE(library != nullptr);
    void* const symbol = dlsym(library, name.c_str());
    INFO(name);
    REQUIRE(symbol != nullptr);
    return symbol;
}

struct Expectation {
    const char* base_name;
    int version;
    unsigned flags;
    const char* symbol;
};

constexpr unsigned kPerThread = CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;

// What the real runtime asks for and must get.
constexpr Expectation kExpectations[] = {
    {"cuMemAlloc", 3020, 0, "cuMemAlloc_v2"},
    {"cuMemAlloc", 2000, 0, "cuMemAlloc"},
    {"cuMemAlloc", 13000, 0, "cuMemAlloc_v2"},
    {"cuMemFree", 3020, 0, "cuMemFree_v2"},
    {"cuMemHostAlloc", 2020, 0, "cuMemHostAlloc"},
    {"cuMemHostRegister", 6050, 0, "cuMemHostRegister_v2"},
    {"cuMemHostRegister", 4000, 0, "cuMemHostRegister"},
    {"cuMemAllocAsync", 11020, 0, "cuMemAllocAsync"},
    {"cuMemAllocAsync", 11020, kPerThread, "cuMemAllocAsync_ptsz"},
    {"cuMemAlloc", 3020, kPerThread, "cuMemAlloc_v2"},
    {"cuMemcpyHtoD", 7000, kPerThread, "cuMemcpyHtoD_v2_ptds"},
    {"cuMemPrefetchAsync", 8000, 0, "cuMemPrefetchAsync"},
    {"cuMemPrefetchAsync", 12020, kPerThread, "cuMemPrefetchAsync_v2_ptsz"},
    {"cuIpcOpenMemHandle", 4010, 0, "cuIpcOpenMemHandle"},
    {"cuIpcOpenMemHandle", 11000, 0, "cuIpcOpenMemHandle_v2"},
    {"cuDevicePrimaryCtxReset", 7000, 0, "cuDevicePrimaryCtxReset"},
    {"cuDevicePrimaryCtxReset", 11000, 0, "cuDevicePrimaryCtxReset_v2"},
    {"cuCtxGetDevice", 2000, 0, "cuCtxGetDevice"},
    {"cuCtxGetDevice", 13000, 0, "cuCtxGetDevice_v2"},
    {"cuGraphAddNode", 12020, 0, "cuGraphAddNode"},
    {"cuGraphAddNode", 12030, 0, "cuGraphAddNode_v2"},
    {"cuGetProcAddress", 11030, 0, "cuGetProcAddress"},
    {"cuGetProcAddress", 12000, 0, "cuGetProcAddress_v2"},
    {"cuMemCreate", 12000, 0, "cuMemCreate"},
};

}  // namespace

TEST_CASE("a name, a version and flags give exactly the exported symbol of that ABI") {
    for (const Expectation& expected : kExpectations) {
        INFO(expected.base_name << " v" << expected.version << " flags " << expected.flags);
        void* function = nullptr;
        CUdriverProcAddressQueryResult status{};
        REQUIRE(cuGetProcAddress_v2(expected.base_name, &function, expected.version, expected.flags,
                                    &status) == CUDA_SUCCESS);
        CHECK(status == CU_GET_PROC_ADDRESS_SUCCESS);
        CHECK(function == exported(expected.symbol));
    }
}

TEST_CASE("an unknown name and a version that is too old are told apart") {
    void* function = &function;
    CUdriverProcAddressQueryResult status{};
    CHECK(cuGetProcAddress_v2("cuNoSuchThing", &function, 12000, 0, &status) == CUDA_SUCCESS);
    CHECK(status == CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
    CHECK(function == nullptr);
    CHECK(cuGetProcAddress_v2("cuMemAllocAsync", &function, 11010, 0, &status) == CUDA_SUCCESS);
    CHECK(status == CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
    CHECK(function == nullptr);
    CHECK(cuGetProcAddress_v2("cuMemAlloc", &function, CUDA_VERSION + 10, 0, &status) ==
          CUDA_ERROR_INVALID_VALUE);
    CHECK(cuGetProcAddress_v2("cuMemAlloc", &function, 12000, 8, &status) == CUDA_ERROR_INVALID_VALUE);
    CHECK(cuGetProcAddress("cuNoSuchThing", &function, 11030, 0) == CUDA_ERROR_NOT_FOUND);
    CHECK(cuGetProcAddress("cuMemAlloc", &function, 11030, 0) == CUDA_SUCCESS);
}

TEST_CASE("the runtime's entry-point query is the driver's") {
    const FreshDevices fresh;
    void* function = nullptr;
    cudaDriverEntryPointQueryResult status{};
    REQUIRE(cudaGetDriverEntryPointByVersion("cuMemCreate", &function, 12000, cudaEnableDefault, &status) ==
            cudaSuccess);
    CHECK(status == cudaDriverEntryPointSuccess);
    CHECK(function == exported("cuMemCreate"));
    REQUIRE(cudaGetDriverEntryPointByVersion("cuNoSuchThing", &function, 12000, cudaEnableDefault, &status) ==
            cudaSuccess);
    CHECK(status == cudaDriverEntryPointSymbolNotFound);
}

TEST_CASE("a name that is not simulated is not supported, in driver and runtime") {
    const FreshDevices fresh;
    CHECK(cuMemMapArrayAsync(nullptr, 0, nullptr) == CUDA_ERROR_NOT_SUPPORTED);
    CHECK(cudaFuncGetName(nullptr, nullptr) == cudaErrorNotSupported);
}

TEST_CASE("error names and sentences are CUDA's") {
    const char* text = nullptr;
    CHECK(std::string(cudaGetErrorName(cudaErrorMemoryAllocation)) == "cudaErrorMemoryAllocation");
    CHECK(std::string(cudaGetErrorString(cudaErrorMemoryAllocation)) == "out of memory");
    REQUIRE(cuGetErrorName(CUDA_ERROR_OUT_OF_MEMORY, &text) == CUDA_SUCCESS);
    CHECK(std::string(text) == "CUDA_ERROR_OUT_OF_MEMORY");
    CHECK(cuGetErrorName(static_cast<CUresult>(998), &text) == CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("the plugin's own hidden runtime shares the driver's memory and nothing else") {
    const FreshDevices fresh;
    void* pointer = nullptr;
    REQUIRE(simplugin_malloc(&pointer, 6 * kMiB) == 0);
    CHECK(free_bytes(0) == kFreeWithContextBytes - 6 * kMiB);
    size_t free = 0;
    size_t total = 0;
    REQUIRE(simplugin_mem_get_info(&free, &total) == 0);
    CHECK(free == free_bytes(0));
    CHECK(simplugin_free(&free) == cudaErrorInvalidValue);
    CHECK(cudaGetLastError() == cudaSuccess);
    CHECK(simplugin_last_error() == cudaErrorInvalidValue);
    CHECK(cudaFree(pointer) == cudaSuccess);
    void* create = nullptr;
    REQUIRE(simplugin_entry_point("cuMemCreate", 12000, &create) == 0);
    CHECK(create == exported("cuMemCreate"));
    void* const plugin = dlopen("libsimplugin.so", RTLD_NOW | RTLD_NOLOAD);
    REQUIRE(plugin != nullptr);
    CHECK(dlvsym(plugin, "cudaMalloc", "libcudart.so.13") != dlsym(plugin, "simplugin_malloc"));
}

TEST_CASE("per-thread twins of the runtime use the calling thread's stream") {
    const FreshDevices fresh;
    REQUIRE(simcuda_set_pending_events(1) == 0);
    void* const handle = dlopen("libcudart.so.13", RTLD_NOW | RTLD_NOLOAD);
    REQUIRE(handle != nullptr);
    const auto malloc_ptsz =
        reinterpret_cast<decltype(&cudaMallocAsync)>(dlsym(handle, "cudaMallocAsync_ptsz"));
    const auto free_ptsz = reinterpret_cast<decltype(&cudaFreeAsync)>(dlsym(handle, "cudaFreeAsync_ptsz"));
    void* pointer = nullptr;
    REQUIRE(malloc_ptsz(&pointer, kMiB, nullptr) == cudaSuccess);
    CHECK(cudaStreamQuery(cudaStreamPerThread) == cudaErrorNotReady);
    REQUIRE(free_ptsz(pointer, nullptr) == cudaSuccess);
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
}

TEST_CASE("contexts are a stack of the thread, and an ended one is current nowhere") {
    const FreshDevices fresh;
    REQUIRE(cudaFree(nullptr) == cudaSuccess);
    CUcontext primary = nullptr;
    CUcontext own = nullptr;
    CUcontext current = nullptr;
    REQUIRE(cuCtxGetCurrent(&primary) == CUDA_SUCCESS);
    REQUIRE(cuCtxCreate_v2(&own, 0, 1) == CUDA_SUCCESS);
    CHECK(free_bytes(1) == kFreeWithContextBytes);
    REQUIRE(cuCtxGetCurrent(&current) == CUDA_SUCCESS);
    CHECK(current == own);
    CUdeviceptr address = 0;
    REQUIRE(cuMemAlloc_v2(&address, 2 * kMiB) == CUDA_SUCCESS);
    CHECK(free_bytes(1) == kFreeWithContextBytes - 2 * kMiB);
    REQUIRE(cuCtxDestroy_v2(own) == CUDA_SUCCESS);
    CHECK(free_bytes(1) == kTotalBytes);
    REQUIRE(cuCtxGetCurrent(&current) == CUDA_SUCCESS);
    CHECK(current == primary);
    CHECK(cuCtxPushCurrent_v2(own) == CUDA_ERROR_INVALID_CONTEXT);
    REQUIRE(cuDevicePrimaryCtxReset_v2(0) == CUDA_SUCCESS);
    REQUIRE(cuCtxGetCurrent(&current) == CUDA_SUCCESS);
    CHECK(current == nullptr);
    CHECK(cuMemAlloc_v2(&address, 1) == CUDA_ERROR_CONTEXT_IS_DESTROYED);
    CHECK(cuDevicePrimaryCtxRelease_v2(0) == CUDA_ERROR_INVALID_CONTEXT);
}
