// SPDX-License-Identifier: Apache-2.0
//
// The native frames of the calling thread, by rules learnt from libunwind (frame_rules.h), or by its cached
// trace on processors without them. The rules: libunwind is loaded by the side thread and by it alone; a hook
// only calls it when it is ready, and on its way to a frame that is new it asks the dynamic linker by
// dl_iterate_phdr and nothing else (elf_lookup.h tells why that may be done under an allocator's lock, and in
// a constructor that a dlopen runs); a thread forks only while no other one is in it.
#pragma once

#include <cstdint>

#include "asking.h"
#include "frame_rules.h"
#include "process.h"
#include "python_frames.h"

namespace memsnap::recorder {

struct NativeStack {
    uint32_t count = 0;
    bool cut = false;                // there were more than asked for
    uint64_t addresses[kMaxFrames];  // return addresses, innermost first, without the recorder's own
};

// Whether any birth is to have native frames.
inline bool may_walk_native(wire::StackWish wish) {
    return wish != wire::StackWish::off && wish != wire::StackWish::python;
}

// Before the side thread starts: it is to load libunwind.
void want_native_frames();
// Side thread: loads it, once a process, in steps, since a fork waits for each a bounded time.
void prepare_native_frames();
wire::NativeStacks native_stacks();
// Writes that into the header of a recording.
void say_native_stacks(Recorder& recorder);

// The time in which a thread is inside libunwind. The mark first, then the look: a thread that forks
// announces that first and looks at the marks then.
class UnwindingScope {
  public:
    explicit UnwindingScope(ThreadState& state) : state_(state) {
        state.unwinding.store(1, std::memory_order_seq_cst);
        may_ = !is_forking();
    }
    ~UnwindingScope() { state_.unwinding.store(0, std::memory_order_release); }
    UnwindingScope(const UnwindingScope&) = delete;
    UnwindingScope& operator=(const UnwindingScope&) = delete;

    bool may() const { return may_; }

  private:
    ThreadState& state_;
    bool may_;
};

// Walks from the frame of the calling function, which begins at `frame`. Empty while libunwind is not ready.
// `read` is whole when the walk can be recalled.
void walk_native(ThreadState& state, const uint64_t* frame, uint32_t depth, NativeStack& stack,
                 WordsRead& read);

// Of a thread that is about to fork, after it has announced that (asking.h): waits a bounded time until no
// other thread is being unwound.
void wait_for_unwinding();

}  // namespace memsnap::recorder
