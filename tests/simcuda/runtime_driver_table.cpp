// SPDX-License-Identifier: Apache-2.0
// Finding the driver. Rule: see runtime_driver_table.h; nothing happens before the first CUDA call. The table
// lies in the library's own data, as the real one does: libcudart.so.13.0.96 has a .bss of 7680 bytes, and
// its code loads some 470 pointers from there.
#include "runtime_driver_table.h"

#include <dlfcn.h>

namespace simcuda {
namespace {

// cudaErrorInsufficientDriver: what the real runtime says when there is no usable libcuda.
constexpr auto kNoDriver = static_cast<CUresult>(cudaErrorInsufficientDriver);

template <typename Function>
bool find(decltype(&::cuGetProcAddress_v2) resolve, const char* name, int version, unsigned flags,
          Function* function) {
    void* pointer = nullptr;
    CUdriverProcAddressQueryResult status{};
    const bool found = resolve(name, &pointer, version, flags, &status) == CUDA_SUCCESS && pointer != nullptr;
    if (found) *function = reinterpret_cast<Function>(pointer);
    return found;
}

void load(DriverTable& table) {
    table.load_result = kNoDriver;
    void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return;
    const auto resolve =
        reinterpret_cast<decltype(&::cuGetProcAddress_v2)>(dlsym(library, "cuGetProcAddress_v2"));
    if (resolve == nullptr) return;
    void* probe = nullptr;
    resolve("", &probe, 0, 0, nullptr);
    if (!find(resolve, "cuInit", 2000, 0, &table.cuInit)) return;
    if (!find(resolve, "cuGetProcAddress", 11030, 0, &table.get_proc_address_4)) return;
    if (!find(resolve, "cuGetProcAddress", 12000, 0, &table.get_proc_address_5)) return;
#define SIMCUDA_FIND(member, name, version, flags) \
    if (!find(resolve, name, version, flags, &table.member)) return;
    SIMCUDA_DRIVER_FUNCTIONS(SIMCUDA_FIND)
#undef SIMCUDA_FIND
    table.load_result = table.cuInit(0);
}

}  // namespace

const DriverTable& driver_table() {
    static DriverTable table;  // needs no destruction: used until the process ends
    static const bool loaded = (load(table), true);
    static_cast<void>(loaded);
    return table;
}

}  // namespace simcuda
