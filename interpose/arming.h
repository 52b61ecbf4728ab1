// SPDX-License-Identifier: Apache-2.0
//
// Dormant and armed: what a process does when others ask it through the header of its file (docs/arming.md).
// The rules: the side thread alone acts, never while the process forks or exits; hooks meet a pointer that is
// there or not, and wait for nothing; each request is answered once, whatever its bytes; what a thread may
// still be writing to is never unmapped.
#pragma once

#include "process.h"

namespace memsnap::recorder {

// The driver was started: where MEMSNAP_ARM says so the process has its file from now on. Not under an
// allocator's lock.
void wait_to_be_armed();

inline bool is_dormant() {
    return g_process.phase.load(std::memory_order_relaxed) == Phase::dormant;
}

// Side thread, at every turn: answers a request, and ends a time box. When it is to look again, if that is
// before its next turn (CLOCK_MONOTONIC).
uint64_t tend_arming(uint64_t now_ns);

// Any thread of the process: asks like others do, and waits for the answer. An errno, or 0.
int ask_self(wire::ArmWish wish);

// At exit: a file that was never armed tells nothing.
void remove_waiting_file();

}  // namespace memsnap::recorder
