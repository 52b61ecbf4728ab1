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

// How many were learnt, those among them that took another's place.
uint32_t known_module_codes();
// The call whose frame that is; none where the module cannot be read.
ModuleCall module_call_at(uintptr_t frame, const PythonFrame& caller);

// Sees the frames of one walk from the innermost outwards.
class OutermostModule {
  public:
    OutermostModule();
    bool is_looking() const { return count_ != 0; }
    void see(WalkedFrame walked) {
        if (wants_caller_) {
            caller_code_ = walked.code;
            caller_instruction_ = walked.instruction;
            wants_caller_ = false;
        }
        for (uint32_t i = 0; i < count_; ++i) {
            if (walked.code == codes_[i]) [[unlikely]]
                take(walked.frame);
        }
    }
    ModuleCall get() const;
    // A module was called whose object could not be read.
    bool has_unread() const { return has_unread_; }

  private:
    static constexpr uint32_t kCapacity = 8;

    void take(uintptr_t frame);

    uintptr_t codes_[kCapacity];
    uint32_t count_ = 0;
    uint32_t caller_instruction_ = 0;
    uintptr_t caller_code_ = 0;  // 0: called by no Python code
    uintptr_t frame_ = 0;
    bool wants_caller_ = false;
    bool has_unread_ = false;
};

}  // namespace memsnap::recorder
