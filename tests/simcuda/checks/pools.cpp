// SPDX-License-Identifier: Apache-2.0
// Stream-ordered allocation: what a pool keeps, gives back, and gives to whom.
#include "session_fixture.h"

namespace {

uint64_t attribute(cudaMemPool_t pool, cudaMemPoolAttr which) {
    uint64_t value = 0;
    REQUIRE(cudaMemPoolGetAttribute(pool, which, &value) == cudaSuccess);
    return value;
}

cudaMemPool_t default_pool() {
    cudaMemPool_t pool = nullptr;
    REQUIRE(cudaDeviceGetDefaultMemPool(&pool, 0) == cudaSuccess);
    return pool;
}

void set_threshold(cudaMemPool_t pool, uint64_t bytes) {
    REQUIRE(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &bytes) == cudaSuccess);
}

void* allocate_async(uint64_t bytes, cudaStream_t stream) {
    void* pointer = nullptr;
    REQUIRE(cudaMallocAsync(&pointer, bytes, stream) == cudaSuccess);
    return pointer;
}

}  // namespace

TEST_CASE("a pool keeps freed memory until the next synchronisation, above its threshold for ever") {
    const FreshDevices fresh;
    cudaMemPool_t pool = default_pool();
    void* pointer = allocate_async(10 * kMiB, nullptr);
    CHECK(attribute(pool, cudaMemPoolAttrUsedMemCurrent) == 10 * kMiB);
    CHECK(free_bytes(0) == kFreeWithContextBytes - 10 * kMiB);
    REQUIRE(cudaFreeAsync(pointer, nullptr) == cudaSuccess);
    CHECK(attribute(pool, cudaMemPoolAttrUsedMemCurrent) == 0);
    CHECK(attribute(pool, cudaMemPoolAttrReservedMemCurrent) == 10 * kMiB);
    CHECK(free_bytes(0) == kFreeWithContextBytes - 10 * kMiB);
    REQUIRE(cudaStreamSynchronize(nullptr) == cudaSuccess);
    CHECK(free_bytes(0) == kFreeWithContextBytes);

    set_threshold(pool, UINT64_MAX);
    pointer = allocate_async(10 * kMiB, nullptr);
    REQUIRE(cudaFreeAsync(pointer, nullptr) == cudaSuccess);
    REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
    CHECK(free_bytes(0) == kFreeWithContextBytes - 10 * kMiB);
    CHECK(cudaMemPoolTrimTo(pool, 0) == cudaSuccess);
    CHECK(free_bytes(0) == kFreeWithContextBytes);
    set_threshold(pool, 0);
}

TEST_CASE("a pool serves from what it holds before it takes more") {
    const FreshDevices fresh;
    void* const first = allocate_async(6 * kMiB, nullptr);
    REQUIRE(cudaFreeAsync(first, nullptr) == cudaSuccess);
    void* const second = allocate_async(4 * kMiB, nullptr);
    void* const third = allocate_async(2 * kMiB, nullptr);
    CHECK(second == first);
    CHECK(free_bytes(0) == kFreeWithContextBytes - 6 * kMiB);
    CHECK(cudaFreeAsync(second, nullptr) == cudaSuccess);
    CHECK(cudaFreeAsync(third, nullptr) == cudaSuccess);
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
}

