// SPDX-License-Identifier: Apache-2.0
#include "side_thread.h"

#include <signal.h>
#include <sys/prctl.h>

#include "anchors.h"
#include "arming.h"
#include "asking.h"
#include "blind_scan.h"
#include "cupti.h"
#include "device.h"
#include "elf_lookup.h"
#include "glibc_compat.h"
#include "loaded_objects.h"
#include "native_frames.h"
#include "notice.h"
#include "process.h"
#include "python_frames.h"
#include "ring_pages.h"
#include "sampler.h"
#include "settings.h"
#include "slot_table.h"
#include "versions.h"

namespace memsnap::recorder {
namespace {

constexpr uint64_t kSecond_ns = 1'000'000'000;
constexpr uint64_t kFirstLapPeriod_ns = 50'000'000;

// Under the dynamic linker's lock, which must not be held while the program forks: left out then, and done a
// second later. Each look for itself, since a fork waits for it a bounded time.
template <typename Look>
void take_a_look(Look look) {
    if (!begin_asking()) return;
    look();
    end_asking();
}

void look_at_loaded_objects(Recorder& recorder) {
    take_a_look([&recorder] { note_versions(recorder); });
    take_a_look(look_for_python);
    take_a_look([&recorder] { map_loaded_objects(recorder); });
    take_a_look([&recorder] { tend_slots(recorder); });
    take_a_look([&recorder] { scan_blind_spots(recorder); });
}

void sleep_until(uint64_t wake_ns, uint32_t seen) {
    uint64_t now_ns = read_monotonic_ns();
    if (now_ns >= wake_ns) return;
    auto left_ns = static_cast<long>(wake_ns - now_ns);
    timespec timeout{left_ns / static_cast<long>(kSecond_ns), left_ns % static_cast<long>(kSecond_ns)};
    futex_wait(g_process.side_thread_wake, seen, timeout);
}

// Where the driver loaded us, its start may be under way yet.
void wait_for_driver_start() {
    constexpr int kQuickLooks = 1000;
    const timespec quick_pause{0, 1'000'000};
    const timespec slow_pause{0, 100'000'000};
    for (int i = 0; !notice_driver_start(); ++i) {
        if (g_process.exiting.load(std::memory_order_acquire) != 0) return;
        nanosleep(i < kQuickLooks ? &quick_pause : &slow_pause, nullptr);
    }
}

void* run(void*) {
    prctl(PR_SET_NAME, "memsnap");
    g_process.side_thread_tid.store(current_thread_id(), std::memory_order_relaxed);
    wait_for_driver_start();
    uint64_t last_head = 0;
    uint64_t anchor_due_ns = 0;
    reset_sampler();
    for (;;) {
        uint32_t seen = g_process.side_thread_wake.load(std::memory_order_acquire);
        if (g_process.exiting.load(std::memory_order_acquire) != 0) return nullptr;
        uint64_t now_ns = read_monotonic_ns();
        uint64_t wake_ns = now_ns + kSecond_ns;
        uint64_t arming_due_ns = tend_arming(now_ns);
        if (arming_due_ns < wake_ns) wake_ns = arming_due_ns;
        if (!is_dormant()) {
            prepare_native_frames();
            tend_cupti();
        }
        print_due_notice();
        if (Recorder* recorder = current_recorder()) {
            uint64_t head = recorder->ring.head();
            if (wire::Record* slots = recorder->ring.slots()) prepare_ring(*recorder, slots, head);
            say_native_stacks(*recorder);
            if (in_first_lap(*recorder) && head != last_head) wake_ns = now_ns + kFirstLapPeriod_ns;
            last_head = head;
            if (now_ns >= anchor_due_ns) {
                add_anchor(*recorder);
                look_at_loaded_objects(*recorder);
                anchor_due_ns = now_ns + kSecond_ns;
            }
            uint64_t sample_due_ns = take_due_samples(*recorder);
            if (sample_due_ns < wake_ns) wake_ns = sample_due_ns;
        }
        sleep_until(wake_ns, seen);
    }
}

}  // namespace

void start_side_thread() {
    if (recording_disabled() || g_process.side_thread_started.exchange(1) != 0) return;
    using Create = int(unsigned long*, const void*, void* (*)(void*), void*);
    using Detach = int(unsigned long);
    auto* create = reinterpret_cast<Create*>(find_symbol("pthread_create"));
    auto* detach = reinterpret_cast<Detach*>(find_symbol("pthread_detach"));
    if (create == nullptr || detach == nullptr) return;
    let_fork_wait();
    let_exit_wait();
    // Here on the program's thread: on ours the environment may change while it is read.
    if (!cupti_wanted()) g_process.cupti_tried = true;
    if (!is_dormant() && may_walk_native(stack_wish())) want_native_frames();
    // The thread inherits the mask: the program's signals stay the business of its own threads.
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    unsigned long thread = 0;
    if (create(&thread, nullptr, run, nullptr) == 0) detach(thread);
    sigprocmask(SIG_SETMASK, &before, nullptr);
}

void wake_side_thread() {
    if (g_process.side_thread_started.load(std::memory_order_relaxed) == 0) return;
    g_process.side_thread_wake.fetch_add(1, std::memory_order_release);
    futex_wake(g_process.side_thread_wake);
}

void announce_failure() {
    g_process.has_trouble.store(true, std::memory_order_release);
    wake_side_thread();
}

}  // namespace memsnap::recorder
