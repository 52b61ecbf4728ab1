// SPDX-License-Identifier: Apache-2.0
// cudaMalloc and its kin: exact accounting, documented errors, real bytes.
#include <cstring>
#include <numeric>
#include <vector>

#include "session_fixture.h"

TEST_CASE("a context takes its bytes at the first call that needs it and gives them back at reset") {
    const FreshDevices fresh;
    int count = 0;
    REQUIRE(cudaGetDeviceCount(&count) == cudaSuccess);
    CHECK(count == 2);
    CHECK(cudaDeviceReset() == cudaSuccess);
    CHECK(free_bytes(0) == kTotalBytes);
    REQUIRE(cudaFree(nullptr) == cudaSuccess);
    CHECK(free_bytes(0) == kFreeWithContextBytes);
    CHECK(free_bytes(1) == kTotalBytes);
    REQUIRE(cudaDeviceReset() == cudaSuccess);
    CHECK(free_bytes(0) == kTotalBytes);
}

TEST_CASE("an allocation takes whole granules of 2 MiB and gives back exactly those") {
    const FreshDevices fresh;
    void* const small = allocate(1);
    CHECK(free_bytes(0) == kFreeWithContextBytes - 2 * kMiB);
    void* const larger = allocate(2 * kMiB + 1);
    CHECK(free_bytes(0) == kFreeWithContextBytes - 6 * kMiB);
    CHECK(cudaFree(small) == cudaSuccess);
    CHECK(cudaFree(larger) == cudaSuccess);
    CHECK(free_bytes(0) == kFreeWithContextBytes);
}

TEST_CASE("a card can be filled to the last granule and not beyond") {
    const FreshDevices fresh;
    void* const all = allocate(kFreeWithContextBytes);
    CHECK(free_bytes(0) == 0);
    void* more = &more;
    CHECK(cudaMalloc(&more, 1) == cudaErrorMemoryAllocation);
    CHECK(more == nullptr);
    CHECK(cudaFree(all) == cudaSuccess);
}

TEST_CASE("cudaMemGetInfo and NVML agree") {
    const FreshDevices fresh;
    allocate(10 * kMiB);
    size_t free = 0;
    size_t total = 0;
    REQUIRE(cudaMemGetInfo(&free, &total) == cudaSuccess);
    CHECK(total == kTotalBytes);
    CHECK(free == kFreeWithContextBytes - 10 * kMiB);
    CHECK(free == free_bytes(0));
}

TEST_CASE("freeing twice, inside a block or a stranger's pointer is an invalid value and changes nothing") {
    const FreshDevices fresh;
    auto* const pointer = static_cast<char*>(allocate(4 * kMiB));
    const uint64_t before = free_bytes(0);
    CHECK(cudaFree(pointer + 512) == cudaErrorInvalidValue);
    int local = 0;
    CHECK(cudaFree(&local) == cudaErrorInvalidValue);
    CHECK(free_bytes(0) == before);
    CHECK(cudaFree(pointer) == cudaSuccess);
    CHECK(cudaFree(pointer) == cudaErrorInvalidValue);
    CHECK(cudaGetLastError() == cudaErrorInvalidValue);
    CHECK(cudaGetLastError() == cudaSuccess);
}

