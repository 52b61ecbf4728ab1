// SPDX-License-Identifier: Apache-2.0
//
// The ring file: the one seam between the recorder and its readers, as plain data. WIRE.md says the same in
// prose, with the commit and recovery rules; change both together, and raise kVersionMajor when an old reader
// would misread a new file.
//
// Rules of this file: fixed-width little-endian integers, every byte placed, no functions, no includes but
// these. It is included by interpose/*, replay/reader.cpp and the fixture encoder only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "wire_words.h"

namespace memsnap::wire {

inline constexpr uint8_t kMagic[8] = {0x89, 'M', 'E', 'M', 'S', 'N', 'A', 'P'};
inline constexpr uint16_t kVersionMajor = 1;  // a reader refuses another major version
inline constexpr uint16_t kVersionMinor =
    0;  // a reader accepts a newer minor one: unknown record kinds are counted and skipped
inline constexpr uint32_t kByteOrder = 0x01020304;
inline constexpr uint32_t kAreaAlignment_bytes = 65536;
inline constexpr uint32_t kTotalsUnit_bytes =
    512;  // the caching allocator's granule: u40 of it reaches 512 TiB
inline constexpr uint64_t kNoTicket = ~uint64_t{0};
inline constexpr uint32_t kDeviceCapacity = 32;
inline constexpr uint32_t kWindowDivisor =
    16;  // frees of blocks older than capacity / 16 tickets carry their birth along

// ---------------------------------------------------------------- header

enum class AreaId : uint32_t {
    ring,
    table,
    pinned,
    boundaries,
    keyframes,
    threads,
    libraries,
    anchors
};
inline constexpr uint32_t kAreaCount = 8;

struct Area {
    uint64_t offset_bytes;
    uint64_t size_bytes;  // a multiple of kAreaAlignment_bytes; at least entry_bytes * entry_count
    uint32_t entry_bytes;
    uint32_t entry_count;
};

enum class ClockSource : uint32_t {
    monotonic_ns = 1,
    x86_tsc = 2,
    arm_cntvct = 3
};
enum class StartMode : uint32_t {
    from_birth = 0,
    late = 1
};  // late: memory allocated before the first record may be unknown
enum class ArmState : uint32_t {
    recording = 0,
    cold = 1,
    standby = 2
};
// What is asked of a running process.
enum class ArmWish : uint8_t {
    none = 0,
    record = 1,   // be armed
    cold = 2,     // keep nothing
    standby = 3,  // keep the live table, no ring
    detach = 4,   // cold, and the patched slots of a late attach put back
    disarm = 5    // what it was started as: standby, or cold where it recorded from birth
};
enum class ArmAnswer : uint8_t {
    none = 0,
    done = 1,
    refused = 2,  // Header::arm_errno tells why
};
// How the library came into the process.
enum class Channel : uint32_t {
    preloaded = 0,
    injected = 1,  // by the driver, CUDA_INJECTION64_PATH
    attached = 2,  // loaded into a running process
    detached = 3,  // and its slots put back
};
// What the side thread can ask about the devices.
enum class Sampling : uint32_t {
    unknown = 0,
    nvml = 1,
    off = 2,           // by setting
    nvml_missing = 3,  // no such library, or it lacks what is needed
    nvml_failed = 4    // it refuses
};
enum class Sidecar : uint32_t {
    none = 0,
    beside = 1
};  // beside: "<this file>.names" with the same ring_id
enum class JobKey : uint32_t {
    none = 0,
    launcher = 1,
    session = 2
};
// The bytes of Header::stacks.
enum class StackWish : uint8_t {
    off = 0,
    automatic = 1,  // Python frames, and native ones where there are none and for calls of other libraries
    python = 2,
    native = 3,
    both = 4
};
enum class PythonStacks : uint8_t {
    none = 0,     // no interpreter was seen, or none is wanted
    waiting = 1,  // not yet compared with the interpreter's own walk
    walking = 2,
    unknown = 3,   // a version or layout that is not known: off
    threaded = 4,  // a free-threaded build: off
};
enum class NativeStacks : uint8_t {
    none = 0,  // not wanted, or not yet needed
    walking = 1,
    missing = 2,  // no libunwind
};
enum class Trouble : uint32_t {
    none = 0,
    create_failed =
        1,         // the file could not be created (nothing is recorded; seen only by the process itself)
    no_space = 2,  // the file could not be given its whole size
    original_missing =
        3,               // a hooked function's original was not found: the call was answered "not supported"
    layout_unknown = 4,  // an interpreter or library layout did not match: stacks are off
    table_full = 5,
    threads_full = 6,
};

// What the allocator was told at start (PYTORCH_CUDA_ALLOC_CONF, PYTORCH_ALLOC_CONF,
// PYTORCH_NO_CUDA_MEMORY_CACHING), as integers.
struct AllocatorConfig {
    uint32_t flags;                     // ConfigFlag bits
    uint32_t gc_threshold_permille;     // 0: unset
    uint64_t max_split_size_bytes;      // 0: unset
    uint32_t roundup_power2_divisions;  // 0: unset; per-size lists set ConfigFlag::roundup_list instead
    uint32_t unknown_option_count;      // options present that the recorder does not know
};
enum ConfigFlag : uint32_t {
    kConfigKnown = 1,  // the environment was read (even if nothing was set)
    kConfigExpandableSegments = 2,
    kConfigBackendAsync = 4,
    kConfigCachingDisabled = 8,
    kConfigRoundupList = 16,
};

// Monotonic counts of what the recorder could not do. Each is written by any thread with relaxed atomics.
struct Counters {
    uint64_t lost;                // events dropped: no file yet, or still being created by another thread
    uint64_t lapped;              // events dropped because a newer ticket already owned their slot
    uint64_t reentrant;           // events raised by our own code on the way, ignored
    uint64_t no_stack;            // births without a site although stacks were asked for
    uint64_t blind;               // entry points or libraries known not to be hooked
    uint64_t table_full;          // births that found no free table slot
    uint64_t boundaries_dropped;  // thinned out or beyond capacity
    uint64_t keyframes_skipped;   // failures without a keyframe of their own (rate limit)
    uint64_t threads_unlisted;    // threads recorded as thread 0
    uint64_t originals_missing;
    uint64_t unknown_frees;   // frees of addresses the table does not hold
    uint64_t device_unknown;  // device calls recorded with device -1
    uint64_t names_dropped;   // sidecar overflow
    uint64_t samples_failed;
    uint64_t unused[2];
};

struct Header {
    uint8_t magic[8];
    uint16_t version_major;
    uint16_t version_minor;
    uint32_t byte_order;
    uint32_t header_bytes;  // sizeof(Header)
    uint32_t record_bytes;  // sizeof(Record)
    uint64_t file_bytes;
    uint8_t ring_id[16];  // random; keys local tokens and ties the sidecar to the ring
    Area areas[kAreaCount];

