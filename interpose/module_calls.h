// SPDX-License-Identifier: Apache-2.0
//
// Which of the walked frames are calls of an nn.Module. The rule: a frame is told by its code object, which
// is learnt by its name and file when its text is first read; until then nothing is compared.
#pragma once

#include "python_frames.h"
#include "python_walk.h"

namespace memsnap::recorder {

// Learns whether this code object is one that calls modules. Texts as the sidecar gets them, not ended.
void learn_module_code(const void* code, const char* file_name, size_t file_name_bytes, const char* name,
                       size_t name_bytes);

bool is_any_module_code_known();

// Sees the frames of one walk from the innermost outwards.
class OutermostModule {
  public:
    OutermostModule();
    bool is_looking() const { return count_ != 0; }
    void see(const PythonLayout& layout, WalkedFrame walked) {
        if (wants_caller_) {
            caller_code_ = walked.code;
            caller_instruction_ = walked.instruction;
            wants_caller_ = false;
        }
        for (uint32_t i = 0; i < count_; ++i) {
            if (walked.code == codes_[i]) [[unlikely]]
                take(layout, walked.frame);
        }
    }
    ModuleCall get() const;

  private:
    static constexpr uint32_t kCapacity = 8;

    void take(const PythonLayout& layout, uintptr_t frame);

    uintptr_t codes_[kCapacity];
    uint32_t count_ = 0;
    uint32_t caller_instruction_ = 0;
    uintptr_t caller_code_ = 0;  // 0: called by no Python code
    uintptr_t frame_ = 0;
    uintptr_t module_ = 0;
    bool wants_caller_ = false;
};

}  // namespace memsnap::recorder
