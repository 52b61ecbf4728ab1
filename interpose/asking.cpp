// SPDX-License-Identifier: Apache-2.0
#include "asking.h"

#include <stdlib.h>

#include "elf_lookup.h"
#include "glibc_compat.h"
#include "native_frames.h"
#include "process.h"

namespace memsnap::recorder {
namespace {

// g_process.asking: two bits, and above them how many threads are forking.
constexpr uint32_t kAsking = 1;
constexpr uint32_t kStopped = 2;
constexpr uint32_t kForking = 4;

// Both survive fork, as the handlers do.
bool g_fork_waits = false;
uint32_t g_exit_waits = 0;

void wait_until_not_asking() {
    constexpr int kTries = 1000;
    const timespec pause{0, 1'000'000};
    for (int i = 0; i < kTries && (g_process.asking.load() & kAsking) != 0; ++i) {
        nanosleep(&pause, nullptr);
    }
}

void before_fork() {
    g_process.asking.fetch_add(kForking);
    // A library that starts may fork a helper from the side thread itself.
    if (current_thread_id() != g_process.side_thread_tid.load(std::memory_order_relaxed))
        wait_until_not_asking();
    wait_for_unwinding();
}

void after_fork_in_parent() {
    g_process.asking.fetch_sub(kForking);
}

}  // namespace

bool begin_asking() {
    uint32_t idle = 0;
    return g_process.asking.compare_exchange_strong(idle, kAsking);
}

void end_asking() {
    g_process.asking.fetch_and(~kAsking);
}

void let_fork_wait() {
    if (g_fork_waits) return;
    g_fork_waits = true;
    using Register = int(void (*)(), void (*)(), void (*)(), void*);
    auto* add = reinterpret_cast<Register*>(find_symbol("__register_atfork"));
    // The child's copy of the word is zero already.
    if (add != nullptr) add(before_fork, after_fork_in_parent, nullptr, nullptr);
}

void let_exit_wait() {
    constexpr uint32_t kOnceBeforeAndOnceAfter = 2;
    if (g_exit_waits == kOnceBeforeAndOnceAfter) return;
    ++g_exit_waits;
    atexit(stop_asking);
}

bool is_forking() {
    return g_process.asking.load(std::memory_order_seq_cst) >= kForking;
}

void stop_asking() {
    g_process.asking.fetch_or(kStopped);
    wait_until_not_asking();
}

}  // namespace memsnap::recorder
