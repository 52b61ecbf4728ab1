// SPDX-License-Identifier: Apache-2.0
// CUDA_INJECTION64_PATH: the library that it names is loaded by the first cuInit of the process, and its
// InitializeInjection called, before any other CUDA call returns
// (github.com/NVIDIA/compute-sanitizer-samples). Rule: the driver holds no lock of its own meanwhile, and has
// not started: what the library asks is refused.
#include <dlfcn.h>

#include <cstdlib>
#include <mutex>

#include "driver_state.h"

namespace simcuda {

void load_injection() {
    static std::once_flag once;
    std::call_once(once, [] {
        const char* const path = std::getenv("CUDA_INJECTION64_PATH");
        void* const library = path == nullptr ? nullptr : dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (library == nullptr) return;
        if (const auto start = reinterpret_cast<int (*)()>(dlsym(library, "InitializeInjection"))) start();
    });
}

}  // namespace simcuda
