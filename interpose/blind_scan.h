// SPDX-License-Identifier: Apache-2.0
//
// Looks for libraries whose calls pass by the hooks: their references to a hooked name lead elsewhere, or
// they live in another namespace of the dynamic linker. The rules: foreign memory is read only inside
// dl_iterate_phdr, one object at a time, so that a dlopen elsewhere never waits for the whole of it; what was
// found about an object is kept; nothing is allocated after the first scan.
#pragma once

#include "process.h"

namespace memsnap::recorder {

// For the side thread, each second, and for the exit; one at a time.
void scan_blind_spots(Recorder& recorder);

}  // namespace memsnap::recorder
