// SPDX-License-Identifier: Apache-2.0
//
// What the ring holds and lacks, and where it was made. Rule: words of closed lists and numbers only.
#include <fmt/format.h>

#include "case.h"
#include "clock.h"

namespace oracle {
namespace {

Json library_version(u32 version) {
    if (version == 0) return {};
    return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}
Json cuda_version(u32 version) {
    if (version == 0) return {};
    return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}
Json unless(Int value, Int absent) {
    return value == absent ? Json() : Json(value);
}

Json unless_negative(Int value) {
    return value < 0 ? Json() : Json(value);
}

Json::Array declared_losses(const File& file) {
    const auto& header = file.header;
    Json::Array losses;
    auto add = [&](bool declared, const char* word) {
        if (declared) losses.emplace_back(word);
    };
    add(file.missing_count != 0, "records_missing");
    add(header.counters[kLost] != 0, "events_lost");
    add(header.counters[kLapped] != 0, "events_lapped");
    add(header.start_mode != 0, "late_start");
    add(header.incomplete_from != 0 || header.counters[kTableFull] != 0 || !file.table_complete,
        "table_incomplete");
    add(file.copied_while_written, "copied_while_written");
    add(file.without_window, "recording_dormant");
    add(file.unknown_kind_count != 0, "kinds_unknown");
    return losses;
}

// How many `blind` records of each code the window holds.
Json::Object blind_records(const File& file) {
    constexpr std::array<std::string_view, 5> kReasons{"deepbind", "dlmopen", "unknown_entry_point",
                                                       "resolver_bypassed", "original_missing"};
    std::array<u64, kReasons.size()> counts{};
    for (const auto& event : file.events) {
        bool known = event.kind == kBlind && event.code >= 1 && event.code <= kReasons.size();
        if (known) ++counts[event.code - 1U];
    }
    Json::Object blind;
    for (std::size_t i = 0; i < kReasons.size(); ++i)
        blind.emplace(kReasons[i], counts[i]);
    return blind;
}

// A number that the list does not have reads as its first word.
template <std::size_t N>
std::string_view word(const std::array<std::string_view, N>& words, u32 number) {
    return words[number < N ? number : 0];
}

constexpr std::array<std::string_view, 5> kSamplingWords{"unknown", "nvml", "off", "nvml_missing",
                                                         "nvml_failed"};
constexpr std::array<std::string_view, 5> kWishWords{"off", "automatic", "python", "native", "both"};
constexpr std::array<std::string_view, 5> kPythonWords{"none", "waiting", "walking", "unknown", "threaded"};
constexpr std::array<std::string_view, 3> kNativeWords{"none", "walking", "missing"};

Json stacks_of(const Header& header) {
    return Json::Object{{"wish", word(kWishWords, header.stacks[0])},
                        {"python", word(kPythonWords, header.stacks[1])},
                        {"native", word(kNativeWords, header.stacks[2])},
                        {"depth_count", u32{header.stacks[3]}}};
}

// Unlike the other numbers, one that the list does not have is not guessed: it decides what can be known.
std::string_view origin_word(u32 origin) {
    constexpr std::array<std::string_view, 3> kOriginWords{"recorder", "torch_snapshot", "profiler_trace"};
    return origin < kOriginWords.size() ? kOriginWords[origin] : "unknown";
}

std::string arm_word(u32 state) {
    return state == 0 ? "recording" : state == 2 ? "standby" : "cold";
}

}  // namespace

Json capture_of(const Case& c) {
    const auto& file = c.file;
    const auto& header = file.header;
    Json::Object tolerated;
    for (const auto& [rule, count] : c.tolerated)
        tolerated.emplace(rule, count);
    std::string seen = !c.incident ? "none" : c.incident->in_keyframe ? "keyframe" : "window";
    return Json::Object{
        {"origin", origin_word(header.origin)},
        {"total_stated", header.total_stated()},
        {"ring_capacity_records", header.areas[kRing].entry_count},
        {"first_ticket", file.begin},
        {"end_ticket", file.end},
        {"recorded_count", header.head},
        {"missing_count", file.missing_count},
        {"torn_count", file.torn_count},
        {"unknown_kind_count", file.unknown_kind_count},
        {"lost_count", header.counters[kLost]},
        {"lapped_count", header.counters[kLapped]},
        {"blind_count", header.counters[kBlindCalls]},
        {"table_full_count", header.counters[kTableFull]},
        {"unknown_free_count", header.counters[kUnknownFrees]},
        {"samples_failed_count", header.counters[kSamplesFailed]},
        {"names_dropped_count", header.counters[kNamesDropped]},
        {"boundaries_dropped_count", header.counters[kBoundariesDropped]},
        {"no_stack_count", header.counters[kNoStack]},
        {"stacks", stacks_of(header)},
        {"sampling", word(kSamplingWords, header.sampling)},
        {"blind", blind_records(file)},
        {"boundary_stride", header.boundary_stride},
        {"start_mode", header.start_mode == 0 ? "from_birth" : "late"},
        {"arm_state", arm_word(header.arm_state)},
        {"exit_seen", header.exit_mark != 0},
        {"exit_status", header.exit_mark != 0 ? Json(header.exit_status) : Json()},
        {"failure_seen_in", seen},
        {"uncertain", declared_losses(file)},
        {"tolerated", std::move(tolerated)},
    };
}

Json environment_of(const Case& c, Dictionary& dictionary) {
    const auto& header = c.file.header;
    u32 flags = header.allocator_flags;
    Json::Object allocator{
        {"known", (flags & 1U) != 0},
        {"backend", header.async_backend() ? "async" : "native"},
        {"expandable_segments", (flags & 2U) != 0},
        {"caching_disabled", header.caching_disabled()},
        {"max_split_size_bytes", unless(header.max_split_size, 0)},
        {"gc_threshold_permille", unless(header.gc_threshold_permille, 0)},
        {"roundup_power2_divisions", unless(header.roundup_power2_divisions, 0)},
        {"unknown_option_count", header.unknown_option_count},
    };
    u64 until = c.incident ? c.incident->failed.event.ticket : kNoTicket;
    std::map<u64, Int> last;
    for (const auto& event : c.looked_at().recording.events) {
        if (event.kind != kNote || event.ticket >= until) continue;
        last[dictionary.dimensions.of(event.link)] = static_cast<std::int64_t>(event.size);
    }
    Json::Array dimensions;
    for (const auto& [ordinal, value] : last)
        dimensions.emplace_back(Json::Object{{"dimension", ordinal}, {"value", value}});
    return Json::Object{
        {"torch_version", library_version(header.torch_version)},
        {"python_version", library_version(header.python_version)},
        {"recorder_version", library_version(header.recorder_version)},
        {"cuda_runtime_version", cuda_version(header.cudart_version)},
        {"cuda_driver_version", cuda_version(header.driver_version)},
        {"world_size", unless_negative(header.world_size)},
        {"rank", unless_negative(header.rank)},
        {"allocator", std::move(allocator)},
        {"dimensions", std::move(dimensions)},
    };
}

Json times_of(const Case& c) {
    const auto& events = c.file.events;
    auto time_of = [&](const Event& event) { return Json(realtime_ns(c.file, event.time)); };
    return Json::Object{
        {"failure_unix_ns", c.incident ? time_of(c.incident->failed.event) : Json()},
        {"first_record_unix_ns", events.empty() ? Json() : time_of(events.front())},
        {"last_record_unix_ns", events.empty() ? Json() : time_of(events.back())},
    };
}

}  // namespace oracle
