// SPDX-License-Identifier: Apache-2.0
//
// dlclose: the moment at which what is known about a library may become untrue. The rule: the real one does
// all of its work before anything is taken back; a process that never called CUDA pays one comparison.
#include "callers.h"
#include "elf_lookup.h"
#include "loaded_objects.h"
#include "visibility.h"

namespace memsnap::recorder {
namespace {

constinit Hidden<int(void* handle)> g_real("dlclose");

}  // namespace
}  // namespace memsnap::recorder

extern "C" MEMSNAP_EXPORT int dlclose(void* handle) noexcept {
    using namespace memsnap::recorder;
    const bool has_callers = g_caller_count.load(std::memory_order_acquire) > 1;
    Recorder* recorder = current_recorder();
    const bool has_walks = recorder != nullptr && recorder->objects != nullptr;
    // Stacks may lead through an object that came and goes within a second.
    if (has_walks) map_loaded_objects(*recorder);
    int result = g_real.get()(handle);
    if ((has_callers || has_walks) && notice_unloading() && has_walks) retire_walked_objects(*recorder);
    if (has_callers) retire_unloaded_callers();
    return result;
}
