// SPDX-License-Identifier: Apache-2.0
//
// One ring file, read and checked: the facts of its header, the pinned observations, the boundary table, the
// small tables, the ring's window and the failure keyframes. The rule: everything in here was verified
// against the format's own rules (WIRE.md) before it got here; a value that the file does not have is empty,
// never a default.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "event.h"
#include "result.h"
#include "ring_file.h"
#include "window.h"

namespace memsnap {

struct AllocatorConfig {
    bool known = false;
    bool expandable_segments = false;
    bool backend_async = false;
    bool caching_disabled = false;
    bool roundup_list = false;
    uint32_t gc_threshold_permille = 0;     // 0: unset
    uint64_t max_split_size_bytes = 0;      // 0: unset
    uint32_t roundup_power2_divisions = 0;  // 0: unset
    uint32_t unknown_option_count = 0;
};

struct Counters {
    uint64_t lost = 0, lapped = 0, reentrant = 0, no_stack = 0, blind = 0, table_full = 0;
    uint64_t boundaries_dropped = 0, keyframes_skipped = 0, threads_unlisted = 0, originals_missing = 0;
    uint64_t unknown_frees = 0, device_unknown = 0, names_dropped = 0, samples_failed = 0;
};

struct AreaFacts {
    std::string_view name;
    uint64_t offset_bytes = 0, size_bytes = 0;
    uint32_t entry_bytes = 0, entry_count = 0;
};

struct HeaderFacts {
    uint16_t version_major = 0, version_minor = 0;
    uint64_t file_bytes = 0;
    std::array<uint8_t, 16> ring_id = {};
    std::array<AreaFacts, 8> areas = {};
    uint32_t pid = 0, parent_pid = 0, session_id = 0;
    std::optional<int32_t> rank, local_rank, world_size;
    uint64_t process_start_ticks = 0, pid_namespace = 0, job_key = 0;
    uint64_t host_key = 0;  // 0: not known
    JobKeySource job_key_source = JobKeySource::none;
    uint32_t recorder_version = 0;
    uint32_t torch_version = 0, cudart_version = 0, driver_version = 0;  // 0: not known
    ClockSource clock_source = ClockSource::unknown;
    StartMode start_mode = StartMode::from_birth;
    ArmState arm_state = ArmState::recording;
    Channel channel = Channel::preloaded;
    bool superseded = false;                   // the process has a newer recording
    uint64_t arm_request = 0, arm_answer = 0;  // serial << 8, and what was wished, or became of it
    uint64_t arm_until_ns = 0;                 // CLOCK_MONOTONIC, 0: no end was set
    uint32_t arm_errno = 0;                    // of a request that was refused
    uint64_t armed_from_ticket = 0;            // the ring holds records from here on
    std::optional<uint64_t> disarmed_ticket;   // head when it was disarmed last
    uint64_t initial_from_ticket = 0;          // what was there before was asked at or after this
    uint64_t initial_until_ticket = 0;         // births before it are not known; 0: nothing was told
    Origin origin = Origin::recorder;
    bool total_stated = false;  // by a person, instead of the device
    bool has_sidecar = false;
    AllocatorConfig config;
    uint64_t ring_capacity_records = 0;
    uint64_t head_ticket = 0;  // the ticket after the last one taken
    Counters counters;
    std::optional<uint64_t> incomplete_from_ticket;
    std::optional<uint64_t> exit_ticket;  // head when the process exited
    int32_t exit_status = 0;              // meaningful with exit_ticket
    Trouble trouble = Trouble::none;
    uint32_t trouble_errno = 0, failure_count = 0, boundary_stride = 1;
    Sampling sampling = Sampling::unknown;
    TapState tap = TapState::untold;
    StackWish stack_wish = StackWish::off;
    PythonStacks python_stacks = PythonStacks::none;
    NativeStacks native_stacks = NativeStacks::none;
    uint8_t stack_depth_count = 0;  // most frames of each sort
    uint32_t python_version = 0;    // 0: none seen
    uint32_t sample_period_ms = 0;  // 0: no samples
};

// What the pinned area keeps of one device. Each event is a copy of a ring record, with that record's ticket.
struct PinnedDevice {
    std::optional<Event> first_report;
    std::optional<Event> first_observation;
    std::optional<Event> last_observation;
    std::optional<Event> peak_allocated;
    std::optional<Event> peak_reserved;
    std::optional<Event> peak_outside;
    std::optional<Event> last_processes;
    std::optional<Event> first_processes;
    std::optional<Event> cap;
    std::optional<Event> before_first_boundary;
    std::vector<Event> samples;  // oldest first