    uint32_t pid;
    uint32_t parent_pid;
    uint32_t session_id;
    int32_t rank;        // -1: not set
    int32_t local_rank;  // -1: not set
    int32_t world_size;  // -1: not set
    uint64_t
        process_start_ticks;  // field 22 of /proc/<pid>/stat: with pid and namespace it names one process
    uint64_t pid_namespace;   // inode of /proc/self/ns/pid
    uint64_t job_key;         // opaque: equal for the processes of one job
    JobKey job_key_source;
    uint32_t recorder_version;  // major * 10000 + minor * 100 + patch
    uint32_t torch_version;     // the same coding; 0: not known
    uint32_t cudart_version;    // 13000 for 13.0; 0: not known
    uint32_t driver_version;    // as cuDriverGetVersion tells it; 0: not known
    ClockSource clock_source;
    StartMode start_mode;
    ArmState arm_state;
    Sidecar sidecar;
    uint32_t
        stacks;  // what births get a site from: StackWish, PythonStacks, NativeStacks, depth, a byte each
    AllocatorConfig config;
    uint32_t python_version;  // major * 10000 + minor * 100 + patch of the running interpreter; 0: none seen
    Origin origin;
    uint32_t stated;  // Stated
    TapState tap;
    Channel channel;
    uint32_t superseded;  // not 0: this process has a newer recording, and writes here no more
    uint64_t host_key;    // equal for the processes of one running kernel; opaque, 0: not known

    // ---- what others may ask of the running process (docs/arming.md), on a cache line of its own
    uint64_t arm_request;  // serial << 8 | ArmWish; the one word that another process writes
    uint64_t
        arm_until_ns;      // CLOCK_MONOTONIC at which it disarms itself, 0: never; written before the request
    uint64_t arm_answer;   // serial of the request last answered << 8 | ArmAnswer
    uint64_t armed_from;   // the ring holds records from this ticket on; 0: from the first one
    uint64_t disarmed_at;  // 1 + the ticket at which it was disarmed last; 0: it is armed, or never was
    uint64_t initial_from;   // the state told by `initial` records was taken at or after this ticket
    uint64_t initial_until;  // 1 + ticket of the last of them; 0: nothing was told
    uint32_t arm_errno;      // of an answer `refused`
    uint32_t unused_e;
    uint64_t unused_f[8];

