// SPDX-License-Identifier: Apache-2.0
//
// The optional cross-check by CUPTI (MEMSNAP_CUPTI=1): what NVIDIA's own profiling library saw of each memory
// operation goes into the file beside what the hooks saw, and is compared offline. Never on by default: it
// takes the only subscriber slot of the process.
//
// The rules: loaded by the side thread only, after the program's own cuInit; where another tool holds the
// slot, or anything is missing or refused, it stands aside and that is said once; buffers are static memory;
// CUPTI's threads run our callbacks under the rules of hooks.
#pragma once

namespace memsnap::recorder {

// Side thread, at every turn: the first one starts CUPTI, the others collect at most once a second what it
// has seen. What is left is collected at exit.
void tend_cupti();

}  // namespace memsnap::recorder