    bool empty() const { return !first_report && !last_observation && !cap && samples.empty(); }
};
using PinnedDevices = std::array<PinnedDevice, kDeviceCapacity>;

struct Boundary {
    uint64_t ticket = 0;  // of the closing record
    uint64_t opened_ticket = kNoTicket;
    uint64_t time_counter = 0;
    uint64_t free_age_counter = 0;  // counter ticks since device_free was observed
    uint64_t allocated_bytes = 0, reserved_bytes = 0;
    std::optional<uint64_t> device_free_bytes;
    uint32_t ordinal = 0;
    uint32_t dimensions = 0;
    uint16_t exact_name = 0, folded_name = 0, thread = 0;
    BoundaryFamily family = BoundaryFamily::none;
    int8_t device = -1;
    uint8_t depth = 0;
};

struct Library {
    LibraryRole role = LibraryRole::unknown;
    uint64_t name = 0;               // local name id, 0: none
    uint16_t entry_point_count = 0;  // of the driver, that it was given as the recorder's
};

struct Thread {
    uint32_t tid = 0;
    uint64_t first_ticket = 0;
};

struct Anchor {
    uint64_t counter = 0, monotonic_ns = 0, realtime_ns = 0;
};

// A valid keyframe slot; its contents are read on demand.
struct KeyframeFacts {
    uint32_t slot = 0;
    uint64_t begin_ticket = 0, end_ticket = 0;  // head when copying began and ended
    Event failure;                              // the failing record
    uint32_t entries_dropped = 0;
};

// What a keyframe alone knows. Blocks of the failing device are exact at the failure.
struct Keyframe {
    KeyframeFacts facts;
    std::vector<Event> operation;  // the failing thread's calls of the operation, oldest first
    PinnedDevices pinned;
    Window window;  // the last records before the failure
    Pages storage;  // what the window looks at
    Pages records;  // the same, where no ring was kept
};

// What a recording is read from, where it is not one file with its sidecar beside it.
struct CaptureFiles {
    std::string path;  // as errors and results name it
    std::string ring_path, names_path;
    std::shared_ptr<const void> owner;  // of the two, for as long as somebody may open them
};

// Movable; the window looks into the capture's own copy of the ring.
class Capture {
  public:
    // Reads and validates a file. Errors: not_memsnap, corrupt, io.
    static Result<Capture> read(const std::string& path);
    static Result<Capture> read(CaptureFiles files);
    // The same without the events: header, small tables and the list of keyframes.
    static Result<Capture> read_facts(const std::string& path);

    std::string path;
    std::string names_path;  // of the sidecar, if there is one
    HeaderFacts header;
    Window window;
    PinnedDevices pinned;
    std::vector<Boundary> boundaries;      // by ordinal, then device
    std::vector<Thread> threads;           // index 0: unlisted
    std::vector<Library> libraries;        // index 0: not known
    std::vector<Anchor> anchors;           // by counter
    std::vector<KeyframeFacts> keyframes;  // by failing ticket

    Result<std::unique_ptr<Keyframe>> read_keyframe(uint32_t slot) const;

    // Recording began in a running process.
    bool late_start() const { return header.start_mode == StartMode::late; }
    // Where the record of a ticket lies in the file.
    uint64_t record_offset_bytes(uint64_t ticket) const;
    // CLOCK_MONOTONIC and CLOCK_REALTIME of a raw counter, by the anchors around it; nullopt without anchors.
    std::optional<uint64_t> monotonic_ns(uint64_t counter) const;
    std::optional<uint64_t> realtime_ns(uint64_t counter) const;
    LibraryRole library_role(uint16_t library) const;

  private:
    explicit Capture(RingFile file);
    std::shared_ptr<const void> owner_;
    RingFile file_;  // stays open for the keyframes; everything else has been copied
    Pages ring_;
    friend class Reader;
};

}  // namespace memsnap
