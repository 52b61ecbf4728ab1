// SPDX-License-Identifier: Apache-2.0
//
// The walk over Python frames as plain C functions, for interpreters that load this with ctypes: through CDLL
// without the GIL, as the recorder's hooks run, and through PyDLL with it.
#include <time.h>

#include <algorithm>
#include <atomic>
#include <iterator>
#include <ranges>
#include <span>
#include <thread>
#include <vector>

#include "code_generations.h"
#include "python_check.h"
#include "python_frames.h"
#include "python_interpreter.h"
#include "recalled_python.h"

namespace recorder = memsnap::recorder;

namespace {

constexpr uint32_t kWordsPerFrame = 3;
std::atomic<uint32_t> g_main_waits{0};

uint64_t word(const void* pointer) {
    return reinterpret_cast<uint64_t>(pointer);
}

// ---- each walk is one that could have been recalled

struct Remembered {
    bool is_valid = false;
    uint32_t depth = 0;
    recorder::RecalledPython walk;
    recorder::PythonStack stack;
};
constexpr unsigned kRememberedBits = 6;
thread_local std::vector<Remembered> t_remembered;
std::atomic<uint32_t> g_recalled_count{0};
std::atomic<uint32_t> g_untrue_count{0};

bool is_same_frame(const recorder::PythonFrame& one, const recorder::PythonFrame& other) {
    return one.code == other.code && one.instruction == other.instruction &&
           one.generation == other.generation;
}

bool is_same_module(const recorder::ModuleCall& one, const recorder::ModuleCall& other) {
    return one.frame == other.frame && one.module == other.module && one.activation == other.activation &&
           is_same_frame(one.caller, other.caller);
}

bool is_same_stack(const recorder::PythonStack& one, const recorder::PythonStack& other) {
    return one.cut == other.cut && std::ranges::equal(std::span(one.frames, one.count),
                                                      std::span(other.frames, other.count), is_same_frame);
}

// Whether what is recalled is what was walked just now.
void check_recall(uint32_t depth, uintptr_t innermost, const recorder::PythonStack& stack) {
    constexpr uint64_t kGolden = 0x9e3779b97f4a7c15;
    const uint64_t key = recorder::python_key(innermost);
    t_remembered.resize(1 << kRememberedBits);
    Remembered& remembered = t_remembered[(key ^ key >> 32) * kGolden >> (64 - kRememberedBits)];
    recorder::ModuleCall module{};
    if (remembered.is_valid && remembered.depth == depth &&
        recorder::is_same_python(innermost, remembered.walk, module)) {
        g_recalled_count.fetch_add(1);
        if (!is_same_stack(stack, remembered.stack) || !is_same_module(stack.outermost_module, module))
            g_untrue_count.fetch_add(1);
        return;
    }
    remembered.is_valid = recorder::remember_python(innermost, stack, remembered.walk);
    remembered.depth = depth;
    remembered.stack = stack;
}

void walk_and_check(uint32_t depth, recorder::PythonStack& stack) {
    const uintptr_t innermost = recorder::innermost_python_frame();
    recorder::walk_python_from(innermost, depth, stack);
    check_recall(depth, innermost, stack);
}

uint32_t walk(uint32_t depth, uint64_t* words) {
    recorder::PythonStack stack;
    walk_and_check(depth, stack);
    for (uint32_t i = 0; i < stack.count; ++i) {
        words[i * kWordsPerFrame] = word(stack.frames[i].code);
        words[i * kWordsPerFrame + 1] = stack.frames[i].instruction;
        words[i * kWordsPerFrame + 2] = stack.frames[i].generation;
    }
    return stack.count | (stack.cut ? 1u << 31 : 0);
}

uint64_t monotonic_ns() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

// The offsets by number, as python_offsets.c tells them; those up to kNoticedFields are noticed by the
// comparison when they are wrong.
constexpr uint32_t kNoticedFields = 14;
uint16_t* layout_field(recorder::PythonLayout& layout, uint32_t index) {
    uint16_t* fields[] = {&layout.thread_frame,      &layout.frame_code,       &layout.frame_previous,
                          &layout.frame_instruction, &layout.code_file_name,   &layout.code_name,
                          &layout.code_first_line,   &layout.code_line_table,  &layout.text_length,
                          &layout.text_state,        &layout.ascii_characters, &layout.other_characters,
                          &layout.code_instructions, &layout.cframe_frame,     &layout.frame_locals,
                          &layout.frame_owner,       &layout.frame_is_entry,   &layout.code_first_traceable};
    return index < std::size(fields) ? fields[index] : nullptr;
}

bool find_own_layout(recorder::PythonApi& api, recorder::PythonLayout& layout) {
    if (recorder::find_python_api(api) != recorder::ApiSearch::found) return false;
    uint32_t version = recorder::parse_python_version(api.version());
    return recorder::find_python_layout(version, api.runtime, layout) == recorder::LayoutSearch::found;
}

}  // namespace

