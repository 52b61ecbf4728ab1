// SPDX-License-Identifier: Apache-2.0
//
// How NVTX finds the recorder: a variable names the library that each of the program's copies of NVTX loads
// at its first call, and whose InitializeInjectionNvtx2 then fills that copy's table of functions. The rules:
// a set variable is never overwritten, since then another tool wants the ranges; NVTX is never called.
#pragma once

namespace memsnap::recorder {

// At start, before the program reads its environment.
void offer_nvtx_injection();

}  // namespace memsnap::recorder
