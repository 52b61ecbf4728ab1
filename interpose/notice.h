// SPDX-License-Identifier: Apache-2.0
//
// The one line on stderr. The rules: at most one a process, only after a failure or trouble, never from a
// hook, never one that could block, and only while fd 2 is still the file the program started with.
#pragma once

#include "process.h"

namespace memsnap::recorder {

void remember_stderr();  // once, at start
// Prints the line if one is due and was not printed yet.
void print_due_notice();
// At exit: gives the side thread, if it is at it, a moment to finish the line.
void wait_for_notice();

}  // namespace memsnap::recorder