TEST_CASE("memory freed on a stream with pending work is for that stream only, until it is done") {
    const FreshDevices fresh;
    REQUIRE(cudaFree(nullptr) == cudaSuccess);
    REQUIRE(simcuda_set_pending_events(1) == 0);
    cudaStream_t owner = nullptr;
    cudaStream_t other = nullptr;
    REQUIRE(cudaStreamCreateWithFlags(&owner, cudaStreamNonBlocking) == cudaSuccess);
    REQUIRE(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking) == cudaSuccess);
    cudaMemPool_t pool = default_pool();
    set_threshold(pool, UINT64_MAX);
    void* const first = allocate_async(4 * kMiB, owner);
    REQUIRE(cudaFreeAsync(first, owner) == cudaSuccess);
    void* const second = allocate_async(4 * kMiB, other);
    CHECK(second != first);
    void* const third = allocate_async(4 * kMiB, owner);
    CHECK(third == first);
    REQUIRE(cudaFreeAsync(third, owner) == cudaSuccess);
    REQUIRE(cudaStreamSynchronize(owner) == cudaSuccess);
    void* const fourth = allocate_async(4 * kMiB, other);
    CHECK(fourth == first);
    for (void* pointer : {second, fourth})
        CHECK(cudaFreeAsync(pointer, other) == cudaSuccess);
    set_threshold(pool, 0);
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
}

TEST_CASE("an allocation that does not fit releases the pool's own spare memory first, then fails") {
    const FreshDevices fresh;
    cudaMemPool_t pool = default_pool();
    set_threshold(pool, UINT64_MAX);
    void* pointer = allocate_async(600 * kMiB, nullptr);
    REQUIRE(cudaFreeAsync(pointer, nullptr) == cudaSuccess);
    pointer = allocate_async(700 * kMiB, nullptr);
    CHECK(free_bytes(0) == kFreeWithContextBytes - 700 * kMiB);
    void* more = nullptr;
    CHECK(cudaMallocAsync(&more, 500 * kMiB, nullptr) == cudaErrorMemoryAllocation);
    CHECK(more == nullptr);
    CHECK(cudaFree(pointer) == cudaSuccess);
    set_threshold(pool, 0);
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
}

TEST_CASE("high marks are kept until they are reset to zero, and only to zero") {
    const FreshDevices fresh;
    cudaMemPool_t pool = default_pool();
    uint64_t zero = 0;
    REQUIRE(cudaFree(nullptr) == cudaSuccess);
    REQUIRE(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &zero) == cudaSuccess);
    void* const pointer = allocate_async(8 * kMiB, nullptr);
    REQUIRE(cudaFreeAsync(pointer, nullptr) == cudaSuccess);
    CHECK(attribute(pool, cudaMemPoolAttrUsedMemHigh) == 8 * kMiB);
    uint64_t one = 1;
    CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &one) == cudaErrorInvalidValue);
    REQUIRE(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &zero) == cudaSuccess);
    CHECK(attribute(pool, cudaMemPoolAttrUsedMemHigh) == 0);
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
}

TEST_CASE("a destroyed pool keeps its memory until its last allocation is freed") {
    const FreshDevices fresh;
    cudaMemPoolProps properties{};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location.type = cudaMemLocationTypeDevice;
    cudaMemPool_t pool = nullptr;
    REQUIRE(cudaMemPoolCreate(&pool, &properties) == cudaSuccess);
    void* pointer = nullptr;
    REQUIRE(cudaMallocFromPoolAsync(&pointer, 4 * kMiB, pool, nullptr) == cudaSuccess);
    REQUIRE(cudaMemPoolDestroy(pool) == cudaSuccess);
    CHECK(cudaMemPoolDestroy(pool) == cudaErrorInvalidValue);
    CHECK(free_bytes(0) == kFreeWithContextBytes - 4 * kMiB);
    CHECK(cudaFreeAsync(pointer, nullptr) == cudaSuccess);
    CHECK(free_bytes(0) == kFreeWithContextBytes);
    CHECK(cudaMemPoolDestroy(default_pool()) == cudaErrorInvalidValue);
}

TEST_CASE("pool memory survives a device reset") {
    const FreshDevices fresh;
    void* const pointer = allocate_async(2 * kMiB, nullptr);
    REQUIRE(cudaDeviceReset() == cudaSuccess);
    CHECK(free_bytes(0) == kTotalBytes - 2 * kMiB);
    CHECK(cudaFree(pointer) == cudaSuccess);
    CHECK(cudaFree(pointer) == cudaErrorInvalidValue);
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
}