    // ---- written while recording; each group on its own cache lines
    uint64_t head;  // the next ticket; tickets start at 0
    uint64_t unused_c[7];
    Counters counters;
    uint64_t incomplete_from;  // first ticket whose birth found the table full, + 1; 0: the table is complete
    uint64_t exit_mark;        // head at exit + 1; 0: no exit seen (killed, _exit, or still running)
    int32_t exit_status;       // meaningful with exit_mark
    Trouble trouble;           // the first trouble
    uint32_t trouble_errno;
    uint32_t failure_count;  // OOM reports and failed foreign allocations so far
    uint32_t library_count;
    uint32_t thread_count;
    uint32_t boundary_stride;  // 1: every boundary is kept, 2: every second one of a family, ...
    uint32_t boundary_count;   // slots of the boundary table used
    Sampling sampling;
    uint32_t sample_period_ms;  // 0: no samples
    uint64_t unused_d;
};

// ---------------------------------------------------------------- records

struct Record {
    uint64_t seq;    // ticket + 1, written last (release); 0 while the slot is being written
    uint32_t check;  // CRC32C of seq, then of bytes 12..63
    Kind kind;
    uint8_t flags;    // RecordFlag
    uint16_t thread;  // index into the thread table; 0: unlisted
    uint64_t time;    // raw counter, see anchors; order is by ticket, never by time
    uint64_t address;
    uint64_t size;
    uint64_t link;
    uint8_t tail[10];  // by kind: u40 allocated, u40 reserved (kTotalsUnit_bytes); or u64 extra, u16 extra16
    int8_t device;     // -1: not known
    Op op;
    uint16_t library;  // index into the library table: who called; 0: not known
    uint16_t code;     // result code of the call, or by kind
};

// ---------------------------------------------------------------- live table

struct LiveEntry {
    uint64_t state;    // (last ticket + 1) << 1 | live; written last (release). 0: never used
    uint64_t address;  // address or handle
    uint64_t size;
    uint64_t birth_ticket;
    uint64_t birth_time;
    uint64_t site;   // stack token, 0: none
    uint32_t step;   // steps ended before the birth
    uint16_t phase;  // folded name of the innermost open phase, 0: none
    uint16_t library;
    Object object;
    int8_t device;
    Op op;
    uint8_t flags;   // RecordFlag of the birth
    uint32_t check;  // CRC32C of bytes 8..59
};

// ---------------------------------------------------------------- pinned area: copies of records, never
// lapped

// One a device. An unused copy has seq 0. Overwritten facts have two copies, written in turn: the valid one
// with the higher seq counts.
struct PinnedDevice {
    Record first_report;       // first block_alloc of the device
    Record first_observation;  // first mem_info or device_sample after it
    Record last_observation[2];
    Record peak_allocated[2];  // the block_alloc that reached it
    Record peak_reserved[2];
    Record peak_outside[2];    // the observation with the largest total - free - reserved
    Record last_processes[2];  // process_sample
    Record first_processes;
    Record cap[2];
    Record before_first_boundary[2];  // last observation at or before the device's first boundary
    uint64_t sample_count;            // samples[sample_count % 64] is written next
    uint64_t unused[7];
    Record samples[64];  // the last device_samples
    Record unused_records[46];
};

// ---------------------------------------------------------------- boundaries

// The end of a range, one entry for each device that has reported blocks.
struct Boundary {
    uint64_t state;  // ticket of the closing record + 1; written last (release). 0: unused
    uint64_t time;
    uint64_t opened_ticket;  // kNoTicket: not known
    uint32_t free_age;       // raw counter ticks since device_free was observed, divided by 2^20
    uint32_t ordinal;        // the same for all devices of one boundary; counts within the file
    uint32_t check;          // CRC32C of bytes 8..31, then 36..63
    uint32_t dimensions;     // equal for equal noted dimensions; 0: none noted
    uint16_t name;           // exact and folded local name ids, 0: none
    uint16_t folded_name;
    uint16_t thread;
    uint8_t family;  // Family
    int8_t device;
    uint8_t allocated[5];  // u40 of kTotalsUnit_bytes
    uint8_t reserved[5];
    uint8_t device_free[5];  // all bits set: never observed
    uint8_t depth;           // nesting depth of the range on its thread, 0: outermost
};

// ---------------------------------------------------------------- failure keyframes

inline constexpr uint32_t kKeyframeSlots =
    4;  // 0 and 1: the first two failures; 2 and 3: the last one, in turn
inline constexpr uint32_t kDisarmedSlot =
    4;  // of a file that can go back to standby: the state when it was disarmed last, without a failure
inline constexpr uint32_t kKeyframeRingRecords = 4096;
inline constexpr uint32_t kKeyframeOperationRecords = 64;

// At the start of each keyframe slot. The parts follow at the given offsets from the slot's start. Valid only
// when end == begin != 0.
struct Keyframe {
    uint64_t begin;  // the same non-zero word, first and last written
    uint64_t end;
    uint64_t begin_ticket;  // head when copying began and ended
    uint64_t end_ticket;
    Record failure;                   // the failing record itself
    uint32_t operation_offset_bytes;  // Record[operation_count]: the failing thread's calls of that
                                      // operation, oldest first
    uint32_t operation_count;
    uint32_t pinned_offset_bytes;  // PinnedDevice[kDeviceCapacity]
    uint32_t ring_offset_bytes;    // Record[ring_count]: the last records of the ring, oldest first
    uint32_t ring_count;
    uint32_t table_offset_bytes;  // LiveEntry[entry_count]: the live entries, in no order
    uint32_t entry_count;
    uint32_t entries_dropped;  // live entries that did not fit
    uint64_t unused[16];
};

// ---------------------------------------------------------------- small tables

struct Thread {
    uint32_t tid;
    uint32_t unused;
    uint64_t first_ticket;
};

enum class LibraryRole : uint8_t {
    unknown = 0,
    torch_allocator = 1,
    torch = 2,
    cuda_runtime = 3,
    cuda_driver = 4,
    program = 5
};
struct Library {
    LibraryRole role;
    uint8_t unused;
    uint16_t entry_point_count;  // driver entry points given to it as the recorder's
    uint32_t unused_b;
    uint64_t name;  // local name id in the sidecar, 0: none
};

// Slot 0: the first. The others in turn. Convert a counter by the two anchors around it.
struct Anchor {
    uint64_t state;  // 1 + count of anchors written before; written last (release). 0: unused
    uint64_t counter;
    uint64_t monotonic_ns;
    uint64_t realtime_ns;
};

// ---------------------------------------------------------------- every byte, pinned

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
              "the file is little-endian; byte-swapping hosts are not supported");

