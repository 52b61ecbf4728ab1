// SPDX-License-Identifier: Apache-2.0
//
// Capture, environment and times as JSON.
#include "receipt_capture.h"

#include <fmt/format.h>

#include "rules.h"

namespace memsnap {
namespace {

// 21401 -> 2.14.1
Json version(uint32_t coded) {
    if (coded == 0) return {};
    return fmt::format("{}.{}.{}", coded / 10000, coded / 100 % 100, coded % 100);
}

// 13000 -> 13.0
Json cuda_version(uint32_t coded) {
    if (coded == 0) return {};
    return fmt::format("{}.{}", coded / 1000, coded % 1000 / 10);
}

Json::Array uncertain_json(const WindowFacts& facts) {
    Json::Array words;
    for (size_t i = 0; i < kUncertaintyCount; ++i) {
        if (facts.uncertain[i]) words.emplace_back(name(static_cast<Uncertainty>(i)));
    }
    return words;
}

Json::Object tolerated_json(const ReplayOutcome& outcome) {
    Json::Object counts;
    for (size_t i = 0; i < kRuleCount; ++i) {
        if (outcome.tolerated[i] != 0) counts[std::string(name(static_cast<Rule>(i)))] = outcome.tolerated[i];
    }
    return counts;
}

// Every reason, also those that never occurred.
Json::Object blind_json(const ReplayOutcome& outcome) {
    Json::Object counts;
    for (size_t code = 1; code < kBlindCount; ++code)
        counts[std::string(name(static_cast<Blind>(code)))] = outcome.blind[code];
    return counts;
}

Json::Object stacks_json(const HeaderFacts& header) {
    return {{"wish", name(header.stack_wish)},
            {"python", name(header.python_stacks)},
            {"native", name(header.native_stacks)},
            {"depth_count", uint32_t{header.stack_depth_count}}};
}

// Of the first and of the last event of the window.
struct Ends {
    std::optional<uint64_t> first_counter;
    std::optional<uint64_t> last_counter;
};

Ends ends_of(const EventStream& events) {
    Ends ends;
    Event event;
    events.for_each([&](const Event& first) {
        ends.first_counter = first.time_counter;
        return false;
    });
    for (uint64_t ticket = events.end_ticket(); ticket-- > events.begin_ticket();) {
        if (!events.read(ticket, event)) continue;
        ends.last_counter = event.time_counter;
        break;
    }
    return ends;
}

}  // namespace

Json::Object capture_json(const Capture& capture, const Analysis& analysis) {
    const HeaderFacts& header = capture.header;
    const WindowFacts& facts = capture.window.facts;
    const Counters& counters = header.counters;
    Json::Object object{{"origin", name(header.origin)},
                        {"total_stated", header.total_stated},
                        {"ring_capacity_records", header.ring_capacity_records},
                        {"first_ticket", capture.window.events.begin_ticket()},
                        {"end_ticket", capture.window.events.end_ticket()},
                        {"recorded_count", header.head_ticket},
                        {"missing_count", facts.missing_count},
                        {"torn_count", facts.torn_count},
                        {"unknown_kind_count", facts.unknown_kind_count},
                        {"lost_count", counters.lost},
                        {"lapped_count", counters.lapped},
                        {"blind_count", counters.blind},
                        {"table_full_count", counters.table_full},
                        {"unknown_free_count", counters.unknown_frees},
                        {"samples_failed_count", counters.samples_failed},
                        {"names_dropped_count", counters.names_dropped},
                        {"boundaries_dropped_count", counters.boundaries_dropped},
                        {"no_stack_count", counters.no_stack},
                        {"stacks", stacks_json(header)},
                        {"sampling", name(header.sampling)},
                        {"blind", blind_json(analysis.replay)},
                        {"boundary_stride", header.boundary_stride},
                        {"start_mode", name(header.start_mode)},
                        {"arm_state", name(header.arm_state)},
                        {"exit_seen", header.exit_ticket.has_value()},
                        {"exit_status", {}},
                        {"failure_seen_in", "none"},
                        {"uncertain", uncertain_json(facts)},
                        {"tolerated", tolerated_json(analysis.replay)}};
    if (header.exit_ticket) object["exit_status"] = header.exit_status;
    if (analysis.incident)
        object["failure_seen_in"] = analysis.incident->from_keyframe ? "keyframe" : "window";
    return object;
}

Json::Object environment_json(const HeaderFacts& header, const Analysis& analysis,
                              const Dictionary& dictionary) {
    const AllocatorConfig& config = header.config;
    const auto set = [](uint64_t value) { return value == 0 ? Json() : Json(value); };
    Json::Object allocator{{"known", config.known},
                           {"backend", config.backend_async ? "async" : "native"},
                           {"expandable_segments", config.expandable_segments},
                           {"caching_disabled", config.caching_disabled},
                           {"max_split_size_bytes", set(config.max_split_size_bytes)},
                           {"gc_threshold_permille", set(config.gc_threshold_permille)},
                           {"roundup_power2_divisions", set(config.roundup_power2_divisions)},
                           {"unknown_option_count", config.unknown_option_count}};
    Json::Array dimensions;
    for (const Note& note : analysis.notes) {
        dimensions.push_back(
            Json::Object{{"dimension", dictionary.dimension(note.dimension)}, {"value", Wide{note.value}}});
    }
    return {{"torch_version", version(header.torch_version)},
            {"python_version", version(header.python_version)},
            {"cuda_runtime_version", cuda_version(header.cudart_version)},
            {"cuda_driver_version", cuda_version(header.driver_version)},
            {"recorder_version", version(header.recorder_version)},
            {"world_size", header.world_size},
            {"rank", header.rank},
            {"allocator", std::move(allocator)},
            {"dimensions", std::move(dimensions)}};
}

Json::Object times_json(const Capture& capture, const Analysis& analysis) {
    const auto unix_ns = [&](std::optional<uint64_t> counter) {
        return counter ? capture.realtime_ns(*counter) : std::nullopt;
    };
    const Ends ends = ends_of(capture.window.events);
    std::optional<uint64_t> failed;
    if (analysis.incident) failed = unix_ns(analysis.incident->failure.event.time_counter);
    return {{"failure_unix_ns", failed},
            {"first_record_unix_ns", unix_ns(ends.first_counter)},
            {"last_record_unix_ns", unix_ns(ends.last_counter)}};
}

}  // namespace memsnap
