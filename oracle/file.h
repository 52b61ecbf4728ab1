// SPDX-License-Identifier: Apache-2.0
//
// What a ring file says, as plain vectors. Rule: decoding adds no meaning; it only checks, orders and counts.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bytes.h"
#include "calls.h"
#include "error.h"

namespace oracle {

struct Event {
    u64 ticket = 0;
    u8 kind = 0;
    u8 flags = 0;
    u16 thread = 0;
    u64 time = 0;
    u64 address = 0;
    u64 size = 0;
    u64 link = 0;
    u64 extra = 0;
    u16 extra16 = 0;
    u64 allocated_bytes = 0;
    u64 reserved_bytes = 0;
    int device = -1;
    u8 call = 0;
    u16 library = 0;
    u16 code = 0;
    u64 offset = 0;  ///< where in the file, for messages

    bool has(Flag flag) const { return (flags & flag) != 0; }
    /// Block events always carry totals; what was there from the beginning, and observations, do where their
    /// flag says so.
    bool is_report() const {
        bool found = kind == kInitial || kind == kInitialSegment;
        return (kind >= kBlockAlloc && kind <= kBlockOom) || (found && has(kTotalsPresent));
    }
    bool has_totals() const {
        return is_report() || ((kind == kMemInfo || kind == kDeviceSample) && has(kTotalsPresent));
    }
};

struct Area {
    u64 offset = 0;
    u64 size = 0;
    u32 entry_bytes = 0;
    u32 entry_count = 0;
};

enum AreaName : std::size_t {
    kRing,
    kTable,
    kPinned,
    kBoundaries,
    kKeyframes,
    kThreads,
    kLibraries,
    kAnchors,
    kAreaCount
};
enum Counter : std::size_t {
    kLost = 0,
    kLapped = 1,
    kNoStack = 3,
    kBlindCalls = 4,
    kTableFull = 5,
    kBoundariesDropped = 6,
    kUnknownFrees = 10,
    kNamesDropped = 12,
    kSamplesFailed = 13,
    kCounterCount = 14
};

/// Of keyframes; the slot behind them is that of the state when it was disarmed.
inline constexpr u32 kFailureSlots = 4;

struct Header {
    std::array<std::byte, 16> ring_id{};
    std::array<Area, kAreaCount> areas{};
    int rank = -1;
    int world_size = -1;
    u32 recorder_version = 0;
    u32 torch_version = 0;
    u32 cudart_version = 0;
    u32 driver_version = 0;
    u32 clock_source = 0;
    u32 start_mode = 0;
    u32 arm_state = 0;
    u32 sidecar = 0;
    std::array<u8, 4> stacks{};  ///< wish, Python frames, native frames, depth
    u32 allocator_flags = 0;
    u32 gc_threshold_permille = 0;
    u64 max_split_size = 0;
    u32 roundup_power2_divisions = 0;
    u32 unknown_option_count = 0;
    u32 python_version = 0;
    u32 origin = 0;
    u32 stated = 0;
    u64 armed_from = 0;
    u64 disarmed_at = 0;
    u64 initial_until = 0;
    u64 head = 0;
    std::array<u64, kCounterCount> counters{};
    u64 incomplete_from = 0;
    u64 exit_mark = 0;
    int exit_status = 0;
    u32 failure_count = 0;
    u32 library_count = 0;
    u32 thread_count = 0;
    u32 boundary_stride = 0;
    u32 boundary_count = 0;
    u32 sampling = 0;

