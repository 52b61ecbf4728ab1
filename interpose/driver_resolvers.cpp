// SPDX-License-Identifier: Apache-2.0
//
// The driver's start and its resolvers. The rule: the driver answers first, with the program's own name,
// version and flags; its status and errors are handed on untouched.
#include "arming.h"
#include "device.h"
#include "driver_entries.h"
#include "driver_hooks.h"
#include "python_frames.h"
#include "side_thread.h"
#include "versions.h"

namespace memsnap::recorder {

MEMSNAP_DRIVER_WRAPPER(cuGetProcAddress, (const char* symbol, void** found, int version, uint64_t flags)) {
    int result = original<Entry::cuGetProcAddress, int(const char*, void**, int, uint64_t)>()(symbol, found,
                                                                                              version, flags);
    if (result == 0 && found != nullptr) *found = hand_out(symbol, *found, __builtin_return_address(0));
    return result;
}

MEMSNAP_DRIVER_WRAPPER(cuGetProcAddress_v2,
                       (const char* symbol, void** found, int version, uint64_t flags, void* status)) {
    int result = original<Entry::cuGetProcAddress_v2, int(const char*, void**, int, uint64_t, void*)>()(
        symbol, found, version, flags, status);
    if (result == 0 && found != nullptr) *found = hand_out(symbol, *found, __builtin_return_address(0));
    return result;
}

// The moment for everything that must not happen under an allocator's lock.
MEMSNAP_DRIVER_WRAPPER(cuInit, (unsigned flags)) {
    int result = original<Entry::cuInit, int(unsigned)>()(flags);
    if (result == 0) {
        g_may_ask.store(true, std::memory_order_release);
        wait_to_be_armed();
        // A process that is dormant has nothing to ask Python for; where it is, is known from now on.
        if (is_dormant()) find_python();
        if (!is_dormant()) look_for_python_at_start();
        start_side_thread();
    }
    return result;
}

MEMSNAP_DRIVER_WRAPPER(cuDriverGetVersion, (int* version)) {
    int result = original<Entry::cuDriverGetVersion, int(int*)>()(version);
    if (result == 0 && version != nullptr && *version > 0) {
        g_driver_version.store(static_cast<uint32_t>(*version), std::memory_order_relaxed);
    }
    return result;
}

}  // namespace memsnap::recorder
