// SPDX-License-Identifier: Apache-2.0
// Virtual memory management: reference counts, whole mappings, documented errors.
#include <cstring>
#include <vector>

#include "session_fixture.h"

namespace {

CUmemAllocationProp on_device(int device) {
    CUmemAllocationProp properties{};
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    properties.location.id = device;
    return properties;
}

CUmemAccessDesc read_write(int device) {
    CUmemAccessDesc access{};
    access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    access.location.id = device;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    return access;
}

CUmemGenericAllocationHandle create(uint64_t bytes) {
    const CUmemAllocationProp properties = on_device(0);
    CUmemGenericAllocationHandle handle = 0;
    REQUIRE(cuMemCreate(&handle, bytes, &properties, 0) == CUDA_SUCCESS);
    return handle;
}

CUdeviceptr reserve(uint64_t bytes) {
    CUdeviceptr base = 0;
    REQUIRE(cuMemAddressReserve(&base, bytes, 0, 0, 0) == CUDA_SUCCESS);
    return base;
}

}  // namespace

TEST_CASE("physical memory is charged when created, whatever is mapped") {
    const FreshDevices fresh;
    const CUmemGenericAllocationHandle handle = create(20 * kMiB);
    CHECK(free_bytes(0) == kTotalBytes - 20 * kMiB);
    CHECK(cuMemRelease(handle) == CUDA_SUCCESS);
    CHECK(free_bytes(0) == kTotalBytes);
    CHECK(cuMemRelease(handle) == CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE(
    "released memory lives until its last mapping goes, and unmapped memory until its last handle goes") {
    const FreshDevices fresh;
    const CUdeviceptr base = reserve(64 * kMiB);
    const CUmemGenericAllocationHandle handle = create(20 * kMiB);
    REQUIRE(cuMemMap(base, 20 * kMiB, 0, handle, 0) == CUDA_SUCCESS);
    REQUIRE(cuMemMap(base + 32 * kMiB, 20 * kMiB, 0, handle, 0) == CUDA_SUCCESS);
    REQUIRE(cuMemRelease(handle) == CUDA_SUCCESS);
    CHECK(free_bytes(0) == kTotalBytes - 20 * kMiB);
    REQUIRE(cuMemUnmap(base, 20 * kMiB) == CUDA_SUCCESS);
    CHECK(free_bytes(0) == kTotalBytes - 20 * kMiB);
    CUmemGenericAllocationHandle again = 0;
    REQUIRE(cuMemRetainAllocationHandle(&again, reinterpret_cast<void*>(base + 33 * kMiB)) == CUDA_SUCCESS);
    REQUIRE(cuMemUnmap(base + 32 * kMiB, 20 * kMiB) == CUDA_SUCCESS);
    CHECK(free_bytes(0) == kTotalBytes - 20 * kMiB);
    REQUIRE(cuMemRelease(again) == CUDA_SUCCESS);
    CHECK(free_bytes(0) == kTotalBytes);
    CHECK(cuMemAddressFree(base, 64 * kMiB) == CUDA_SUCCESS);
}

TEST_CASE("a mapping is unmapped whole, once") {
    const FreshDevices fresh;
    const CUdeviceptr base = reserve(8 * kMiB);
    const CUmemGenericAllocationHandle first = create(4 * kMiB);
    const CUmemGenericAllocationHandle second = create(4 * kMiB);
    REQUIRE(cuMemMap(base, 4 * kMiB, 0, first, 0) == CUDA_SUCCESS);
    REQUIRE(cuMemMap(base + 4 * kMiB, 4 * kMiB, 0, second, 0) == CUDA_SUCCESS);
    CHECK(cuMemUnmap(base, 2 * kMiB) == CUDA_ERROR_INVALID_VALUE);
    CHECK(cuMemUnmap(base + 2 * kMiB, 2 * kMiB) == CUDA_ERROR_INVALID_VALUE);
    CHECK(cuMemUnmap(base, 6 * kMiB) == CUDA_ERROR_INVALID_VALUE);
    CHECK(cuMemAddressFree(base, 8 * kMiB) == CUDA_ERROR_INVALID_VALUE);
    CHECK(cuMemUnmap(base, 8 * kMiB) == CUDA_SUCCESS);
    CHECK(cuMemUnmap(base, 8 * kMiB) == CUDA_ERROR_INVALID_VALUE);
    CHECK(cuMemRelease(first) == CUDA_SUCCESS);
    CHECK(cuMemRelease(second) == CUDA_SUCCESS);
    CHECK(cuMemAddressFree(base, 4 * kMiB) == CUDA_ERROR_INVALID_VALUE);
    CHECK(cuMemAddressFree(base, 8 * kMiB) == CUDA_SUCCESS);
}

TEST_CASE("what the documentation calls invalid is refused and changes nothing") {
    const FreshDevices fresh;
    const CUmemAllocationProp properties = on_device(0);
    CUmemGenericAllocationHandle handle = 0;
    CHECK(cuMemCreate(&handle, kMiB, &properties, 0) == CUDA_ERROR_INVALID_VALUE);
    CHECK(cuMemCreate(&handle, 2 * kMiB, &properties, 1) == CUDA_ERROR_INVALID_VALUE);
    const CUmemAllocationProp nowhere = on_device(7);
    CHECK(cuMemCreate(&handle, 2 * kMiB, &nowhere, 0) == CUDA_ERROR_INVALID_DEVICE);
    CHECK(cuMemCreate(&handle, 2 * kTotalBytes, &properties, 0) == CUDA_ERROR_OUT_OF_MEMORY);
    handle = create(4 * kMiB);
    const CUdeviceptr base = reserve(8 * kMiB);
    CHECK(cuMemMap(base + kMiB, 2 * kMiB, 0, handle, 0) == CUDA_ERROR_INVALID_VALUE);
    CHECK(cuMemMap(base, 4 * kMiB, 2 * kMiB, handle, 0) == CUDA_ERROR_INVALID_VALUE);
    CHECK(cuMemMap(base, 6 * kMiB, 0, handle, 0) == CUDA_ERROR_INVALID_VALUE);
    CHECK(cuMemMap(base + 6 * kMiB, 4 * kMiB, 0, handle, 0) == CUDA_ERROR_INVALID_VALUE);
    CHECK(cuMemMap(base, 4 * kMiB, 0, handle + 1000, 0) == CUDA_ERROR_INVALID_VALUE);
    REQUIRE(cuMemMap(base, 4 * kMiB, 0, handle, 0) == CUDA_SUCCESS);
    CHECK(cuMemMap(base + 2 * kMiB, 4 * kMiB, 0, handle, 0) == CUDA_ERROR_INVALID_VALUE);
    CHECK(cudaFree(reinterpret_cast<void*>(base)) == cudaErrorInvalidValue);
    CHECK(cuMemUnmap(base, 4 * kMiB) == CUDA_SUCCESS);
    CHECK(cuMemAddressFree(base, 8 * kMiB) == CUDA_SUCCESS);
    CHECK(cuMemAddressFree(base, 8 * kMiB) == CUDA_ERROR_INVALID_VALUE);
    CHECK(cuMemRelease(handle) == CUDA_SUCCESS);
}

TEST_CASE("mapped memory is usable across adjacent mappings once access is set") {
    const FreshDevices fresh;
    REQUIRE(cudaFree(nullptr) == cudaSuccess);
    const CUdeviceptr base = reserve(4 * kMiB);
    const CUmemAccessDesc access = read_write(0);
    CHECK(cuMemSetAccess(base, 4 * kMiB, &access, 1) == CUDA_ERROR_INVALID_VALUE);
    for (const uint64_t at : {uint64_t{0}, 2 * kMiB}) {
        const CUmemGenericAllocationHandle handle = create(2 * kMiB);
        REQUIRE(cuMemMap(base + at, 2 * kMiB, 0, handle, 0) == CUDA_SUCCESS);
        REQUIRE(cuMemRelease(handle) == CUDA_SUCCESS);
    }
    REQUIRE(cuMemSetAccess(base, 4 * kMiB, &access, 1) == CUDA_SUCCESS);
    const std::vector<char> sent(4 * kMiB, 'x');
    REQUIRE(cudaMemcpy(reinterpret_cast<void*>(base), sent.data(), sent.size(), cudaMemcpyDefault) ==
            cudaSuccess);
    CHECK(std::memcmp(reinterpret_cast<void*>(base), sent.data(), sent.size()) == 0);
    CHECK(cudaMemset(reinterpret_cast<void*>(base + 2 * kMiB), 0, 2 * kMiB + 1) == cudaErrorInvalidValue);
    CHECK(cuMemUnmap(base, 4 * kMiB) == CUDA_SUCCESS);
    CHECK(cuMemAddressFree(base, 4 * kMiB) == CUDA_SUCCESS);
}

TEST_CASE("physical memory outlives the context") {
    const FreshDevices fresh;
    REQUIRE(cudaFree(nullptr) == cudaSuccess);
    const CUmemGenericAllocationHandle handle = create(2 * kMiB);
    REQUIRE(cudaDeviceReset() == cudaSuccess);
    CHECK(free_bytes(0) == kTotalBytes - 2 * kMiB);
    CHECK(cuMemRelease(handle) == CUDA_SUCCESS);
}
