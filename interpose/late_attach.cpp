// SPDX-License-Identifier: Apache-2.0
#include "late_attach.h"

#include <dlfcn.h>
#include <errno.h>

#include "arming.h"
#include "asking.h"
#include "device.h"
#include "driver_entries.h"
#include "driver_hooks.h"
#include "elf_lookup.h"
#include "glibc_compat.h"
#include "python_frames.h"
#include "ring_file.h"
#include "settings.h"
#include "side_thread.h"
#include "slot_sweep.h"
#include "slot_table.h"
#include "text.h"
#include "versions.h"

namespace memsnap::recorder {
namespace {

constexpr int kTries = 10'000;
constexpr long kPause_ns = 1'000'000;

// One thread at a time attaches or detaches. Not in the region that forked children see zeroed: the child of
// a process that attaches just now does not.
std::atomic<uint32_t> g_busy{0};

constexpr SlotKeeper kKeeper{[](Recorder& recorder) { sweep_slots(&recorder); }, restore_slots};

bool are_slots_ours() {
    return g_slot_keeper.load(std::memory_order_acquire) != nullptr;
}

void pause_a_moment() {
    timespec pause{0, kPause_ns};
    nanosleep(&pause, nullptr);
}

class Turn {
  public:
    Turn() {
        for (int i = 0; i < kTries && !held_; ++i) {
            held_ = g_busy.exchange(1, std::memory_order_acquire) == 0;
            if (!held_) pause_a_moment();
        }
    }
    ~Turn() {
        if (held_) g_busy.store(0, std::memory_order_release);
    }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    bool held() const { return held_; }

  private:
    bool held_ = false;
};

// Finds the driver that is loaded already, keeps it loaded and learns its entry points.
bool learn_loaded_driver() {
    auto* open = reinterpret_cast<void* (*)(const char*, int)>(find_symbol("dlopen"));
    void* handle = open == nullptr ? nullptr : open("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
    if (handle == nullptr) return false;
    learn_driver(handle);
    return true;
}

// Another copy of this library that is loaded too, for one under the path of another version.
bool is_another_here() {
    return find_symbol("memsnap1_version") != nullptr;
}

// Under the dynamic linker's lock, which must not be held while the program forks.
void bring_under_hooks(Recorder* recorder) {
    for (int i = 0; i < kTries; ++i) {
        if (begin_asking()) {
            const bool done = sweep_slots(recorder);
            end_asking();
            if (done) break;
        }
        pause_a_moment();
    }
    g_slot_keeper.store(&kKeeper, std::memory_order_release);
}

// The first file of this process; false with its error, and as if nothing had been tried.
bool make_recording() {
    EventScope scope(Start::if_needed);
    if (g_process.newest.load(std::memory_order_acquire) != nullptr) return true;
    g_process.has_trouble.store(false, std::memory_order_relaxed);
    g_process.moved_to_tmpdir = false;
    g_process.phase.store(Phase::fresh, std::memory_order_release);
    return false;
}

void ask_driver_version() {
    int version = 0;
    auto* ask = original<Entry::cuDriverGetVersion, int(int*)>();
    if (ask != nullptr && ask(&version) == 0 && version > 0)
        g_driver_version.store(static_cast<uint32_t>(version), std::memory_order_relaxed);
}

// A process that was attached before has a recording that ended: the next one is a file of its own.
int begin_recording() {
    if (g_process.newest.load(std::memory_order_acquire) == nullptr && !make_recording())
        return g_process.create_error;
    start_side_thread();
    Recorder* recorder = current_recorder();
    if (recorder != nullptr && recorder->ring.slots() != nullptr) return 0;
    return ask_self(wire::ArmWish::record);
}

uint32_t start_attached() {
    const wire::Channel before = g_channel;
    g_process.started_late = true;
    g_channel = wire::Channel::attached;
    g_may_record.store(true, std::memory_order_release);
    ask_driver_version();
    if (int error = begin_recording()) {
        g_may_record.store(false, std::memory_order_release);
        g_channel = before;
        return answer_word(Answer::no_file, error);
    }
    look_for_python_at_start();
    bring_under_hooks(current_recorder());
    return answer_word(Answer::done);
}

uint32_t ask_to_detach() {
    const int error = ask_self(wire::ArmWish::detach);
    switch (error) {
        case 0:
            return answer_word(Answer::done);
        case EBUSY:
            return answer_word(Answer::slots_kept, error);
        case ENOENT:
            return answer_word(Answer::not_attached);
        default:
            return answer_word(Answer::busy, error);
    }
}

}  // namespace

uint32_t attach_late(const char* settings, size_t settings_bytes) {
    Turn turn;
    if (!turn.held()) return answer_word(Answer::busy);
    if (!is_loaded_late() || is_another_here() || g_channel == wire::Channel::injected)
        return answer_word(Answer::preloaded);
    if (are_slots_ours()) {
        if (g_may_record.load(std::memory_order_acquire)) return answer_word(Answer::already_attached);
        if (const uint32_t left = ask_to_detach()) return left;
    }
    if (recording_disabled()) return answer_word(Answer::disabled);
    if (!learn_loaded_driver()) return answer_word(Answer::no_driver);
    if (!notice_driver_start()) return answer_word(Answer::driver_not_started);
    if (!override_environment(settings, settings_bytes)) return answer_word(Answer::bad_settings);
    if (recording_disabled()) return answer_word(Answer::disabled);
    if (g_process.newest.load(std::memory_order_acquire) != nullptr) {
        Path wanted;
        read_output_settings(wanted);
    }
    return start_attached();
}

uint32_t detach_late() {
    Turn turn;
    if (!turn.held()) return answer_word(Answer::busy);
    if (!are_slots_ours()) return answer_word(Answer::not_attached);
    return ask_to_detach();
}

void start_injected() {
    Turn turn;
    if (!turn.held() || !is_loaded_late() || is_another_here() || recording_disabled()) return;
    if (are_slots_ours() || !learn_loaded_driver()) return;
    g_channel = wire::Channel::injected;
    g_may_record.store(true, std::memory_order_release);
    wait_to_be_armed();  // on the program's own thread: later its environment may change while it is read
    start_side_thread();
    bring_under_hooks(nullptr);
}

}  // namespace memsnap::recorder
