// SPDX-License-Identifier: Apache-2.0
//
// Reaches the driver as a library does that is linked with none: by name, through dlsym and cuGetProcAddress.
#include "program_driver.h"

#include <dlfcn.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>

namespace {

constexpr size_t kMebibyte = 1024 * 1024;

}  // namespace

void driver(long) {
    void* library = dlopen(std::getenv("FAKE_CUDA"), RTLD_NOW | RTLD_LOCAL);
    using Resolve = int(const char*, void**, int, uint64_t, void*);
    auto* resolve = reinterpret_cast<Resolve*>(dlsym(library, "cuGetProcAddress_v2"));
    auto entry = [resolve](const char* name, int version) {
        void* found = nullptr;
        int status = -1;
        int result = resolve(name, &found, version, 0, &status);
        std::printf("%s %d %d\n", name, result, status);
        return found;
    };
    auto find = [&entry]<typename F>(const char* name, F*) {
        return reinterpret_cast<F*>(entry(name, 13000));
    };
    auto* init = find("cuInit", static_cast<int (*)(unsigned)>(nullptr));
    auto* create =
        find("cuMemCreate", static_cast<int (*)(uint64_t*, size_t, const void*, uint64_t)>(nullptr));
    auto* map = find("cuMemMap", static_cast<int (*)(uint64_t, size_t, size_t, uint64_t, uint64_t)>(nullptr));
    auto* unmap = find("cuMemUnmap", static_cast<int (*)(uint64_t, size_t)>(nullptr));
    auto* release = find("cuMemRelease", static_cast<int (*)(uint64_t)>(nullptr));
    auto* retain = find("cuMemRetainAllocationHandle", static_cast<int (*)(uint64_t*, void*)>(nullptr));
    auto* version = find("cuDriverGetVersion", static_cast<int (*)(int*)>(nullptr));
    entry("cuNoSuchFunction", 13000);
    // The pointer that the resolver gives for itself must be a wrapper too, and unknown ones the driver's
    // own.
    auto* again = reinterpret_cast<Resolve*>(entry("cuGetProcAddress", 12000));
    std::printf("same resolver %d\n", again == resolve);
    std::printf("unhooked is the driver's %d\n",
                entry("cuMemGetAddressRange", 3020) == dlsym(library, "cuMemGetAddressRange_v2"));

    init(0);
    int driver_version = 0;
    version(&driver_version);
    const int properties[8] = {1, 0, 1, 0, 0, 0, 0, 0};  // pinned memory on device 0
    const size_t granule = 2 * kMebibyte;
    uint64_t first = 0;
    uint64_t second = 0;
    create(&first, granule, properties, 0);
    create(&second, granule, properties, 0);
    map(0x10000000, granule, 0, first, 0);
    map(0x10000000 + granule, granule, 0, second, 0);
    uint64_t reference = 0;
    retain(&reference, reinterpret_cast<void*>(uintptr_t{0x10000000}));
    auto* refuse = reinterpret_cast<void (*)(int)>(dlsym(library, "fake_refuse_unmap"));
    refuse(1);
    unmap(0x10000000, 2 * granule);
    refuse(0);
    unmap(0x10000000, 2 * granule);
    release(first);
    release(reference);
    uint64_t refused = 0;
    create(&refused, 4096 * kMebibyte, properties, 0);
    // The side thread has had its second to note versions when this is asked for.
    if (std::getenv("LINGER") != nullptr) std::this_thread::sleep_for(std::chrono::milliseconds(1500));
}

void contexts(long count) {
    void* library = dlopen(std::getenv("FAKE_CUDA"), RTLD_NOW | RTLD_LOCAL);
    auto find = [library]<typename F>(const char* name, F*) {
        return reinterpret_cast<F*>(dlsym(library, name));
    };
    auto* allocate = find("cuMemAlloc_v2", static_cast<int (*)(uint64_t*, size_t)>(nullptr));
    auto* destroy = find("cuCtxDestroy_v2", static_cast<int (*)(void*)>(nullptr));
    auto* refuse = find("fake_refuse_destroy", static_cast<void (*)(int)>(nullptr));
    void* primary = nullptr;
    void* own = nullptr;
    uint64_t address = 0;
    find("cuInit", static_cast<int (*)(unsigned)>(nullptr))(0);
    allocate(&address, 4096);  // a reference to a primary context alone begins no recording
    find("cuDevicePrimaryCtxRetain", static_cast<int (*)(void**, int)>(nullptr))(&primary, 0);
    find("cuCtxCreate_v2", static_cast<int (*)(void**, unsigned, int)>(nullptr))(&own, 0, 0);
    for (long i = 0; i < count; ++i) {
        allocate(&address, 8192);
    }
    refuse(1);
    destroy(own);
    refuse(0);
    destroy(own);
    find("cuDevicePrimaryCtxReset_v2", static_cast<int (*)(int)>(nullptr))(0);
}
