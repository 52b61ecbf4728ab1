// SPDX-License-Identifier: Apache-2.0
//
// The header: is this a memsnap file, can this build read it, and does it describe the file that it heads.
// The rule: nothing of the file is used before its offset, size and count are known to lie inside it.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "reader.h"

namespace memsnap {

namespace {

struct AreaRule {
    std::string_view name;
    uint32_t entry_bytes;  // 0: the slot's size is the writer's choice
    uint32_t least_count;
    uint32_t most_count;
};
constexpr std::array<AreaRule, wire::kAreaCount> kAreaRules = {{
    {"ring", sizeof(wire::Record), wire::kWindowDivisor, 1U << 30},  // or none, before it was armed
    {"table", sizeof(wire::LiveEntry), 1, 1U << 28},
    {"pinned", sizeof(wire::PinnedDevice), wire::kDeviceCapacity, wire::kDeviceCapacity},
    {"boundaries", sizeof(wire::Boundary), 1, 1U << 26},
    {"keyframes", 0, wire::kKeyframeSlots, wire::kDisarmedSlot + 1},
    {"threads", sizeof(wire::Thread), 1, 1U << 16},
    {"libraries", sizeof(wire::Library), 1, 1U << 16},
    {"anchors", sizeof(wire::Anchor), 1, 1U << 20},
}};

constexpr std::string_view kRecordAgain = "the file is damaged: use another copy of it, or record again";
constexpr uint64_t kPrefix_bytes = 16;  // magic, versions and byte order

std::optional<int32_t> if_set(int32_t number) {
    return number < 0 ? std::nullopt : std::optional(number);
}

}  // namespace

// A process that is being armed puts the ring into its file while this copies: what contradicts itself is
// looked at once more, at the size that the file has by then.
bool Reader::read_header() {
    if (copy_header() && check_areas()) return true;
    if (auto looked = capture_.file_.look_again(); !looked) {
        error_ = std::move(looked.error());
        return false;
    }
    return copy_header() && check_areas();
}

bool Reader::copy_header() {
    const auto refuse = [&](std::string_view rule, std::string detail, uint64_t offset_bytes,
                            std::string way_out) {
        return fail(ErrorCode::not_memsnap, rule, std::move(detail), offset_bytes, std::move(way_out));
    };
    const uint64_t size_bytes = capture_.file_.size_bytes();
    const auto bytes = std::as_writable_bytes(std::span(&wire_, 1));
    if (!copy(0, bytes.first(std::min(size_bytes, bytes.size())))) return false;
    if (size_bytes < kPrefix_bytes ||
        !std::equal(std::begin(wire_.magic), std::end(wire_.magic), wire::kMagic)) {
        return refuse("magic", size_bytes == 0 ? "is empty" : "is not a memsnap file", 0,
                      "give a file that libmemsnap.so recorded (default name ring-<pid>.bin)");
    }
    if (wire_.version_major != wire::kVersionMajor) {
        return refuse("version",
                      fmt::format("has format version {}.{}, this memsnap-replay reads version {}.x",
                                  wire_.version_major, wire_.version_minor, wire::kVersionMajor),
                      offsetof(wire::Header, version_major),
                      "use the memsnap-replay of the release that recorded it");
    }
    if (wire_.byte_order != wire::kByteOrder) {
        return refuse("byte_order", "was not written little-endian", offsetof(wire::Header, byte_order),
                      std::string(kRecordAgain));
    }
    if (size_bytes < sizeof(wire::Header) || size_bytes < wire_.file_bytes) {
        const uint64_t expected_bytes = std::max<uint64_t>(wire_.file_bytes, sizeof(wire::Header));
        return corrupt("file_bytes", fmt::format("is truncated: {} bytes of {}", size_bytes, expected_bytes),
                       size_bytes);
    }
    if (wire_.header_bytes < sizeof(wire::Header) || wire_.record_bytes != sizeof(wire::Record)) {
        return corrupt("header_sizes",
                       fmt::format("states a header of {} and records of {} bytes", wire_.header_bytes,
                                   wire_.record_bytes),
                       offsetof(wire::Header, header_bytes));
    }
    return true;
}

bool Reader::check_area(size_t i) {
    const wire::Area& it = wire_.areas[i];
    const AreaRule& rule = kAreaRules[i];
    const uint64_t at = offsetof(wire::Header, areas) + i * sizeof(wire::Area);
    const auto bad = [&](std::string_view why) {
        return corrupt("area_bounds",
                       fmt::format("area {}: {} (offset {}, size {}, {} entries of {} bytes)", rule.name, why,
                                   it.offset_bytes, it.size_bytes, it.entry_count, it.entry_bytes),
                       at);
    };
    if (it.offset_bytes % wire::kAreaAlignment_bytes != 0 ||
        it.size_bytes % wire::kAreaAlignment_bytes != 0) {
        return bad("not aligned to 64 KiB");
    }
    if (it.offset_bytes < wire::kAreaAlignment_bytes || it.size_bytes > wire_.file_bytes ||
        it.offset_bytes > wire_.file_bytes - it.size_bytes) {
        return bad("not inside the file");
    }
    if (rule.entry_bytes == 0 ? it.entry_bytes < sizeof(wire::Keyframe)
                              : it.entry_bytes != rule.entry_bytes) {
        return bad("entries of another size");
    }
    const bool no_ring_yet = i == static_cast<size_t>(wire::AreaId::ring) && it.entry_count == 0 &&
                             wire_.arm_state != wire::ArmState::recording;
    if ((it.entry_count < rule.least_count && !no_ring_yet) || it.entry_count > rule.most_count)
        return bad("unexpected count");
    if (uint64_t{it.entry_count} * it.entry_bytes > it.size_bytes) return bad("entries do not fit");
    return true;
}

bool Reader::check_areas() {
    if (is_dormant()) return true;
    for (size_t i = 0; i < wire::kAreaCount; ++i) {
        if (!check_area(i)) return false;
        for (size_t j = 0; j < i; ++j) {
            const wire::Area& a = wire_.areas[i];
            const wire::Area& b = wire_.areas[j];
            if (a.offset_bytes < b.offset_bytes + b.size_bytes &&
                b.offset_bytes < a.offset_bytes + a.size_bytes) {
                return corrupt("area_overlap",
                               fmt::format("areas {} and {} overlap", kAreaRules[j].name, kAreaRules[i].name),
                               offsetof(wire::Header, areas) + i * sizeof(wire::Area));
            }
        }
    }
    return check_counts() && check_arming();
}

bool Reader::check_counts() {
    const auto within = [&](std::string_view what, uint32_t count, wire::AreaId id, uint64_t at) {
        return count <= area(id).entry_count || corrupt("header_counts",
                                                        fmt::format("{} {} exceeds the {} there is room for",
                                                                    what, count, area(id).entry_count),
                                                        at);
    };
    return within("library_count", wire_.library_count, wire::AreaId::libraries,
                  offsetof(wire::Header, library_count)) &&
           within("thread_count", wire_.thread_count, wire::AreaId::threads,
                  offsetof(wire::Header, thread_count)) &&
           within("boundary_count", wire_.boundary_count, wire::AreaId::boundaries,
                  offsetof(wire::Header, boundary_count));
}

void Reader::take_header() {
    HeaderFacts& out = capture_.header;
    out.version_major = wire_.version_major;
    out.version_minor = wire_.version_minor;
    out.file_bytes = wire_.file_bytes;
    std::copy(std::begin(wire_.ring_id), std::end(wire_.ring_id), out.ring_id.begin());
    for (size_t i = 0; i < wire::kAreaCount; ++i) {
        const wire::Area& it = wire_.areas[i];
        out.areas[i] = {kAreaRules[i].name, it.offset_bytes, it.size_bytes, it.entry_bytes, it.entry_count};
    }
    out.pid = wire_.pid;
    out.parent_pid = wire_.parent_pid;
    out.session_id = wire_.session_id;
    out.rank = if_set(wire_.rank);
    out.local_rank = if_set(wire_.local_rank);
    out.world_size = if_set(wire_.world_size);
    out.process_start_ticks = wire_.process_start_ticks;
    out.pid_namespace = wire_.pid_namespace;
    out.host_key = wire_.host_key;
    out.job_key = wire_.job_key;
    out.job_key_source =
        known(static_cast<uint32_t>(wire_.job_key_source), JobKeySource::session, JobKeySource::none);
    out.recorder_version = wire_.recorder_version;
    out.torch_version = wire_.torch_version;
    out.cudart_version = wire_.cudart_version;
    out.driver_version = wire_.driver_version;
    out.clock_source =
        known(static_cast<uint32_t>(wire_.clock_source), ClockSource::arm_cntvct, ClockSource::unknown);
    out.start_mode = known(static_cast<uint32_t>(wire_.start_mode), StartMode::late, StartMode::late);
    out.arm_state = known(static_cast<uint32_t>(wire_.arm_state), ArmState::standby, ArmState::cold);
    out.channel = known(static_cast<uint32_t>(wire_.channel), Channel::detached, Channel::preloaded);
    out.superseded = wire_.superseded != 0;
    out.arm_request = wire_.arm_request;
    out.arm_answer = wire_.arm_answer;
    out.arm_until_ns = wire_.arm_until_ns;
    out.arm_errno = wire_.arm_errno;
    out.armed_from_ticket = wire_.armed_from;
    if (wire_.disarmed_at != 0) out.disarmed_ticket = wire_.disarmed_at - 1;
    out.initial_from_ticket = wire_.initial_from;
    out.initial_until_ticket = std::min(wire_.initial_until, wire_.head);  // none is of a later moment
    out.origin = known(static_cast<uint32_t>(wire_.origin), Origin::profiler_trace, Origin::unknown);
    out.tap = known(static_cast<uint32_t>(wire_.tap), TapState::off, TapState::untold);
    out.total_stated = (wire_.stated & wire::kTotalStated) != 0;
    out.has_sidecar = wire_.sidecar == wire::Sidecar::beside;
    const uint32_t flags = wire_.config.flags;
    out.config = {.known = (flags & wire::kConfigKnown) != 0,
                  .expandable_segments = (flags & wire::kConfigExpandableSegments) != 0,
                  .backend_async = (flags & wire::kConfigBackendAsync) != 0,
                  .caching_disabled = (flags & wire::kConfigCachingDisabled) != 0,
                  .roundup_list = (flags & wire::kConfigRoundupList) != 0,
                  .gc_threshold_permille = wire_.config.gc_threshold_permille,
                  .max_split_size_bytes = wire_.config.max_split_size_bytes,
                  .roundup_power2_divisions = wire_.config.roundup_power2_divisions,
                  .unknown_option_count = wire_.config.unknown_option_count};
    out.ring_capacity_records = wire_.areas[0].entry_count;
    out.head_ticket = wire_.head;
    const wire::Counters& counted = wire_.counters;
    out.counters = {counted.lost,
                    counted.lapped,
                    counted.reentrant,
                    counted.no_stack,
                    counted.blind,
                    counted.table_full,
                    counted.boundaries_dropped,
                    counted.keyframes_skipped,
                    counted.threads_unlisted,
                    counted.originals_missing,
                    counted.unknown_frees,
                    counted.device_unknown,
                    counted.names_dropped,
                    counted.samples_failed};
    if (wire_.incomplete_from != 0) out.incomplete_from_ticket = wire_.incomplete_from - 1;
    if (wire_.exit_mark != 0) out.exit_ticket = wire_.exit_mark - 1;
    out.exit_status = wire_.exit_status;
    out.trouble = known(static_cast<uint32_t>(wire_.trouble), Trouble::threads_full, Trouble::none);
    out.trouble_errno = wire_.trouble_errno;
    out.failure_count = wire_.failure_count;
    out.boundary_stride = wire_.boundary_stride;
    out.sampling = known(static_cast<uint32_t>(wire_.sampling), Sampling::nvml_failed, Sampling::unknown);
    out.sample_period_ms = wire_.sample_period_ms;
    const auto stack_byte = [&](int at) { return static_cast<uint8_t>(wire_.stacks >> (8 * at)); };
    out.stack_wish = known(stack_byte(0), StackWish::both, StackWish::off);
    out.python_stacks = known(stack_byte(1), PythonStacks::threaded, PythonStacks::none);
    out.native_stacks = known(stack_byte(2), NativeStacks::missing, NativeStacks::none);
    out.stack_depth_count = stack_byte(3);
    out.python_version = wire_.python_version;
}

}  // namespace memsnap
