// SPDX-License-Identifier: Apache-2.0
//
// Puts the slots of all loaded objects to our functions, and back. What is a slot: a relocated reference to a
// hooked name, and a word of an object's own data that holds a wrapped entry point of the driver, as runtimes
// keep them that were started before we came. The rules: an object is looked at and changed under
// dl_iterate_phdr alone, whose lock keeps it loaded; nothing is changed in one that the dynamic linker has
// not finished; nothing of ours is called under that lock that could wait.
#pragma once

#include "process.h"

namespace memsnap::recorder {

// Brings what is loaded now under our hooks, if anything was loaded since the last time. `recorder` may be
// null: what cannot be reached is then said later. False: another thread is at it.
bool sweep_slots(Recorder* recorder);

// Gives each slot that still leads to us what it held. True when it was the case for all of them.
bool restore_slots();

}  // namespace memsnap::recorder