TEST_CASE("zero bytes are a success with a null pointer, a null result is an invalid value") {
    const FreshDevices fresh;
    void* pointer = &pointer;
    CHECK(cudaMalloc(&pointer, 0) == cudaSuccess);
    CHECK(pointer == nullptr);
    CHECK(cudaMalloc(nullptr, 1) == cudaErrorInvalidValue);
    CHECK(cudaFree(nullptr) == cudaSuccess);
    CUdeviceptr address = 0;
    CHECK(cuMemAlloc_v2(&address, 0) == CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("an absurd size is out of memory, not an overflow") {
    const FreshDevices fresh;
    void* pointer = nullptr;
    CHECK(cudaMalloc(&pointer, SIZE_MAX) == cudaErrorMemoryAllocation);
    CHECK(cudaMalloc(&pointer, SIZE_MAX - 4 * kMiB) == cudaErrorMemoryAllocation);
    CHECK(free_bytes(0) == kFreeWithContextBytes);
}

TEST_CASE("out of memory is remembered once: peek keeps it, get clears it") {
    const FreshDevices fresh;
    void* pointer = nullptr;
    REQUIRE(cudaMalloc(&pointer, 2 * kTotalBytes) == cudaErrorMemoryAllocation);
    CHECK(cudaPeekAtLastError() == cudaErrorMemoryAllocation);
    CHECK(cudaPeekAtLastError() == cudaErrorMemoryAllocation);
    CHECK(cudaGetLastError() == cudaErrorMemoryAllocation);
    CHECK(cudaGetLastError() == cudaSuccess);
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
}

TEST_CASE("a success does not clear the last error") {
    const FreshDevices fresh;
    CHECK(cudaFree(reinterpret_cast<void*>(16)) == cudaErrorInvalidValue);
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
    CHECK(cudaGetLastError() == cudaErrorInvalidValue);
}

TEST_CASE("an error that broke the context sticks until the device is reset") {
    const FreshDevices fresh;
    allocate(kMiB);
    REQUIRE(simcuda_poison_context(0, cudaErrorIllegalAddress) == 0);
    CHECK(cudaDeviceSynchronize() == cudaErrorIllegalAddress);
    CHECK(cudaGetLastError() == cudaErrorIllegalAddress);
    CHECK(cudaGetLastError() == cudaErrorIllegalAddress);
    void* pointer = nullptr;
    CHECK(cudaMalloc(&pointer, 1) == cudaErrorIllegalAddress);
    CHECK(cudaDeviceReset() == cudaSuccess);
    CHECK(cudaGetLastError() == cudaSuccess);
    CHECK(cudaMalloc(&pointer, 1) == cudaSuccess);
}

TEST_CASE("bytes copied to a device and back are the same bytes") {
    const FreshDevices fresh;
    std::vector<int> sent(1 << 20);
    std::iota(sent.begin(), sent.end(), 7);
    const size_t bytes = sent.size() * sizeof(int);
    void* const first = allocate(bytes);
    void* const second = allocate(bytes);
    REQUIRE(cudaMemcpy(first, sent.data(), bytes, cudaMemcpyHostToDevice) == cudaSuccess);
    REQUIRE(cudaMemcpyAsync(second, first, bytes, cudaMemcpyDeviceToDevice, nullptr) == cudaSuccess);
    std::vector<int> received(sent.size());
    REQUIRE(cudaMemcpy(received.data(), second, bytes, cudaMemcpyDefault) == cudaSuccess);
    CHECK(received == sent);
}

TEST_CASE("copying untouched memory over written memory makes it zero") {
    const FreshDevices fresh;
    constexpr size_t kBytes = 3 * kMiB + 12345;
    auto* const written = static_cast<unsigned char*>(allocate(kBytes + 1000));
    const auto* const untouched = static_cast<unsigned char*>(allocate(kBytes + 1000));
    REQUIRE(cudaMemset(written, 0xab, kBytes + 1000) == cudaSuccess);
    REQUIRE(cudaMemcpy(written + 100, untouched + 512, kBytes, cudaMemcpyDeviceToDevice) == cudaSuccess);
    std::vector<unsigned char> expected(kBytes + 1000, 0xab);
    std::memset(expected.data() + 100, 0, kBytes);
    CHECK(std::memcmp(expected.data(), written, expected.size()) == 0);
}

TEST_CASE("filling with zero leaves the bytes around the range alone") {
    const FreshDevices fresh;
    constexpr size_t kBytes = 4 * kMiB;
    auto* const pointer = static_cast<unsigned char*>(allocate(kBytes));
    REQUIRE(cudaMemset(pointer, 0x55, kBytes) == cudaSuccess);
    REQUIRE(cudaMemset(pointer + 5000, 0, 3 * kMiB) == cudaSuccess);
    CHECK(pointer[4999] == 0x55);
    CHECK(pointer[5000] == 0);
    CHECK(pointer[5000 + 3 * kMiB - 1] == 0);
    CHECK(pointer[5000 + 3 * kMiB] == 0x55);
}

TEST_CASE("a copy or fill that leaves its allocation is an invalid value") {
    const FreshDevices fresh;
    void* const pointer = allocate(1000);
    std::vector<char> host(2000);
    CHECK(cudaMemcpy(pointer, host.data(), 1001, cudaMemcpyHostToDevice) == cudaErrorInvalidValue);
    CHECK(cudaMemset(pointer, 1, 1001) == cudaErrorInvalidValue);
    CHECK(cudaMemcpy(pointer, host.data(), 1000, static_cast<cudaMemcpyKind>(7)) ==
          cudaErrorInvalidMemcpyDirection);
}

TEST_CASE("host, registered and managed memory take nothing from the card") {
    const FreshDevices fresh;
    REQUIRE(cudaFree(nullptr) == cudaSuccess);
    void* host = nullptr;
    void* managed = nullptr;
    std::vector<char> own(100000);
    REQUIRE(cudaHostAlloc(&host, 10 * kMiB, cudaHostAllocDefault) == cudaSuccess);
    REQUIRE(cudaMallocManaged(&managed, 10 * kMiB, cudaMemAttachGlobal) == cudaSuccess);
    REQUIRE(cudaHostRegister(own.data(), own.size(), cudaHostRegisterDefault) == cudaSuccess);
    CHECK(cudaHostRegister(own.data(), own.size(), cudaHostRegisterDefault) ==
          cudaErrorHostMemoryAlreadyRegistered);
    CHECK(free_bytes(0) == kFreeWithContextBytes);
    CHECK(cudaHostUnregister(own.data()) == cudaSuccess);
    CHECK(cudaHostUnregister(own.data()) == cudaErrorHostMemoryNotRegistered);
    CHECK(cudaFreeHost(host) == cudaSuccess);
    CHECK(cudaFreeHost(host) == cudaErrorInvalidValue);
    CHECK(cudaFree(managed) == cudaSuccess);
}

TEST_CASE("arrays take the bytes of their texels") {
    const FreshDevices fresh;
    const cudaChannelFormatDesc texel{32, 32, 32, 32, cudaChannelFormatKindFloat};
    cudaArray_t array = nullptr;
    REQUIRE(cudaMallocArray(&array, &texel, 1024, 1024, 0) == cudaSuccess);
    CHECK(free_bytes(0) == kFreeWithContextBytes - 16 * kMiB);
    CHECK(cudaFreeArray(array) == cudaSuccess);
    CHECK(free_bytes(0) == kFreeWithContextBytes);
}

TEST_CASE("a pointer's attributes say what it is and where it lives") {
    const FreshDevices fresh;
    REQUIRE(cudaSetDevice(1) == cudaSuccess);
    auto* const pointer = static_cast<char*>(allocate(1000));
    cudaPointerAttributes attributes{};
    REQUIRE(cudaPointerGetAttributes(&attributes, pointer + 999) == cudaSuccess);
    CHECK(attributes.type == cudaMemoryTypeDevice);
    CHECK(attributes.device == 1);
    CHECK(attributes.devicePointer == pointer + 999);
    REQUIRE(cudaPointerGetAttributes(&attributes, pointer + 1000) == cudaSuccess);
    CHECK(attributes.type == cudaMemoryTypeUnregistered);
    CUdeviceptr base = 0;
    size_t bytes = 0;
    CHECK(cuMemGetAddressRange_v2(&base, &bytes, reinterpret_cast<CUdeviceptr>(pointer) + 10) ==
          CUDA_SUCCESS);
    CHECK(base == reinterpret_cast<CUdeviceptr>(pointer));
    CHECK(bytes == 1000);
    CHECK(cuMemGetAddressRange_v2(&base, &bytes, 4096) == CUDA_ERROR_NOT_FOUND);
}

TEST_CASE("bytes of others lower what is free and never exceed it") {
    const FreshDevices fresh;
    allocate(100 * kMiB);
    const uint64_t left = kFreeWithContextBytes - 100 * kMiB;
    CHECK(simcuda_set_external_bytes(0, left + 1) != 0);
    CHECK(free_bytes(0) == left);
    REQUIRE(simcuda_set_external_bytes(0, left) == 0);
    CHECK(free_bytes(0) == 0);
    void* pointer = nullptr;
    CHECK(cudaMalloc(&pointer, 1) == cudaErrorMemoryAllocation);
    REQUIRE(simcuda_set_external_bytes(0, 0) == 0);
    CHECK(cudaMalloc(&pointer, 1) == cudaSuccess);
    CHECK(simcuda_set_external_bytes(2, 0) != 0);
}

TEST_CASE("the driver refuses on demand although there is room") {
    const FreshDevices fresh;
    void* pointer = nullptr;
    REQUIRE(simcuda_refuse(0, 2, 4 * kMiB) == 0);
    CHECK(cudaMalloc(&pointer, 4 * kMiB) == cudaErrorMemoryAllocation);
    CHECK(cudaMalloc(&pointer, kMiB) == cudaSuccess);
    CHECK(cudaMalloc(&pointer, 4 * kMiB) == cudaSuccess);
    CHECK(free_bytes(0) == kFreeWithContextBytes - 6 * kMiB);
}

TEST_CASE("devices have their own accounts and a thread its own current device") {
    const FreshDevices fresh;
    allocate(10 * kMiB);
    REQUIRE(cudaSetDevice(1) == cudaSuccess);
    allocate(20 * kMiB);
    CHECK(free_bytes(0) == kFreeWithContextBytes - 10 * kMiB);
    CHECK(free_bytes(1) == kFreeWithContextBytes - 20 * kMiB);
    CUdevice device = -1;
    CHECK(cuCtxGetDevice(&device) == CUDA_SUCCESS);
    CHECK(device == 1);
    CHECK(cudaSetDevice(2) == cudaErrorInvalidDevice);
    CHECK(cudaSetDevice(-1) == cudaErrorInvalidDevice);
}
