// SPDX-License-Identifier: Apache-2.0
//
// The door for CUDA_INJECTION64_PATH: the driver loads the library that the variable names within cuInit and
// calls this. Launchers that drop LD_PRELOAD keep it. The rules: never an error, which could keep the driver
// from starting; in a process that was preloaded there is nothing left to do; the variable is never set here.
#include "late_attach.h"
#include "visibility.h"

extern "C" MEMSNAP_EXPORT int InitializeInjection(void) {
    constexpr int kSuccess = 1;
    memsnap::recorder::start_injected();
    return kSuccess;
}
