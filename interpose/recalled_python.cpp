// SPDX-License-Identifier: Apache-2.0
#include "recalled_python.h"

#include "code_generations.h"
#include "module_calls.h"
#include "own_memory.h"
#include "python_interpreter.h"

namespace memsnap::recorder {
namespace {

// Reads the words of frames. What a version's frames do not have is taken from a word that is compared
// anyway.
class FrameWords {
  public:
    explicit FrameWords(const PythonLayout& layout)
        : code_(layout.frame_code),
          instruction_(layout.frame_instruction),
          previous_(layout.frame_previous),
          owner_(layout.frame_owner != 0 ? layout.frame_owner : layout.frame_code),
          is_entry_(layout.frame_is_entry != 0 ? layout.frame_is_entry : layout.frame_code) {}

    RecalledFrame read(uintptr_t frame) const {
        OwnMemory memory;
        return RecalledFrame{
            frame, memory.at<uint64_t>(frame + code_), memory.at<uint64_t>(frame + instruction_),
            uint64_t{memory.at<uint8_t>(frame + owner_)} << 8 | memory.at<uint8_t>(frame + is_entry_)};
    }
    uintptr_t previous(uintptr_t frame) const { return OwnMemory{}.at<uintptr_t>(frame + previous_); }

  private:
    const uint64_t code_, instruction_, previous_, owner_, is_entry_;
};

}  // namespace

uint64_t python_key(uintptr_t innermost) {
    if (innermost == 0) return 0;
    constexpr int kShift = 20;
    const auto instruction = OwnMemory{}.at<uint64_t>(innermost + g_python.layout.frame_instruction);
    return innermost ^ instruction << kShift;
}

bool remember_python(uintptr_t innermost, const PythonStack& stack, RecalledPython& walk) {
    if (stack.has_unread_module) return false;
    const FrameWords words(g_python.layout);
    uint32_t count = 0;
    for (uintptr_t frame = innermost; frame != 0; frame = words.previous(frame)) {
        if (count == RecalledPython::kCapacity) return false;
        walk.frames[count++] = words.read(frame);
    }
    walk.count = count;
    walk.module_codes = known_module_codes();
    walk.code_deaths = code_deaths();
    walk.module_frame = reinterpret_cast<uintptr_t>(stack.outermost_module.frame);
    walk.module_caller = stack.outermost_module.caller;
    return true;
}

bool is_same_python(uintptr_t innermost, const RecalledPython& walk, ModuleCall& module) {
    if (walk.code_deaths != code_deaths() || walk.module_codes != known_module_codes()) return false;
    const FrameWords words(g_python.layout);
    uintptr_t reached = innermost;
    for (uint32_t i = 0; i < walk.count; ++i) {
        const RecalledFrame& recalled = walk.frames[i];
        if (reached != recalled.frame) return false;
        const RecalledFrame now = words.read(recalled.frame);
        const uint64_t difference = (now.code ^ recalled.code) | (now.instruction ^ recalled.instruction) |
                                    (now.marks ^ recalled.marks);
        if (difference != 0) return false;
        reached = words.previous(recalled.frame);
    }
    if (reached != 0) return false;
    if (walk.module_frame == 0) return true;
    module = module_call_at(walk.module_frame, walk.module_caller);
    return module.frame != nullptr;
}

}  // namespace memsnap::recorder
