// SPDX-License-Identifier: Apache-2.0
// NVML agrees with the session: totals, processes, names.
#include <unistd.h>

#include <map>
#include <string>
#include <vector>

#include "peer_process.h"
#include "session_fixture.h"

namespace {

struct ProcessV1 {
    unsigned pid;
    unsigned long long used_bytes;
};

struct ProcessV2 {
    unsigned pid;
    unsigned long long used_bytes;
    unsigned gpu_instance, compute_instance;
};

}  // namespace

extern "C" {
int nvmlInit_v2();
int nvmlDeviceGetCount_v2(unsigned* count);
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** handle);
int nvmlDeviceGetHandleByPciBusId_v2(const char* text, void** handle);
int nvmlDeviceGetHandleByUUID(const char* text, void** handle);
int nvmlDeviceGetUUID(void* handle, char* text, unsigned length);
int nvmlDeviceGetComputeRunningProcesses(void* handle, unsigned* count, ProcessV1* processes);
int nvmlDeviceGetComputeRunningProcesses_v3(void* handle, unsigned* count, ProcessV2* processes);
}

namespace {

constexpr int kInvalidArgument = 2;
constexpr int kInsufficientSize = 7;

void* device(unsigned index) {
    void* handle = nullptr;
    REQUIRE(nvmlDeviceGetHandleByIndex_v2(index, &handle) == 0);
    return handle;
}

}  // namespace

TEST_CASE("NVML lists every process with the bytes it holds, its context included") {
    const FreshDevices fresh;
    REQUIRE(nvmlInit_v2() == 0);
    allocate(10 * kMiB);
    PeerProcess peer;
    REQUIRE(peer.ask("alloc " + std::to_string(30 * kMiB)).result == 0);
    ProcessV1 listed[8];
    unsigned count = 8;
    REQUIRE(nvmlDeviceGetComputeRunningProcesses(device(0), &count, listed) == 0);
    REQUIRE(count == 2);
    std::map<unsigned, uint64_t> bytes;
    for (unsigned index = 0; index < count; ++index)
        bytes[listed[index].pid] = listed[index].used_bytes;
    CHECK(bytes[static_cast<unsigned>(getpid())] == kContextBytes + 10 * kMiB);
    CHECK(bytes[static_cast<unsigned>(peer.pid())] == kContextBytes + 30 * kMiB);
    CHECK(free_bytes(0) == kTotalBytes - 2 * kContextBytes - 40 * kMiB);
}

TEST_CASE("the newer process list has the same bytes in its own layout, and asks for room") {
    const FreshDevices fresh;
    allocate(kMiB);
    unsigned count = 0;
    CHECK(nvmlDeviceGetComputeRunningProcesses_v3(device(0), &count, nullptr) == kInsufficientSize);
    REQUIRE(count == 1);
    ProcessV2 listed{};
    REQUIRE(nvmlDeviceGetComputeRunningProcesses_v3(device(0), &count, &listed) == 0);
    CHECK(listed.pid == static_cast<unsigned>(getpid()));
    CHECK(listed.used_bytes == kContextBytes + 2 * kMiB);
    CHECK(listed.gpu_instance == 0xffffffff);
    CHECK(nvmlDeviceGetComputeRunningProcesses_v3(device(1), &count, nullptr) == 0);
    CHECK(count == 0);
}

TEST_CASE("bytes that nobody in the session holds are those of a process outside it") {
    const FreshDevices fresh;
    allocate(kMiB);
    REQUIRE(simcuda_set_external_bytes(0, 6 * kMiB) == 0);
    ProcessV2 listed[8];
    unsigned count = 8;
    REQUIRE(nvmlDeviceGetComputeRunningProcesses_v3(device(0), &count, listed) == 0);
    REQUIRE(count == 2);
    CHECK(listed[1].pid == 4194305);
    CHECK(listed[1].used_bytes == 6 * kMiB);
    REQUIRE(simcuda_set_external_bytes(0, 0) == 0);
    REQUIRE(nvmlDeviceGetComputeRunningProcesses_v3(device(0), &count, listed) == 0);
    CHECK(count == 1);
}

TEST_CASE("a device has one identity in NVML and in CUDA") {
    const FreshDevices fresh;
    unsigned count = 0;
    REQUIRE(nvmlDeviceGetCount_v2(&count) == 0);
    CHECK(count == 2);
    void* handle = nullptr;
    CHECK(nvmlDeviceGetHandleByIndex_v2(2, &handle) == kInvalidArgument);
    char bus_id[20];
    REQUIRE(cudaDeviceGetPCIBusId(bus_id, sizeof bus_id, 1) == cudaSuccess);
    REQUIRE(nvmlDeviceGetHandleByPciBusId_v2(bus_id, &handle) == 0);
    CHECK(handle == device(1));
    char uuid[80];
    REQUIRE(nvmlDeviceGetUUID(device(1), uuid, sizeof uuid) == 0);
    REQUIRE(nvmlDeviceGetHandleByUUID(uuid, &handle) == 0);
    CHECK(handle == device(1));
    CHECK(nvmlDeviceGetUUID(device(1), uuid, 8) == kInsufficientSize);
}
