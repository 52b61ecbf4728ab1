// SPDX-License-Identifier: Apache-2.0
// Several processes on one card: they take memory from each other, and the dead own nothing.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <string>

#include "peer_process.h"
#include "session_fixture.h"

namespace {

std::string text(uint64_t value) {
    return std::to_string(value);
}

PeerProcess::Answer allocate_in(PeerProcess& peer, uint64_t bytes) {
    return peer.ask("alloc " + text(bytes));
}

cudaIpcMemHandle_t from_hex(const std::string& hex) {
    cudaIpcMemHandle_t handle{};
    for (size_t index = 0; index < sizeof handle.reserved; ++index) {
        handle.reserved[index] = static_cast<char>(std::stoi(hex.substr(2 * index, 2), nullptr, 16));
    }
    return handle;
}

cudaError_t open_here(const std::string& hex, void** pointer) {
    return cudaIpcOpenMemHandle(pointer, from_hex(hex), cudaIpcMemLazyEnablePeerAccess);
}

// What a process forked from this one gets from `call`.
template <typename Call>
int in_forked_child(Call call) {
    const pid_t child = fork();
    if (child == 0) _exit(call());
    int status = 0;
    waitpid(child, &status, 0);
    return WEXITSTATUS(status);
}

}  // namespace

TEST_CASE("a second process takes memory from the first, its context included") {
    const FreshDevices fresh;
    allocate(500 * kMiB);
    PeerProcess peer;
    const auto answer = allocate_in(peer, 100 * kMiB);
    REQUIRE(answer.result == cudaSuccess);
    CHECK(free_bytes(0) == kTotalBytes - 2 * kContextBytes - 600 * kMiB);
    CHECK(allocate_in(peer, 400 * kMiB).result == cudaErrorMemoryAllocation);
    void* pointer = nullptr;
    CHECK(cudaMalloc(&pointer, 400 * kMiB) == cudaErrorMemoryAllocation);
    CHECK(peer.ask("free " + answer.text).result == cudaSuccess);
    CHECK(cudaMalloc(&pointer, 400 * kMiB) == cudaErrorMemoryAllocation);
    CHECK(cudaMalloc(&pointer, 396 * kMiB) == cudaSuccess);
}

TEST_CASE("a killed process gives its memory back") {
    const FreshDevices fresh;
    PeerProcess peer;
    REQUIRE(allocate_in(peer, 900 * kMiB).result == cudaSuccess);
    void* pointer = nullptr;
    CHECK(cudaMalloc(&pointer, 900 * kMiB) == cudaErrorMemoryAllocation);
    peer.kill_hard();
    CHECK(cudaMalloc(&pointer, 900 * kMiB) == cudaSuccess);
}

TEST_CASE("a process killed anywhere inside its calls leaves the accounts usable and true") {
    const FreshDevices fresh;
    for (int round = 0; round < 20; ++round) {
        PeerProcess peer;
        REQUIRE(allocate_in(peer, 2 * kMiB).result == cudaSuccess);
        for (int call = 0; call < 200; ++call)
            peer.tell("alloc 2097152");
        usleep(static_cast<useconds_t>(100 * round));
        peer.kill_hard();
        CHECK(free_bytes(0) == kTotalBytes);
    }
}

TEST_CASE("a process that ends without freeing gives its memory back") {
    const FreshDevices fresh;
    {
        PeerProcess peer;
        REQUIRE(allocate_in(peer, 100 * kMiB).result == cudaSuccess);
    }
    CHECK(free_bytes(0) == kTotalBytes);
}

TEST_CASE("a zombie owns nothing") {
    const FreshDevices fresh;
    PeerProcess peer;
    REQUIRE(allocate_in(peer, 100 * kMiB).result == cudaSuccess);
    kill(peer.pid(), SIGKILL);
    siginfo_t info{};
    REQUIRE(waitid(P_PID, static_cast<id_t>(peer.pid()), &info, WEXITED | WNOWAIT) == 0);
    CHECK(free_bytes(0) == kTotalBytes);
}

TEST_CASE("a program started by exec in the same process does not inherit the old one's memory") {
    const FreshDevices fresh;
    PeerProcess peer;
    REQUIRE(allocate_in(peer, 100 * kMiB).result == cudaSuccess);
    REQUIRE(peer.ask("exec").result == 0);
    REQUIRE(allocate_in(peer, 2 * kMiB).result == cudaSuccess);
    CHECK(free_bytes(0) == kTotalBytes - kContextBytes - 2 * kMiB);
}

TEST_CASE(
    "a process forked after initialisation cannot use CUDA, and its end frees nothing of the parent's") {
    const FreshDevices fresh;
    allocate(10 * kMiB);
    CHECK(in_forked_child([] {
              void* pointer = nullptr;
              return static_cast<int>(cudaMalloc(&pointer, 1));
          }) == cudaErrorInitializationError);
    CHECK(in_forked_child([] {
              int count = 0;
              return static_cast<int>(cudaGetDeviceCount(&count));
          }) == cudaErrorInitializationError);
    CHECK(in_forked_child([] { return static_cast<int>(cuInit(0)); }) == CUDA_ERROR_NOT_INITIALIZED);
    CHECK(free_bytes(0) == kFreeWithContextBytes - 10 * kMiB);
}

