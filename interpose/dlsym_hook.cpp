// SPDX-License-Identifier: Apache-2.0
//
// dlsym, the one door through which every CUDA runtime, static or not, reaches the driver. The rules: for a
// pseudo-handle the real dlsym decides by its caller's address, so it is reached by a tail call and sees our
// caller; for all names that are not the driver's the same; a lookup that failed is not followed by another
// one, so that dlerror still tells of it; a driver that was asked stays loaded.
#include <dlfcn.h>
#include <link.h>

#include "driver_hooks.h"
#include "elf_lookup.h"
#include "real_dlsym.h"
#include "visibility.h"

namespace memsnap::recorder {
namespace {

constinit Hidden<DlsymFunction> g_real("dlsym");

// cuXxx: the driver's functions. Not cublas, cudnn, cufft or the runtime's cudaXxx.
bool is_driver_name(const char* name) {
    return name != nullptr && name[0] == 'c' && name[1] == 'u' && name[2] >= 'A' && name[2] <= 'Z';
}

bool is_pseudo_handle(const void* handle) {
    return handle == RTLD_NEXT || handle == RTLD_DEFAULT;
}

// A static runtime that cannot start closes the driver again, and the next one loads it elsewhere: what was
// learnt of the first would lead nowhere. So the driver stays, once one was found. This is inside the
// program's own dlsym, which takes the dynamic linker's lock as this does.
void keep_loaded(void* handle) {
    static std::atomic<bool> kept{false};
    if (kept.exchange(true)) return;
    auto* describe = reinterpret_cast<int (*)(void*, int, void*)>(find_symbol("dlinfo"));
    auto* open = reinterpret_cast<void* (*)(const char*, int)>(find_symbol("dlopen"));
    const link_map* driver = nullptr;
    if (describe == nullptr || open == nullptr || describe(handle, RTLD_DI_LINKMAP, &driver) != 0) return;
    open(driver->l_name, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

__attribute__((noinline)) void* look_up_driver_name(void* handle, const char* name,
                                                    const void* return_address) {
    void* found = real_dlsym()(handle, name);
    if (found == nullptr) return nullptr;
    if (is_wrapped(name)) {
        keep_loaded(handle);
        learn_driver(handle);
    }
    return hand_out(name, found, return_address);
}

}  // namespace

DlsymFunction* real_dlsym() {
    return g_real.get();
}

}  // namespace memsnap::recorder

extern "C" MEMSNAP_EXPORT void* dlsym(void* __restrict handle, const char* __restrict name) noexcept {
    using namespace memsnap::recorder;
    if (!is_pseudo_handle(handle) && is_driver_name(name)) {
        return look_up_driver_name(handle, name, __builtin_return_address(0));
    }
    return real_dlsym()(handle, name);
}
