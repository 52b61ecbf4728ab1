// SPDX-License-Identifier: Apache-2.0
//
// dlsym, the one door through which every CUDA runtime, static or not, reaches the driver. The rules: for a
// pseudo-handle the real dlsym decides by its caller's address, so it is reached by a tail call and sees our
// caller; for all names that are not the driver's the same; a lookup that failed is not followed by another
// one, so that dlerror still tells of it.
#include <dlfcn.h>

#include <atomic>

#include "driver_hooks.h"
#include "elf_lookup.h"
#include "real_dlsym.h"
#include "visibility.h"

namespace memsnap::recorder {
namespace {

std::atomic<DlsymFunction*> g_real{nullptr};

// cuXxx: the driver's functions. Not cublas, cudnn, cufft or the runtime's cudaXxx.
bool is_driver_name(const char* name) {
    return name != nullptr && name[0] == 'c' && name[1] == 'u' && name[2] >= 'A' && name[2] <= 'Z';
}

bool is_pseudo_handle(const void* handle) {
    return handle == RTLD_NEXT || handle == RTLD_DEFAULT;
}

__attribute__((noinline)) void* look_up_driver_name(void* handle, const char* name) {
    void* found = real_dlsym()(handle, name);
    if (found == nullptr || !is_wrapped(name)) return found;
    learn_driver(handle);
    return substitute(found);
}

}  // namespace

DlsymFunction* real_dlsym() {
    DlsymFunction* real = g_real.load(std::memory_order_acquire);
    if (real != nullptr) return real;
    real = reinterpret_cast<DlsymFunction*>(find_original(0, "dlsym"));
    g_real.store(real, std::memory_order_release);
    return real;
}

}  // namespace memsnap::recorder

extern "C" MEMSNAP_EXPORT void* dlsym(void* __restrict handle, const char* __restrict name) noexcept {
    using namespace memsnap::recorder;
    if (!is_pseudo_handle(handle) && is_driver_name(name)) return look_up_driver_name(handle, name);
    return real_dlsym()(handle, name);
}
