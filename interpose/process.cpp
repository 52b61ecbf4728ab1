// SPDX-License-Identifier: Apache-2.0
#include "process.h"

#include <errno.h>
#include <sys/mman.h>
#include <time.h>

#include "device.h"
#include "early_marks.h"
#include "glibc_compat.h"
#include "header.h"
#include "python_interpreter.h"
#include "ring_file.h"
#include "settings.h"
#include "side_thread.h"
#include "tap.h"

namespace memsnap::recorder {
namespace {

#if defined(__aarch64__)
constexpr size_t kPage_bytes = 65536;  // the largest of the kernel's page sizes
#else
constexpr size_t kPage_bytes = 4096;
#endif

struct alignas(kPage_bytes) Region {
    Process process;
    unsigned char rest[kPage_bytes - sizeof(Process) % kPage_bytes];
};
constinit Region g_region{};

bool g_region_ready = false;
// Survives fork: makes the generation of a child differ from its ancestors'.
std::atomic<uint32_t> g_last_generation{0};

void sleep_ns(long duration_ns) {
    timespec duration{0, duration_ns};
    nanosleep(&duration, nullptr);
}

void take_generation(Recorder& recorder) {
    recorder.generation = g_last_generation.fetch_add(1, std::memory_order_relaxed) + 1;
}

// Another thread is making the file; that takes well under a millisecond on the file systems we accept.
Recorder* wait_for_creation() {
    constexpr int kTries = 1000;
    constexpr long kPause_ns = 100'000;
    for (int i = 0; i < kTries && g_process.phase.load(std::memory_order_acquire) == Phase::creating; ++i) {
        sleep_ns(kPause_ns);
    }
    return current_recorder();
}

}  // namespace

Process& g_process = g_region.process;
std::atomic<bool> g_may_record{true};
std::atomic<wire::Channel> g_channel{wire::Channel::preloaded};
__thread uint64_t t_thread_word __attribute__((tls_model("initial-exec"))) = 0;

void prepare_process_region() {
    g_region_ready = madvise(&g_region, sizeof g_region, MADV_WIPEONFORK) == 0;
}

Recorder* start_recorder() {
    if (!may_start_recorder()) return nullptr;
    Phase expected = Phase::fresh;
    if (!g_process.phase.compare_exchange_strong(expected, Phase::creating, std::memory_order_acq_rel)) {
        Recorder* recorder = expected == Phase::creating ? wait_for_creation() : current_recorder();
        if (recorder == nullptr) g_process.lost_count.fetch_add(1, std::memory_order_relaxed);
        return recorder;
    }
    int saved_errno = errno;
    // The first event comes after the driver's start; a process that waits to be armed is here within it.
    if (g_channel == wire::Channel::injected && start_state() == wire::ArmState::recording)
        notice_driver_start();
    Recorder& recorder = g_process.storage;
    Phase result = Phase::off;
    if (!g_region_ready && !recording_disabled()) {
        expand_output_path(g_process.chosen_path);
        g_process.create_trouble = wire::Trouble::create_failed;
        g_process.create_error = ENOSYS;
        g_process.has_trouble.store(true, std::memory_order_relaxed);
    } else if (!recording_disabled()) {
        choose_cpu_features();
        take_generation(recorder);
        if (create_ring_file(recorder)) {
            g_process.newest.store(&recorder);
            result = recorder.header->arm_state == wire::ArmState::cold ? Phase::dormant : Phase::recording;
        }
    }
    if (result == Phase::recording) publish_recorder(recorder);
    g_process.phase.store(result, std::memory_order_release);
    wake_side_thread();
    errno = saved_errno;
    return current_recorder();
}

void publish_recorder(Recorder& recorder) {
    g_process.recorder.store(&recorder);
    show_tap_state(recorder);
    // Known already, unless the first memory was taken without the driver's start.
    find_python();
    show_python(recorder);
}

Recorder* make_recorder() {
    auto* recorder = static_cast<Recorder*>(private_memory(sizeof(Recorder)));
    if (recorder != nullptr) take_generation(*recorder);
    return recorder;
}

void note_trouble(Recorder& recorder, wire::Trouble trouble, uint32_t error) {
    auto* field = reinterpret_cast<uint32_t*>(&recorder.header->trouble);
    uint32_t expected = static_cast<uint32_t>(wire::Trouble::none);
    if (std::atomic_ref<uint32_t>(*field).compare_exchange_strong(expected, static_cast<uint32_t>(trouble))) {
        std::atomic_ref<uint32_t>(recorder.header->trouble_errno).store(error, std::memory_order_relaxed);
    }
    g_process.has_trouble.store(true, std::memory_order_relaxed);
}

uint16_t list_thread(Recorder& recorder) {
    // What could not be written while the file was being made belongs to the file now.
    uint64_t lost = g_process.lost_count.exchange(0, std::memory_order_relaxed);
    if (lost != 0) std::atomic_ref<uint64_t>(recorder.header->counters.lost).fetch_add(lost);
    std::atomic_ref<uint32_t> used(recorder.header->thread_count);
    uint32_t index = used.load(std::memory_order_relaxed);
    while (index < kThreadCapacity && !used.compare_exchange_weak(index, index + 1)) {
    }
    if (index >= kThreadCapacity) {
        bump(recorder.header->counters.threads_unlisted);
        note_trouble(recorder, wire::Trouble::threads_full, 0);
        index = 0;
    } else {
        recorder.threads[index].tid = current_thread_id();
        recorder.threads[index].first_ticket = recorder.ring.head();
    }
    t_thread_word =
        (uint64_t{recorder.generation} << 32) | (uint64_t{index} << 16) | (t_thread_word & kBusyBit);
    write_early_marks(recorder);
    return static_cast<uint16_t>(index);
}

void EventScope::count_reentry() {
    if (Recorder* recorder = current_recorder()) bump(recorder->header->counters.reentrant);
}

}  // namespace memsnap::recorder
