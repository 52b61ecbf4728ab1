// SPDX-License-Identifier: Apache-2.0
#include "python_interpreter.h"

#include "code_generations.h"
#include "python_check.h"
#include "python_frames.h"
#include "settings.h"

namespace memsnap::recorder {
namespace {

using wire::PythonStacks;

// Asked once a second: an interpreter in which there is never anything to compare is given up.
constexpr uint32_t kMostComparisons = 1000;
std::atomic<uint32_t> g_comparison_count{0};

// Read once, by a thread of the program: on ours the environment may change while it is read.
bool are_python_frames_wanted() {
    static std::atomic<wire::StackWish> g_wish{};
    static std::atomic<bool> g_known{false};
    if (!g_known.load(std::memory_order_acquire)) {
        g_wish.store(recording_disabled() ? wire::StackWish::off : stack_wish(), std::memory_order_relaxed);
        g_known.store(true, std::memory_order_release);
    }
    wire::StackWish wish = g_wish.load(std::memory_order_relaxed);
    return wish != wire::StackWish::off && wish != wire::StackWish::native;
}

void settle(PythonStacks state) {
    g_python.state.store(state);
    if (Recorder* recorder = current_recorder()) show_python(*recorder);
}

// With the GIL. False: there was nothing to compare.
bool compare_now() {
    switch (compare_with_interpreter(g_python.api, g_python.layout)) {
        case Agreement::agrees:
            watch_code_objects(reinterpret_cast<uintptr_t>(g_python.api.code_type));
            settle(PythonStacks::walking);
            return true;
        case Agreement::differs:
            settle(PythonStacks::unknown);
            return true;
        case Agreement::not_now:
            break;
    }
    return false;
}

// Runs in the interpreter's main thread. A child of fork may run it too, with its parent's queue.
int compare_when_called(void*) {
    if (g_python.state.load() != PythonStacks::waiting || compare_now()) return 0;
    if (g_comparison_count.fetch_add(1) + 1 >= kMostComparisons) settle(PythonStacks::unknown);
    g_process.python_asked.store(false);
    return 0;
}

bool is_interpreter_alive() {
    return g_python.api.is_initialized() != 0 && g_python.api.is_finalizing() == 0;
}

void ask_interpreter() {
    const PythonApi& api = g_python.api;
    if (!is_interpreter_alive() || g_process.python_asked.exchange(true)) return;
    if (api.add_pending_call(compare_when_called, nullptr) != 0) g_process.python_asked.store(false);
}

PythonStacks find_interpreter() {
    const ApiSearch search = find_python_api(g_python.api);
    if (search == ApiSearch::absent) return PythonStacks::none;
    const char* text = g_python.api.version();
    uint32_t version = parse_python_version(text);
    g_python.version.store(version);
    if (is_free_threaded(text)) return PythonStacks::threaded;
    if (search == ApiSearch::incomplete) return PythonStacks::unknown;
    switch (find_python_layout(version, g_python.api.runtime, g_python.layout)) {
        case LayoutSearch::found:
            return PythonStacks::waiting;
        case LayoutSearch::threaded:
            return PythonStacks::threaded;
        case LayoutSearch::unknown:
            break;
    }
    return PythonStacks::unknown;
}

bool holds_gil() {
    void* thread_state = g_python.api.own_thread_state();
    return thread_state != nullptr && thread_state == g_python.api.unchecked_thread_state();
}

enum class May : uint8_t {
    find,
    ask,
    compare
};

// In the middle of a call, where no code of the program may run: so not where a collection might start.
bool may_compare_here() {
    return g_python.api.disable_collection != nullptr && is_interpreter_alive() && holds_gil();
}

void look(May may) {
    PythonStacks state = g_python.state.load(std::memory_order_acquire);
    if (state != PythonStacks::none && state != PythonStacks::waiting) return;
    if (g_process.looking_at_python.exchange(true)) return;
    if (state == PythonStacks::none && are_python_frames_wanted()) {
        state = find_interpreter();
        if (state != PythonStacks::none) settle(state);
    }
    if (state == PythonStacks::waiting && may != May::find) {
        bool here = may == May::compare && may_compare_here();
        if (!here || !compare_now()) ask_interpreter();
    }
    g_process.looking_at_python.store(false);
}

}  // namespace

constinit PythonInterpreter g_python{};

void find_python() {
    look(May::find);
}

void look_for_python() {
    look(May::ask);
}

void look_for_python_at_start() {
    look(May::compare);
}

PythonStacks python_stacks() {
    return g_python.state.load(std::memory_order_relaxed);
}

uint32_t python_version() {
    return g_python.version.load(std::memory_order_relaxed);
}

// Whoever changes the state and whoever makes the recording both come here; the last one to write has seen
// the other's.
void show_python(Recorder& recorder) {
    constexpr uint32_t kPythonByte = 1;
    auto* bytes = reinterpret_cast<uint8_t*>(&recorder.header->stacks);
    PythonStacks shown;
    do {
        shown = g_python.state.load();
        std::atomic_ref<uint8_t>(bytes[kPythonByte]).store(static_cast<uint8_t>(shown));
    } while (shown != g_python.state.load());
    std::atomic_ref<uint32_t>(recorder.header->python_version).store(python_version());
    if (shown == PythonStacks::unknown) note_trouble(recorder, wire::Trouble::layout_unknown, 0);
}

}  // namespace memsnap::recorder
