// SPDX-License-Identifier: Apache-2.0
// Rule: the session exists before the first CUDA call of the program and is removed when it ends.
#include "session_fixture.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "shared_state.h"

extern "C" {
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** handle);
int nvmlDeviceGetMemoryInfo(void* handle, unsigned long long* memory);
}

namespace {

class Session {
  public:
    Session() {
        char folder[] = "/tmp/simcuda-test-XXXXXX";
        if (mkdtemp(folder) == nullptr) std::abort();
        folder_ = folder;
        simcuda::SessionSettings settings;
        settings.total_bytes = kTotalBytes;
        settings.context_bytes = kContextBytes;
        settings.device_count = 2;
        if (!simcuda::SharedState::create(path(), settings)) std::abort();
        setenv("SIMCUDA_STATE", path().c_str(), 1);
    }
    ~Session() {
        std::remove(path().c_str());
        rmdir(folder_.c_str());
    }
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

  private:
    std::string path() const { return folder_ + "/state"; }
    std::string folder_;
};

const Session session;

void reset_all() {
    for (const int device : {1, 0}) {
        cudaSetDevice(device);
        cudaDeviceReset();
        simcuda_set_external_bytes(device, 0);
    }
    simcuda_set_pending_events(0);
    cudaGetLastError();
}

}  // namespace

uint64_t free_bytes(int device) {
    void* handle = nullptr;
    unsigned long long total_free_used[3] = {};
    nvmlDeviceGetHandleByIndex_v2(static_cast<unsigned>(device), &handle);
    nvmlDeviceGetMemoryInfo(handle, total_free_used);
    return total_free_used[1];
}

FreshDevices::FreshDevices() {
    reset_all();
    REQUIRE(free_bytes(0) == kTotalBytes);
    REQUIRE(free_bytes(1) == kTotalBytes);
}

FreshDevices::~FreshDevices() {
    reset_all();
}

void* allocate(uint64_t bytes) {
    void* pointer = nullptr;
    REQUIRE(cudaMalloc(&pointer, bytes) == cudaSuccess);
    return pointer;
}