#define MEMSNAP_WIRE(type, size)                                                  \
    static_assert(sizeof(type) == (size) && std::is_trivially_copyable_v<type> && \
                  std::is_standard_layout_v<type>)
MEMSNAP_WIRE(Area, 24);
MEMSNAP_WIRE(AllocatorConfig, 24);
MEMSNAP_WIRE(Counters, 128);
MEMSNAP_WIRE(Header, 768);
MEMSNAP_WIRE(Record, 64);
MEMSNAP_WIRE(LiveEntry, 64);
MEMSNAP_WIRE(PinnedDevice, 8192);
MEMSNAP_WIRE(Boundary, 64);
MEMSNAP_WIRE(Keyframe, 256);
MEMSNAP_WIRE(Thread, 16);
MEMSNAP_WIRE(Library, 16);
MEMSNAP_WIRE(Anchor, 32);
#undef MEMSNAP_WIRE

static_assert(offsetof(Header, areas) == 48 && offsetof(Header, pid) == 240 &&
              offsetof(Header, config) == 328);
static_assert(offsetof(Header, stacks) == 324 && offsetof(Header, python_version) == 352);
static_assert(offsetof(Header, origin) == 356 && offsetof(Header, stated) == 360);
static_assert(offsetof(Header, tap) == 364 && offsetof(Header, channel) == 368);
static_assert(offsetof(Header, host_key) == 376);
static_assert(offsetof(Header, arm_request) == 384 && offsetof(Header, initial_until) == 432);
static_assert(offsetof(Header, head) % 64 == 0 && offsetof(Header, counters) % 64 == 0);
static_assert(offsetof(Record, check) == 8 && offsetof(Record, kind) == 12 && offsetof(Record, thread) == 14);
static_assert(offsetof(Record, time) == 16 && offsetof(Record, address) == 24 &&
              offsetof(Record, size) == 32);
static_assert(offsetof(Record, link) == 40 && offsetof(Record, tail) == 48 && offsetof(Record, device) == 58);
static_assert(offsetof(Record, op) == 59 && offsetof(Record, library) == 60 && offsetof(Record, code) == 62);
static_assert(offsetof(LiveEntry, step) == 48 && offsetof(LiveEntry, object) == 56 &&
              offsetof(LiveEntry, check) == 60);
static_assert(offsetof(Boundary, check) == 32 && offsetof(Boundary, name) == 40 &&
              offsetof(Boundary, allocated) == 48);

}  // namespace memsnap::wire