TEST_CASE("memory opened through an IPC handle stays the exporter's") {
    const FreshDevices fresh;
    REQUIRE(cudaFree(nullptr) == cudaSuccess);
    PeerProcess peer;
    const std::string address = allocate_in(peer, 100 * kMiB).text;
    const std::string handle = peer.ask("export " + address).text;
    const uint64_t before = free_bytes(0);
    void* opened = nullptr;
    void* again = nullptr;
    REQUIRE(open_here(handle, &opened) == cudaSuccess);
    REQUIRE(open_here(handle, &again) == cudaSuccess);
    CHECK(again == opened);
    CHECK(free_bytes(0) == before);
    CHECK(cudaFree(opened) == cudaErrorInvalidValue);
    CHECK(cudaIpcCloseMemHandle(opened) == cudaSuccess);
    CHECK(cudaIpcCloseMemHandle(opened) == cudaSuccess);
    CHECK(cudaIpcCloseMemHandle(opened) == cudaErrorInvalidValue);
    CHECK(free_bytes(0) == before);
    REQUIRE(peer.ask("free " + address).result == cudaSuccess);
    CHECK(open_here(handle, &opened) == cudaErrorInvalidResourceHandle);
}

TEST_CASE("an IPC handle names one allocation: not this process' own, not freed and allocated anew") {
    const FreshDevices fresh;
    void* const pointer = allocate(2 * kMiB);
    cudaIpcMemHandle_t handle{};
    REQUIRE(cudaIpcGetMemHandle(&handle, pointer) == cudaSuccess);
    void* opened = nullptr;
    CHECK(cudaIpcOpenMemHandle(&opened, handle, cudaIpcMemLazyEnablePeerAccess) ==
          cudaErrorDeviceUninitialized);
    PeerProcess peer;
    const std::string address = allocate_in(peer, 2 * kMiB).text;
    const std::string old_handle = peer.ask("export " + address).text;
    peer.ask("free " + address);
    CHECK(peer.ask("export " + allocate_in(peer, 2 * kMiB).text).text != old_handle);
    cudaIpcMemHandle_t nonsense{};
    CHECK(cudaIpcOpenMemHandle(&opened, nonsense, cudaIpcMemLazyEnablePeerAccess) ==
          cudaErrorInvalidResourceHandle);
    CHECK(cudaIpcGetMemHandle(&handle, &opened) == cudaErrorInvalidValue);
}

namespace {

struct ShareableMemory {
    CUmemGenericAllocationHandle handle = 0;
    int descriptor = -1;
};

// Physical memory of device 0 and a descriptor of it that another process can import.
ShareableMemory shareable_memory(uint64_t size_bytes) {
    CUmemAllocationProp properties{};
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    ShareableMemory memory;
    REQUIRE(cuMemCreate(&memory.handle, size_bytes, &properties, 0) == CUDA_SUCCESS);
    REQUIRE(cuMemExportToShareableHandle(&memory.descriptor, memory.handle,
                                         CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0) == CUDA_SUCCESS);
    return memory;
}

}  // namespace

TEST_CASE("physical memory passed as a descriptor is charged once, until its last holder lets go") {
    const FreshDevices fresh;
    REQUIRE(cudaFree(nullptr) == cudaSuccess);
    const auto [handle, descriptor] = shareable_memory(20 * kMiB);
    const int inherited = dup(descriptor);  // without close-on-exec, as after passing it over a socket
    const uint64_t after_both = kTotalBytes - 2 * kContextBytes;
    {
        PeerProcess peer;
        const auto imported = peer.ask("import " + text(static_cast<uint64_t>(inherited)));
        REQUIRE(imported.result == CUDA_SUCCESS);
        CHECK(free_bytes(0) == after_both - 20 * kMiB);
        REQUIRE(cuMemRelease(handle) == CUDA_SUCCESS);
        CHECK(free_bytes(0) == after_both - 20 * kMiB);
        REQUIRE(peer.ask("release " + imported.text).result == CUDA_SUCCESS);
        CHECK(free_bytes(0) == after_both);
        CHECK(peer.ask("import " + text(static_cast<uint64_t>(inherited))).result ==
              CUDA_ERROR_INVALID_VALUE);
    }
    close(descriptor);
    close(inherited);
}

TEST_CASE("shared physical memory outlives the exporter and dies with the last importer") {
    const FreshDevices fresh;
    REQUIRE(cudaFree(nullptr) == cudaSuccess);
    const auto [handle, descriptor] = shareable_memory(20 * kMiB);
    const int inherited = dup(descriptor);
    PeerProcess peer;
    REQUIRE(peer.ask("import " + text(static_cast<uint64_t>(inherited))).result == CUDA_SUCCESS);
    REQUIRE(cuMemRelease(handle) == CUDA_SUCCESS);
    peer.kill_hard();
    CHECK(free_bytes(0) == kFreeWithContextBytes);
    close(descriptor);
    close(inherited);
}
