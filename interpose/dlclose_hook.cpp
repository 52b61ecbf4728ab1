// SPDX-License-Identifier: Apache-2.0
//
// dlclose: the moment at which what is known about a library may become untrue. The rule: the real one does
// all of its work first; a process that never called CUDA pays one comparison.
#include "callers.h"
#include "elf_lookup.h"
#include "visibility.h"

namespace memsnap::recorder {
namespace {

constinit Hidden<int(void* handle)> g_real("dlclose");

}  // namespace
}  // namespace memsnap::recorder

extern "C" MEMSNAP_EXPORT int dlclose(void* handle) noexcept {
    using namespace memsnap::recorder;
    int result = g_real.get()(handle);
    if (g_caller_count.load(std::memory_order_acquire) > 1) retire_unloaded_callers();
    return result;
}