    bool caching_disabled() const { return (allocator_flags & 8U) != 0; }
    bool expandable_segments() const { return (allocator_flags & 2U) != 0; }
    bool async_backend() const { return (allocator_flags & 4U) != 0; }
    bool late() const { return start_mode != 0; }
    bool armed() const { return arm_state == 0; }
    /// Made in standby: a fifth keyframe slot takes the state when it is disarmed.
    bool made_in_standby() const { return areas[kKeyframes].entry_count > kFailureSlots; }
    bool keeps_ring() const { return areas[kRing].entry_count != 0 && (armed() || !made_in_standby()); }
    bool from_recorder() const { return origin == 0; }
    bool from_snapshot() const { return origin == 1; }
    bool total_stated() const { return (stated & 1U) != 0; }
    bool ended_well() const { return exit_mark != 0 && exit_status == 0; }
};

/// An entry of the live table with a state that is not 0.
struct Entry {
    u64 last_ticket = 0;
    bool live = false;
    bool check_fits = false;
    u64 address = 0;
    u64 size = 0;
    u64 birth = 0;
    u64 site = 0;
    u32 step = 0;
    u16 phase = 0;
    u16 library = 0;
    Class object = kNoClass;
    int device = -1;
    u8 call = 0;
    u8 flags = 0;
    u64 offset = 0;
};

struct Boundary {
    u64 closed = 0;
    u64 opened = kNoTicket;
    u32 dimensions = 0;
    u16 folded_name = 0;
    u16 thread = 0;
    u8 family = 0;
    int device = -1;
    u64 allocated_bytes = 0;
    u64 reserved_bytes = 0;
    std::optional<u64> device_free_bytes;
    u8 depth = 0;
};

struct PinnedDevice {
    std::optional<Event> first_observation, last_observation, peak_allocated, peak_reserved, peak_outside;
    std::optional<Event> last_process_sample, first_process_sample, last_cap, before_first_boundary;
    std::vector<Event> samples;  ///< by ticket
};
inline constexpr std::size_t kPinnedDevices = 32;
inline constexpr u64 kPinnedBytes = 8192;

struct Library {
    u8 role = 0;
    u64 name = 0;  ///< local id
};
inline constexpr u8 kRoleAllocator = 1;

struct Anchor {
    u64 counter = 0;
    u64 monotonic_ns = 0;
    u64 realtime_ns = 0;
};

struct Keyframe {
    u64 head_after = 0;
    Event failing;
    std::vector<Event> operation;
    std::vector<Event> ring;
    std::vector<Entry> table;
    std::vector<PinnedDevice> pinned;
};

struct File {
    Header header;
    u64 oldest = 0;                            ///< O
    u64 begin = 0;                             ///< B
    u64 end = 0;                               ///< H
    std::vector<Event> earlier;                ///< accepted, in [O, B)
    std::vector<Event> events;                 ///< accepted, in [B, H)
    std::vector<std::pair<u64, u64>> missing;  ///< ranges of tickets in the window
    u64 missing_count = 0;
    u64 torn_count = 0;
    u64 unknown_kind_count = 0;
    bool copied_while_written = false;
    bool without_window = false;  ///< not armed, and no state tells where it was
    std::vector<Entry> table;
    bool table_complete = true;  ///< of the state when it was disarmed
    u64 table_head = kNoTicket;  ///< of events before it a thread's table lags by one at the most
    std::vector<PinnedDevice> pinned;
    std::vector<Boundary> boundaries;  ///< by closing ticket
    std::vector<Keyframe> keyframes;
    std::vector<Library> libraries;
    std::vector<Anchor> anchors;  ///< by counter
};

/// `head_after`: the head as it was read again after the copy, when it was.
Expected<File> decode(Bytes bytes, std::optional<u64> head_after);

// Parts of it, each in its own file.
inline constexpr u64 kRecordBytes = 64;
enum class Seal : u8 {
    kEmpty,
    kTorn,
    kFits
};
Seal record_seal(Bytes record);
/// -1, not known, for a device that the format has no room for.
int device_of(u8 byte);
Event decode_record(Bytes record, u64 offset);
Entry decode_entry(Bytes entry, u64 offset);
/// `bytes`: the file, or its first kHeadBytes; `there_bytes`: how long the file is.
Expected<Header> decode_header(Bytes bytes, u64 there_bytes);
inline constexpr u64 kHeadBytes = 768;
/// Whether it is of this format at all, of any version.
bool begins_as_ring(Bytes bytes);
Expected<std::vector<PinnedDevice>> decode_pinned(Bytes area, u64 offset, bool exited);
Expected<std::vector<Keyframe>> decode_keyframes(Bytes bytes, const Area& area);
/// The state when it was disarmed; nothing, where the header and the slot do not tell one.
struct Disarmed {
    std::vector<Entry> table;
    std::vector<PinnedDevice> pinned;
    bool complete = true;  ///< no live entry was left out
    u64 head_before = 0;   ///< the head when copying began: of later events the table may lack any number
};
Expected<std::optional<Disarmed>> decode_disarmed(Bytes bytes, const Header& header);

}  // namespace oracle
