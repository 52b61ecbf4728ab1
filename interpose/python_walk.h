// SPDX-License-Identifier: Apache-2.0
//
// The frames of a Python thread, from the innermost outwards, by offsets alone. The rules: what the
// interpreter itself would not show as a frame is left out; the length is bounded, so that no damage to the
// chain can hold the job.
#pragma once

#include "own_memory.h"
#include "python_layout.h"

namespace memsnap::recorder {

inline constexpr uint32_t kLongestChain = 1024;

struct WalkedFrame {
    uintptr_t frame;
    uintptr_t code;
    uint32_t instruction;  // offset in bytes of the last one; 0 before the first
};

// The low bits of a reference are the interpreter's own.
inline uintptr_t without_tag(uintptr_t reference) {
    return reference & ~uintptr_t{7};
}

// One walk's place in the chain.
template <typename Memory>
class FrameReader {
  public:
    FrameReader(const PythonLayout& layout, Memory& memory) : layout_(layout), memory_(memory) {}

    // False: the interpreter does not count it as a frame (yet).
    bool read(uintptr_t frame, WalkedFrame& walked) {
        uint8_t owner = layout_.frame_owner == 0 ? 0 : at<uint8_t>(frame + layout_.frame_owner);
        if (owner >= kOwnedByInterpreter) {
            below_c_ = true;
            return false;
        }
        uintptr_t code = without_tag(at<uintptr_t>(frame + layout_.frame_code));
        if (layout_.counts_instructions) {
            auto last = at<int32_t>(frame + layout_.frame_instruction);
            uint32_t offset = last < 0 ? 0 : static_cast<uint32_t>(last) * layout_.instruction_unit_bytes;
            walked = WalkedFrame{frame, code, offset};
            return true;
        }
        auto instruction = at<uintptr_t>(frame + layout_.frame_instruction);
        uintptr_t first = code + layout_.code_instructions;
        uint32_t offset = instruction < first ? 0 : static_cast<uint32_t>(instruction - first);
        walked = WalkedFrame{frame, code, offset};
        bool complete = !below_c_ || owner == kOwnedByGenerator || is_complete(code, instruction, first);
        below_c_ = layout_.frame_is_entry != 0 && at<uint8_t>(frame + layout_.frame_is_entry) != 0;
        return complete;
    }

  private:
    template <typename T>
    T at(uintptr_t address) {
        return memory_.template at<T>(address);
    }

    // Only where C code, such as the collector, runs on top of it can a frame be in the making. The code
    // object is not looked into for the others.
    bool is_complete(uintptr_t code, uintptr_t instruction, uintptr_t first) {
        auto traceable = at<int32_t>(code + layout_.code_first_traceable);
        return instruction >= first + static_cast<uintptr_t>(traceable) * layout_.instruction_unit_bytes;
    }

    const PythonLayout& layout_;
    Memory& memory_;
    bool below_c_ = true;
};

// 0: the thread is not in Python code.
template <typename Memory>
uintptr_t innermost_frame(const PythonLayout& layout, Memory& memory, uintptr_t thread_state) {
    auto frame = memory.template at<uintptr_t>(thread_state + layout.thread_frame);
    if (!layout.has_cframe || frame == 0) return frame;
    return memory.template at<uintptr_t>(frame + layout.cframe_frame);
}

// Calls visit(WalkedFrame) for each frame from that one outwards until it returns false. Whether it came to
// the outermost one.
template <typename Memory, typename Visit>
bool for_each_frame(const PythonLayout& layout, Memory& memory, uintptr_t frame, Visit visit) {
    FrameReader<Memory> reader(layout, memory);
    for (uint32_t i = 0; frame != 0 && i < kLongestChain; ++i) {
        WalkedFrame walked;
        if (reader.read(frame, walked) && !visit(walked)) return false;
        frame = memory.template at<uintptr_t>(frame + layout.frame_previous);
    }
    return frame == 0;
}

}  // namespace memsnap::recorder
