// SPDX-License-Identifier: Apache-2.0
#include "arming.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "anchors.h"
#include "asking.h"
#include "keyframe.h"
#include "native_frames.h"
#include "ring_file.h"
#include "ring_pages.h"
#include "sampler.h"
#include "side_thread.h"
#include "slot_table.h"

namespace memsnap::recorder {
namespace {

using wire::ArmState;
using wire::ArmWish;

constexpr uint64_t kNever_ns = ~uint64_t{0};
constexpr uint64_t kRetry_ns = 10'000'000;

ArmState state_of_process() {
    const Recorder* recorder = current_recorder();
    if (recorder == nullptr) return ArmState::cold;
    return recorder->ring.slots() == nullptr ? ArmState::standby : ArmState::recording;
}

void say_state(wire::Header& header, ArmState state) {
    auto* field = reinterpret_cast<uint32_t*>(&header.arm_state);
    std::atomic_ref<uint32_t>(*field).store(static_cast<uint32_t>(state), std::memory_order_release);
}

void say(uint64_t& word, uint64_t value) {
    std::atomic_ref<uint64_t>(word).store(value, std::memory_order_release);
}

// ---- armed; each returns an errno, or 0

// A recorder of its own, since hooks may still be in the one whose file is complete.
Recorder* make_next(const Recorder& previous) {
    Recorder* next = make_recorder();
    if (next == nullptr || create_next_file(*next, previous)) return next;
    int error = errno;
    munmap(next, sizeof *next);
    errno = error;
    return nullptr;
}

int arm_from_cold(Recorder& newest) {
    const bool was_armed = newest.pinned != nullptr;
    Recorder* recorder = &newest;
    if (was_armed) recorder = make_next(newest);
    if (recorder == nullptr || (!was_armed && !open_waiting_file(newest))) return errno;
    if (may_walk_native(recorder->stack_wish)) want_native_frames();
    prepare_ring(*recorder, recorder->ring.slots(), 0);
    reset_sampler();
    say_state(*recorder->header, ArmState::recording);
    g_process.newest.store(recorder, std::memory_order_release);
    publish_recorder(*recorder);
    g_process.phase.store(Phase::recording, std::memory_order_release);
    return 0;
}

int arm_from_standby(Recorder& recorder) {
    if (recorder.ring_slots == nullptr && !append_ring(recorder)) return errno;
    prepare_ring(recorder, recorder.ring_slots, recorder.ring.head());
    add_anchor(recorder);
    // In this order: killed in between, the file is one in standby that has no window.
    say(recorder.header->disarmed_at, 0);
    say(recorder.header->armed_from, recorder.ring.begin_storing(recorder.ring_slots));
    say_state(*recorder.header, ArmState::recording);
    return 0;
}

int arm(Recorder& newest, uint64_t now_ns) {
    const uint64_t until_ns = std::atomic_ref<uint64_t>(newest.header->arm_until_ns).load();
    if (until_ns != 0 && until_ns <= now_ns) return ETIMEDOUT;
    if (!g_may_record.load(std::memory_order_acquire)) return ENOTSUP;  // detached: nothing would be seen
    int error = 0;
    switch (state_of_process()) {
        case ArmState::recording:
            break;
        case ArmState::cold:
            error = arm_from_cold(newest);
            break;
        case ArmState::standby:
            error = arm_from_standby(newest);
            break;
    }
    if (error == 0) g_process.arming.until_ns = until_ns;
    return error;
}

// ---- disarmed

void forget_time_box(Recorder& recorder) {
    g_process.arming.until_ns = 0;
    say(recorder.header->arm_until_ns, 0);
}

int go_to_standby(Recorder& recorder) {
    const ArmState state = state_of_process();
    if (state == ArmState::standby) return 0;
    if (state == ArmState::cold || recorder.ring_place == nullptr) return ENOTSUP;
    add_anchor(recorder);
    end_window(recorder);
    say_state(*recorder.header, ArmState::standby);
    forget_time_box(recorder);
    return 0;
}

int go_cold(Recorder& recorder) {
    if (state_of_process() == ArmState::cold) return 0;
    add_anchor(recorder);
    if (recorder.ring_place != nullptr) go_to_standby(recorder);
    if (recorder.ring_place == nullptr) say(recorder.header->disarmed_at, recorder.ring.head() + 1);
    say_state(*recorder.header, ArmState::cold);
    // In this order: who finds no recorder finds the process dormant, and does not count what it misses.
    g_process.phase.store(Phase::dormant, std::memory_order_release);
    g_process.recorder.store(nullptr, std::memory_order_release);
    g_process.arming.resting = ArmState::cold;
    forget_time_box(recorder);
    return 0;
}

int rest(Recorder& recorder) {
    return g_process.arming.resting == ArmState::standby ? go_to_standby(recorder) : go_cold(recorder);
}

// The slots of a late attach are put back too. Where none were, that is all.
int detach(Recorder& recorder) {
    int error = go_cold(recorder);
    if (error != 0 || g_channel != wire::Channel::attached) return error;
    g_may_record.store(false, std::memory_order_release);
    if (!give_back_slots()) return EBUSY;  // it can be asked again
    g_channel = wire::Channel::detached;
    auto* channel = reinterpret_cast<uint32_t*>(&recorder.header->channel);
    std::atomic_ref<uint32_t>(*channel).store(static_cast<uint32_t>(wire::Channel::detached),
                                              std::memory_order_release);
    return 0;
}

// ---- requests

int act(Recorder& newest, ArmWish wish, uint64_t now_ns) {
    switch (wish) {
        case ArmWish::record:
            return arm(newest, now_ns);
        case ArmWish::cold:
            return go_cold(newest);
        case ArmWish::detach:
            return detach(newest);
        case ArmWish::standby:
            return go_to_standby(newest);
        case ArmWish::disarm:
            return rest(newest);
        case ArmWish::none:
            break;
    }
    return EINVAL;  // none, or a word that nobody knows
}

void say_answer(wire::Header& header, uint64_t request, int error) {
    const auto answer = error == 0 ? wire::ArmAnswer::done : wire::ArmAnswer::refused;
    std::atomic_ref<uint32_t>(header.arm_errno)
        .store(static_cast<uint32_t>(error), std::memory_order_release);
    say(header.arm_answer, (request & ~uint64_t{0xff}) | static_cast<uint64_t>(answer));
}

void answer(Recorder& asked, uint64_t request, int error) {
    g_process.arming.answered = request;
    Recorder& newest = *g_process.newest.load(std::memory_order_relaxed);
    if (&newest != &asked) {
        say(newest.header->arm_request, request);
        say(newest.header->arm_until_ns, g_process.arming.until_ns);
        say_answer(*newest.header, request, error);
    }
    say_answer(*asked.header, request, error);
    if (&newest != &asked)
        std::atomic_ref<uint32_t>(asked.header->superseded).store(1, std::memory_order_release);
}

// How a request was answered, or -1: not yet.
int answer_to(const wire::Header& header, uint64_t request) {
    auto& word = const_cast<uint64_t&>(header.arm_answer);
    const uint64_t answer = std::atomic_ref<uint64_t>(word).load(std::memory_order_acquire);
    if (answer >> 8 != request >> 8) return -1;
    const bool is_done = (answer & 0xff) == static_cast<uint64_t>(wire::ArmAnswer::done);
    return is_done ? 0 : static_cast<int>(header.arm_errno);
}

bool is_open(uint64_t request) {
    return request >> 8 != 0 && request >> 8 != g_process.arming.answered >> 8;
}

// A serial of 0 would be no request.
uint64_t next_request(uint64_t last, ArmWish wish) {
    constexpr uint64_t kFirst = 1 << 8;
    const uint64_t next = (last & ~uint64_t{0xff}) + kFirst;
    return (next == 0 ? kFirst : next) | static_cast<uint64_t>(wish);
}

}  // namespace

void wait_to_be_armed() {
    if (start_state() != ArmState::recording) EventScope scope(Start::if_needed);
}

uint64_t tend_arming(uint64_t now_ns) {
    Recorder* newest = g_process.newest.load(std::memory_order_acquire);
    if (newest == nullptr) return kNever_ns;
    Arming& arming = g_process.arming;
    const uint64_t request =
        std::atomic_ref<uint64_t>(newest->header->arm_request).load(std::memory_order_acquire);
    const bool is_over = arming.until_ns != 0 && now_ns >= arming.until_ns;
    if (!is_open(request) && !is_over) return arming.until_ns == 0 ? kNever_ns : arming.until_ns;
    if (!begin_asking()) return now_ns + kRetry_ns;
    if (is_over) rest(*newest);
    const int error = is_open(request) ? act(*newest, static_cast<ArmWish>(request & 0xff), now_ns) : 0;
    end_asking();
    if (is_open(request)) answer(*newest, request, error);
    return now_ns;
}

int ask_self(ArmWish wish) {
    Recorder* newest = g_process.newest.load(std::memory_order_acquire);
    if (newest == nullptr) return ENOENT;
    std::atomic_ref<uint64_t> word(newest->header->arm_request);
    // Whichever is further: another may have put any word there.
    const uint64_t asked = word.load(std::memory_order_acquire);
    const uint64_t answered = std::atomic_ref<uint64_t>(newest->header->arm_answer).load();
    const uint64_t request = next_request(asked > answered ? asked : answered, wish);
    say(newest->header->arm_until_ns, 0);
    word.store(request, std::memory_order_release);
    wake_side_thread();
    constexpr int kTries = 10'000;
    const timespec pause{0, 1'000'000};
    for (int i = 0; i < kTries; ++i) {
        const int answer = answer_to(*newest->header, request);
        if (answer >= 0) return answer;
        nanosleep(&pause, nullptr);
    }
    return ETIMEDOUT;
}

void remove_waiting_file() {
    const Recorder* newest = g_process.newest.load(std::memory_order_acquire);
    if (newest == nullptr || newest->pinned != nullptr) return;
    if (file_identity(AT_FDCWD, newest->path.c_str()) == newest->file) unlink(newest->path.c_str());
}

}  // namespace memsnap::recorder
