// SPDX-License-Identifier: Apache-2.0
#include "native_frames.h"

#include <dlfcn.h>
#include <time.h>

#include "elf_lookup.h"
#include "loaded_objects.h"

extern "C" __attribute__((visibility("hidden"))) const char __ehdr_start[];
extern "C" __attribute__((visibility("hidden"))) const char _end[];

namespace memsnap::recorder {
namespace {

using Backtrace = int(void** addresses, int capacity);
constexpr uint32_t kOwnFrames = 6;  // at most so many of ours lie on top

// Where libunwind lies: true in forked children too.
std::atomic<Backtrace*> g_backtrace{nullptr};
std::atomic<wire::NativeStacks> g_state{wire::NativeStacks::none};
std::atomic<bool> g_wanted{false};
bool g_has_rules = false;  // published with g_backtrace

// What the side thread has done of it. A child that was forked meanwhile has a side thread that goes on.
enum class Step : uint8_t {
    find,
    load,
    warm_up,
    done
};
struct Preparation {
    Step step;
    void* (*open_library)(const char* name, int flags);
    void* (*symbol)(void* library, const char* name);
    Backtrace* backtrace;
};
Preparation g_preparation{};

Step next_step(Preparation& preparation) {
    switch (preparation.step) {
        case Step::find:
            preparation.open_library = reinterpret_cast<void* (*)(const char*, int)>(find_symbol("dlopen"));
            preparation.symbol = reinterpret_cast<void* (*)(void*, const char*)>(find_symbol("dlsym"));
            return preparation.open_library == nullptr || preparation.symbol == nullptr ? Step::done
                                                                                        : Step::load;
        case Step::load: {
            void* library = preparation.open_library("libunwind.so.8", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
            if (library == nullptr) return Step::done;
            preparation.backtrace =
                reinterpret_cast<Backtrace*>(preparation.symbol(library, "unw_backtrace"));
            g_has_rules = prepare_frame_rules(library, preparation.symbol);
            return preparation.backtrace == nullptr ? Step::done : Step::warm_up;
        }
        case Step::warm_up: {
            // What it does once, it does here.
            void* address = nullptr;
            if (g_has_rules) warm_up_frame_rules();
            if (!g_has_rules) preparation.backtrace(&address, 1);
            return Step::done;
        }
        case Step::done:
            break;
    }
    return Step::done;
}

bool is_own(const void* address) {
    auto value = reinterpret_cast<uintptr_t>(address);
    return value >= reinterpret_cast<uintptr_t>(&__ehdr_start) && value < reinterpret_cast<uintptr_t>(&_end);
}

// Where there are no rules: what a thread learnt of frames stays with libunwind as long as the thread lives.
bool knows_untruth(ThreadState& state) {
    uint32_t epoch = walk_epoch() + 1;
    if (state.walk_epoch == 0) state.walk_epoch = epoch;
    return state.walk_epoch != epoch;
}

}  // namespace

void want_native_frames() {
    g_wanted.store(true, std::memory_order_release);
}

void prepare_native_frames() {
    if (!g_wanted.load(std::memory_order_acquire)) return;
    while (g_preparation.step != Step::done) {
        if (!begin_asking()) return;
        g_preparation.step = next_step(g_preparation);
        end_asking();
        if (g_preparation.step != Step::done) continue;
        g_backtrace.store(g_preparation.backtrace, std::memory_order_release);
        g_state.store(
            g_preparation.backtrace == nullptr ? wire::NativeStacks::missing : wire::NativeStacks::walking,
            std::memory_order_release);
    }
}

wire::NativeStacks native_stacks() {
    return g_state.load(std::memory_order_acquire);
}

void say_native_stacks(Recorder& recorder) {
    constexpr uint32_t kByte = 2;
    if (!may_walk_native(recorder.stack_wish)) return;
    auto* bytes = reinterpret_cast<uint8_t*>(&recorder.header->stacks);
    std::atomic_ref<uint8_t>(bytes[kByte])
        .store(static_cast<uint8_t>(native_stacks()), std::memory_order_relaxed);
}

void walk_native(ThreadState& state, const uint64_t* frame, uint32_t depth, NativeStack& stack,
                 WordsRead& read) {
    stack.count = 0;
    stack.cut = false;
    read.begin(0);
    Backtrace* backtrace = g_backtrace.load(std::memory_order_acquire);
    if (backtrace == nullptr) return;
    const int wanted = static_cast<int>(depth + kOwnFrames + 1);
    void* addresses[kMaxFrames + kOwnFrames + 1];
    Walked walked{0, false};
    if (g_has_rules) {
        walked = walk_by_rules(state, frame, addresses, wanted, read);
    } else {
        UnwindingScope scope(state);
        if (scope.may() && !knows_untruth(state)) walked.count = backtrace(addresses, wanted);
    }
    const int found = walked.count;
    int first = 0;
    while (first < found && is_own(addresses[first])) {
        ++first;
    }
    for (; first < found && stack.count < depth; ++first) {
        stack.addresses[stack.count++] = reinterpret_cast<uint64_t>(addresses[first]);
    }
    stack.cut = first < found || walked.is_broken;
}

void wait_for_unwinding() {
    constexpr int kTries = 1000;
    constexpr long kPause_ns = 1'000'000;
    Recorder* recorder = current_recorder();
    if (recorder == nullptr || native_stacks() != wire::NativeStacks::walking) return;
    const ThreadState* own = nullptr;
    if ((t_thread_word >> 32) == recorder->generation)
        own = thread_state(*recorder, static_cast<uint16_t>(t_thread_word >> 16));
    const uint32_t count = std::atomic_ref<uint32_t>(recorder->header->thread_count).load();
    int tries = 0;
    for (uint32_t i = 1; i < count && i < kThreadCapacity; ++i) {
        ThreadState& state = recorder->thread_states[i];
        const timespec pause{0, kPause_ns};
        while (&state != own && state.unwinding.load(std::memory_order_seq_cst) != 0 && ++tries < kTries) {
            nanosleep(&pause, nullptr);
        }
        // One that left by a jump out of a signal handler: nobody waits for it again.
        if (&state != own && tries >= kTries) state.unwinding.store(0, std::memory_order_relaxed);
    }
}

}  // namespace memsnap::recorder
