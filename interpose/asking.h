// SPDX-License-Identifier: Apache-2.0
//
// When the side thread may be inside the driver's libraries or the dynamic linker. The rule: exit and fork
// wait for it, a bounded time. At exit those libraries tear themselves down, and a call that is still running
// could crash; in a forked child their locks, and the linker's, would stay held by a thread that is gone.
#pragma once

namespace memsnap::recorder {

// Side thread: false when the process exits or forks just now. Between the two no sleep and no wait.
bool begin_asking();
void end_asking();

// Before the side thread starts: from now on fork waits.
void let_fork_wait();
// Before the libraries are loaded, and again after: the exit handlers that they register meanwhile then run
// after ours. From the third time on it does nothing.
void let_exit_wait();

// A thread forks just now: what a child could find half done is not begun.
bool is_forking();

// At exit: nothing is asked any more.
void stop_asking();

}  // namespace memsnap::recorder
