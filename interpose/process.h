// SPDX-License-Identifier: Apache-2.0
//
// The recorder's state in one process. The rule: everything that belongs to one process lies in a region that
// the kernel zeroes in every child, whichever way it was forked. So the first word a hook looks at, "is there
// a recorder here", is null in a child, which then starts its own file at its first event other than a free
// and can never write to its parent's.
#pragma once

#include <atomic>
#include <cstdint>

#include "boundary_state.h"
#include "contexts.h"
#include "early_marks.h"
#include "glibc_compat.h"
#include "live_table.h"
#include "local_names.h"
#include "operation.h"
#include "ring_layout.h"
#include "ring_writer.h"
#include "settings.h"
#include "text.h"
#include "wire.h"
#include "wire_names.h"

namespace memsnap::recorder {

// What is remembered about one device between events. `lock` is only ever tried, a bounded number of times.
struct DeviceState {
    std::atomic<uint32_t> lock;
    std::atomic<uint64_t> allocated_bytes;  // as last reported
    std::atomic<uint64_t> reserved_bytes;
    std::atomic<uint64_t> peak_allocated_bytes;
    std::atomic<uint64_t> peak_reserved_bytes;
    int64_t peak_outside_bytes;
    std::atomic<bool> has_reported;
    std::atomic<bool> has_calls;  // a recorded call acted on it
    bool has_observation;
    bool has_boundary;
    std::atomic<uint64_t> block_births;
};

// A dimension that was noted: its name id, claimed by compare and swap, and a word made of id and value.
struct NotedDimension {
    std::atomic<uint32_t> name;
    std::atomic<uint32_t> word;
};
inline constexpr uint32_t kDimensionCapacity = 16;

// How often NVTX ranges come, since `window_begin` block births.
struct NvtxLoad {
    std::atomic<uint32_t> name_count;  // different names so far
    std::atomic<uint32_t> range_count;
    std::atomic<uint64_t> window_begin;
    std::atomic<bool> flooded;
};

struct Interned;
struct ObjectMap;

struct Recorder {
    wire::Header* header;
    RingWriter ring;
    LiveTable table;
    OwnContexts contexts;
    wire::PinnedDevice* pinned;
    uint8_t* keyframes;
    wire::Thread* threads;
    wire::Library* libraries;
    wire::Anchor* anchors;
    wire::NamesHeader* names;  // null: no sidecar
    uint64_t names_bytes;      // of the sidecar
    Interned* interned;        // null: stacks are not wanted, or there was no memory
    ObjectMap* objects;        // null: nobody is told of loaded objects
    wire::StackWish stack_wish;
    uint32_t stack_depth;
    ThreadState* thread_states;
    uint32_t generation;  // differs from that of every ancestor process
    bool caching_disabled;
    DeviceState devices[wire::kDeviceCapacity];

    std::atomic<uint64_t> calls;  // made by the program, see quiet.h
    std::atomic<uint64_t> anchor_count;
    std::atomic<uint32_t> late_keyframe_count;
    std::atomic<uint64_t> last_keyframe_ns;
    std::atomic<uint32_t> keyframe_busy[wire::kKeyframeSlots];
    uint64_t prepared_until;   // the side thread touched the places of the tickets before
    void* ring_place;          // of a file made in standby: addresses kept for its ring
    wire::Record* ring_slots;  // the ring there, once it was armed
    bool torch_version_noted;
    Path path;  // absolute
    FileIdentity file;

