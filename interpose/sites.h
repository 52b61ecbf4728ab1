// SPDX-License-Identifier: Apache-2.0
//
// Birth sites: the stack of the calling thread as a token of 64 bits, whose frames go into the sidecar when
// it is first seen. The rules: no lock, no allocation and no system call on a site that was seen before; a
// token never stands for two stacks.
#pragma once

#include "process.h"
#include "python_frames.h"

namespace memsnap::recorder {

enum class SiteOf : uint8_t {
    block,         // of PyTorch's allocator: native frames only where there is no Python frame
    foreign_call,  // of another library: native frames too
};

// The token of the calling thread's stack, 0 for none (counted when stacks are wanted). `module` is the
// outermost module call seen on the way.
uint64_t site_of_birth(Recorder& recorder, SiteOf what, ModuleCall& module);

}  // namespace memsnap::recorder