extern "C" {

void probe_look() {
    recorder::look_for_python();
}
void probe_look_at_start() {
    recorder::look_for_python_at_start();
}

// Keeps the main thread outside the interpreter until another one lets it go.
void probe_wait_in_main() {
    g_main_waits.store(1);
    g_main_waits.wait(1);
}
uint32_t probe_is_main_waiting() {
    return g_main_waits.load();
}
void probe_let_main_go() {
    g_main_waits.store(0);
    g_main_waits.notify_all();
}

uint32_t probe_state() {
    return static_cast<uint32_t>(recorder::python_stacks());
}
uint32_t probe_version() {
    return recorder::python_version();
}

uint32_t probe_recalled_count() {
    return g_recalled_count.load();
}
uint32_t probe_untrue_count() {
    return g_untrue_count.load();
}

// Three words a frame; the highest bit of the count: there were more.
uint32_t probe_walk(uint32_t depth, uint64_t* words) {
    return walk(depth, words);
}
uint32_t probe_walk_on_foreign_thread(uint32_t depth, uint64_t* words) {
    uint32_t count = 0;
    std::thread thread([&] { count = walk(depth, words); });
    thread.join();
    return count;
}

uint64_t probe_describe(uint64_t code, unsigned char* payload, uint64_t capacity) {
    return recorder::describe_code(reinterpret_cast<const void*>(code), payload, capacity);
}

// frame, module, code, instruction and generation of the caller, activation.
void probe_module(uint64_t* words) {
    recorder::ModuleCall call = recorder::outermost_module_call();
    recorder::PythonStack stack;
    walk_and_check(recorder::kMaxFrames, stack);
    uint64_t found[] = {word(call.frame),        word(call.module),      word(call.caller.code),
                        call.caller.instruction, call.caller.generation, call.activation};
    std::copy(std::begin(found), std::end(found), words);
}
uint64_t probe_class_name(uint64_t module, char* name, uint64_t capacity) {
    return recorder::class_name_of(reinterpret_cast<const void*>(module), name, capacity);
}

// Returns how many there are.
uint32_t probe_layout(uint16_t* offsets) {
    recorder::PythonApi api;
    recorder::PythonLayout layout{};
    if (!find_own_layout(api, layout)) return 0;
    uint32_t count = 0;
    while (const uint16_t* field = layout_field(layout, count)) {
        offsets[count++] = *field;
    }
    return count;
}
// With the GIL: the outcome of the comparison when one offset is wrong by `change`; -1: no such field.
int probe_compare(uint32_t field, int32_t change) {
    recorder::PythonApi api;
    recorder::PythonLayout layout{};
    if (field >= kNoticedFields || !find_own_layout(api, layout)) return -1;
    uint16_t* offset = layout_field(layout, field);
    *offset = static_cast<uint16_t>(*offset + change);
    return static_cast<int>(recorder::compare_with_interpreter(api, layout));
}

// Nanoseconds for all of them.
uint64_t probe_time_walks(uint32_t depth, uint32_t count) {
    recorder::PythonStack stack;
    uint64_t begin = monotonic_ns();
    for (uint32_t i = 0; i < count; ++i) {
        recorder::walk_python(depth, stack);
    }
    return monotonic_ns() - begin;
}
uint64_t probe_time_module_walks(uint32_t count) {
    uint64_t begin = monotonic_ns();
    for (uint32_t i = 0; i < count; ++i) {
        recorder::ModuleCall call = recorder::outermost_module_call();
        asm volatile("" : : "r"(call.frame));
    }
    return monotonic_ns() - begin;
}
}