    std::atomic<uint32_t> reported_devices;  // a bit a device that has reported blocks
    std::atomic<uint64_t> labelling;  // threads with a labelling range open << 32 | the sum of their indices
    std::atomic<uint32_t> steps_ended;
    std::atomic<bool> last_step_implied;
    std::atomic<uint64_t> last_step;        // ticket of the last step's record, plus 1
    std::atomic<uint32_t> dimension_words;  // of what is noted, see dimensions.h
    NotedDimension dimensions[kDimensionCapacity];
    NvtxLoad nvtx;
    std::atomic<bool> sample_asked;        // a boundary wants a sample
    std::atomic<uint64_t> last_sample_ns;  // when the last one was taken or asked for
    LocalNames local_names;
    BoundaryState boundaries;
};

enum class Phase : uint32_t {
    fresh,     // no event yet in this process
    creating,  // one thread makes the file
    recording,
    dormant,  // there is a file that waits to be armed; what happens is not looked at
    off,      // switched off, or the file could not be made
};

// What the side thread knows of being armed and disarmed. Written by the program's thread that made the
// first file, and by the side thread alone from then on.
struct Arming {
    Settings settings;       // as they were then: later the environment may change while it is read
    Path wanted_path;        // absolute, without a number
    wire::ArmState resting;  // what it goes back to
    uint64_t until_ns;       // 0: no end
    uint64_t answered;       // the request that was answered last
};

// Zeroed in every child of fork.
struct Process {
    std::atomic<Recorder*> recorder;  // first: not null only when this process records
    std::atomic<Phase> phase;
    std::atomic<uint64_t> lost_count;  // events nobody could write
    std::atomic<uint32_t> side_thread_started;
    std::atomic<uint32_t> side_thread_tid;
    std::atomic<uint32_t> side_thread_wake;  // a futex: changed whenever the side thread has something to do
    std::atomic<uint32_t> notice_state;      // see notice.h
    std::atomic<uint32_t> exiting;
    std::atomic<uint32_t> scanning;          // a thread looks for blind spots
    std::atomic<uint32_t> asking;            // see asking.h
    std::atomic<bool> looking_at_python;     // a thread looks for the interpreter
    std::atomic<bool> python_asked;          // the comparison waits in the interpreter's queue
    int create_error;                        // errno of the failed creation
    wire::Trouble create_trouble;            // what kind of failure it was
    bool moved_to_tmpdir;                    // the chosen file system is unsuitable
    std::atomic<bool> has_trouble;           // something in the header is worth the one line on stderr
    std::atomic<const char*> cupti_trouble;  // what keeps the cross-check from running or being whole
    bool cupti_tried;                        // this and the next: the side thread's own
    uint64_t cupti_tended_ns;
    std::atomic<bool> steps_told;  // by the program itself, see steps.h
    std::atomic<wire::TapState> tap_state;
    bool started_late;              // written before the first event: it may have taken memory before
    std::atomic<Recorder*> newest;  // whose file is the newest, recording or not
    Arming arming;
    EarlyMarks early_marks;
    Recorder storage;
    Path chosen_path;  // the path that could not be used
};

extern Process& g_process;

// Makes the region that forked children see zeroed. Without it (a kernel before 4.14) nothing is recorded.
void prepare_process_region();

// The recorder of this process, started by its first event; null when there is none.
Recorder* start_recorder();
// Lets everybody see it.
void publish_recorder(Recorder& recorder);
// A recorder of its own memory, which forked children do not inherit; null: there is none to be had.
Recorder* make_recorder();

// False in a process that this library was loaded into later, and that is not attached, and in its forked
// children.
extern std::atomic<bool> g_may_record;
// How the recorder came in; a forked child has it as its parent did, as it has the slots.
extern std::atomic<wire::Channel> g_channel;

// Whether the first event may start one: a process that is dormant or switched off looks no further.
inline bool may_start_recorder() {
    return g_process.phase.load(std::memory_order_relaxed) < Phase::dormant &&
           g_may_record.load(std::memory_order_relaxed);
}

inline Recorder* current_recorder() {
    return g_process.recorder.load(std::memory_order_acquire);
}

// The first trouble is kept in the header and said once.
void note_trouble(Recorder& recorder, wire::Trouble trouble, uint32_t error);

// ---- the calling thread

// generation << 32 | thread index << 16 | busy. A word of another generation was written by the parent
// process.
extern __thread uint64_t t_thread_word __attribute__((tls_model("initial-exec"), visibility("hidden")));
inline constexpr uint64_t kBusyBit = 1;

uint16_t list_thread(Recorder& recorder);

inline uint16_t thread_index(Recorder& recorder) {
    uint64_t word = t_thread_word;
    if ((word >> 32) == recorder.generation) [[likely]]
        return static_cast<uint16_t>(word >> 16);
    return list_thread(recorder);
}

// Null for a thread that found the thread table full.
inline ThreadState* thread_state(Recorder& recorder, uint16_t thread) {
    return thread == 0 ? nullptr : &recorder.thread_states[thread];
}

// Whether an event may be the first of its process. A free may not: a process that has allocated nothing
// itself, such as a forked worker that gives up tensors it inherited, has nothing that explains a failure.
enum class Start : uint8_t {
    never,
    if_needed
};

// The time in which our own code runs on a thread. An event that our own code causes on the way (a signal
// handler's, or one of a library we look at) is counted and not recorded. Never held across a call to an
// original: an exception or a forced unwind through it must not leave the thread busy.
class EventScope {
  public:
    explicit EventScope(Start start) {
        if ((t_thread_word & kBusyBit) != 0) [[unlikely]] {
            count_reentry();
            return;
        }
        t_thread_word |= kBusyBit;
        entered_ = true;
        recorder_ = current_recorder();
        if (recorder_ == nullptr && start == Start::if_needed && may_start_recorder()) [[unlikely]]
            recorder_ = start_recorder();
    }
    ~EventScope() {
        if (entered_) t_thread_word &= ~kBusyBit;
    }
    EventScope(const EventScope&) = delete;
    EventScope& operator=(const EventScope&) = delete;

    Recorder* recorder() const { return recorder_; }
    // False: our own code is interrupted, and there is nothing to be done.
    bool entered() const { return entered_; }

  private:
    static void count_reentry();

    Recorder* recorder_ = nullptr;
    bool entered_ = false;
};

}  // namespace memsnap::recorder
