// SPDX-License-Identifier: Apache-2.0
//
// `memsnap-replay dump`: one line a committed record, oldest first, also those before the replayed window.
//
//   <ticket> <time> <kind> <device> <op> <address> <size> [<name>=<value> ...]
//
// time: CLOCK_MONOTONIC in ns, or the raw counter while the file has no two clock anchors. device and op: `-`
// when not known or none. address: hexadecimal; 0x0 when the kind has none. size: decimal bytes (for `step`
// the number, for `note` the value). Then by kind, tickets `-` when the record says "never seen":
//   block_alloc, block_oom          site= allocated= reserved=
//   initial, initial_segment        site= [allocated= reserved=]
//   block_free                      birth= allocated= reserved=
//   birth                           site= step= phase=
//   try_call, ok                    site= extra=          fail             try= code=
//   free                            birth=                free_fail        birth= code=
//   mem_info, device_sample         free= [allocated= reserved=] [code=] [boundary= age=]
//   operation                       first_failed_bytes= first_failed= attempt_bytes= observed= failed_calls=
//   code= process_sample                  others_bytes= others= neighbour                       pid= bytes=
//   job= blind                           code= phase_begin, phase_end, mark    name= folded= family= [begin=]
//   step                            name= [collection=off] [implied=yes]
//   note                            dimension=
//   category                        category=             cap              limit= source=
//   tap_*                           stream= pool= [told_again= | free= requested=] keyframe         slot=
//   cupti_memory                    timestamp_ns= memory_kind= code=
//
// and at the end thread=, library= (when not 0) and flags= (names joined by a comma, when any but `totals`).
// A gap is one line: `<ticket> - gap`, runs of them `<first>-<last> - gap`. Names never change; new ones are
// added before thread=.
#include "dump.h"

#include <fmt/format.h>

#include <iterator>
#include <utility>

namespace memsnap {

namespace {

using Line = fmt::memory_buffer;

template <class... T>
void add(Line& line, fmt::format_string<T...> format, T&&... values) {
    fmt::format_to(std::back_inserter(line), format, std::forward<T>(values)...);
}

void add_ticket(Line& line, std::string_view key, uint64_t ticket) {
    if (ticket == kNoTicket) {
        add(line, " {}=-", key);
    } else {
        add(line, " {}={}", key, ticket);
    }
}

void add_totals(Line& line, const Event& event) {
    if (event.has(kTotals))
        add(line, " allocated={} reserved={}", event.allocated_bytes, event.reserved_bytes);
}

void add_birth(Line& line, const Event& event) {
    add(line, " site={:#x}", event.site());
    add_totals(line, event);
}

void add_death(Line& line, const Event& event) {
    add_ticket(line, "birth", event.birth_ticket());
    add_totals(line, event);
    if (event.kind == Kind::free_fail) add(line, " code={}", event.code);
}

void add_old_birth(Line& line, const Event& event) {
    add(line, " site={:#x} step={} phase={}", event.site(), event.birth_step(), event.birth_phase());
}

void add_call(Line& line, const Event& event) {
    add(line, " site={:#x} extra={:#x}", event.site(), event.extra);
}

void add_failed_call(Line& line, const Event& event) {
    add_ticket(line, "try", event.call_ticket());
    add(line, " code={}", event.code);
}

void add_observation(Line& line, const Event& event) {
    add(line, " free={}", event.device_free_bytes());
    add_totals(line, event);
    if (event.code != 0) add(line, " code={}", event.code);
    const bool bounded = event.kind == Kind::device_sample && event.boundary_before() != 0;
    if (bounded) add(line, " boundary={} age={}", event.boundary_before() - 1, event.boundary_age_counter());
}

void add_operation(Line& line, const Event& event) {
    add(line, " first_failed_bytes={}", event.first_failed_call_bytes());
    add_ticket(line, "first_failed", event.call_ticket());
    add(line, " attempt_bytes={}", event.last_attempt_bytes());
    add_ticket(line, "observed", event.last_observation_ticket());
    add(line, " failed_calls={} code={}", event.failed_call_count(), event.code);
}

void add_phase(Line& line, const Event& event) {
    add(line, " name={} folded={} family={}", event.exact_name(), event.folded_name(), name(event.family()));
    if (event.kind == Kind::phase_end) add_ticket(line, "begin", event.address);
}

void add_step(Line& line, const Event& event) {
    add(line, " name={}", event.exact_name());
    if (event.collection_off()) add(line, " collection=off");
    if (event.implied()) add(line, " implied=yes");
}

void add_tap(Line& line, const Event& event) {
    add(line, " stream={:#x} pool={}", event.stream(), event.pool());
    if (event.told_again()) add(line, " told_again=yes");
    if (event.kind != Kind::tap_oom) return;
    if (event.device_free_bytes() != kNotTold) add(line, " free={}", event.device_free_bytes());
    if (event.requested_bytes() != kNotTold) add(line, " requested={}", event.requested_bytes());
}

using AddFields = void (*)(Line&, const Event&);

// A kind without a row has no fields of its own.
constexpr std::pair<Kind, AddFields> kFields[] = {
    {Kind::block_alloc, add_birth},
    {Kind::block_oom, add_birth},
    {Kind::initial, add_birth},
    {Kind::initial_segment, add_birth},
    {Kind::block_free, add_death},
    {Kind::free, add_death},
    {Kind::free_fail, add_death},
    {Kind::birth, add_old_birth},
    {Kind::try_call, add_call},
    {Kind::ok, add_call},
    {Kind::fail, add_failed_call},
    {Kind::mem_info, add_observation},
    {Kind::device_sample, add_observation},
    {Kind::operation, add_operation},
    {Kind::phase_begin, add_phase},
    {Kind::phase_end, add_phase},
    {Kind::mark, add_phase},
    {Kind::process_sample,
     [](Line& line, const Event& event) {
         add(line, " others_bytes={} others={}", event.other_process_bytes(), event.other_process_count());
     }},
    {Kind::neighbour,
     [](Line& line, const Event& event) {
         add(line, " pid={} bytes={} job={}", event.address, event.link, event.of_this_job() ? 1 : 0);
     }},
    {Kind::blind, [](Line& line, const Event& event) { add(line, " code={}", event.code); }},
    {Kind::step, add_step},
    {Kind::note, [](Line& line, const Event& event) { add(line, " dimension={}", event.link); }},
    {Kind::category,
     [](Line& line, const Event& event) {
         add(line, " category={}", name(static_cast<Category>(event.code)));
     }},
    {Kind::cap,
     [](Line& line, const Event& event) {
         add(line, " limit={} source={}", event.limit_bytes(), name(static_cast<CapSource>(event.code)));
     }},
    {Kind::tap_alloc, add_tap},
    {Kind::tap_free_requested, add_tap},
    {Kind::tap_free_completed, add_tap},
    {Kind::tap_segment_alloc, add_tap},
    {Kind::tap_segment_free, add_tap},
    {Kind::tap_segment_map, add_tap},
    {Kind::tap_segment_unmap, add_tap},
    {Kind::tap_oom, add_tap},
    {Kind::keyframe, [](Line& line, const Event& event) { add(line, " slot={}", event.link); }},
    {Kind::cupti_memory,
     [](Line& line, const Event& event) {
         add(line, " timestamp_ns={} memory_kind={} code={}", event.link, event.extra, event.code);
     }},
};

void add_fields(Line& line, const Event& event) {
    for (const auto& [kind, add_kind] : kFields) {
        if (kind == event.kind) return add_kind(line, event);
    }
}

void add_flags(Line& line, uint8_t flags) {
    constexpr std::pair<EventFlag, std::string_view> kNames[] = {
        {kBirthFollows, "birth_follows"}, {kNested, "nested"},           {kFromTorch, "from_torch"},
        {kCapturing, "capturing"},        {kUnavailable, "unavailable"}, {kImported, "imported"}};
    std::string_view separator = " flags=";
    for (const auto& [flag, text] : kNames) {
        if ((flags & flag) == 0) continue;
        add(line, "{}{}", separator, text);
        separator = ",";
    }
}

void add_event(Line& line, const Capture& capture, const Event& event) {
    const uint64_t time = capture.monotonic_ns(event.time_counter).value_or(event.time_counter);
    add(line, "{} {} {} ", event.ticket, time, name(event.kind));
    if (event.device < 0) {
        add(line, "-");
    } else {
        add(line, "{}", event.device);
    }
    const bool has_address = event.kind != Kind::operation && event.kind != Kind::neighbour &&
                             event.kind != Kind::phase_end && event.kind != Kind::device_sample;
    add(line, " {} {:#x} {}", event.op == Op::none ? "-" : name(event.op), has_address ? event.address : 0,
        event.size_bytes);
    add_fields(line, event);
    add(line, " thread={}", event.thread);
    if (event.library != 0) add(line, " library={}", event.library);
    add_flags(line, event.flags);
    add(line, "\n");
}

void add_gap(Line& line, uint64_t first, uint64_t behind) {
    if (first + 1 == behind) {
        add(line, "{} - gap\n", first);
    } else {
        add(line, "{}-{} - gap\n", first, behind - 1);
    }
}

void flush(Line& line, std::FILE* out, size_t least_bytes) {
    if (line.size() < least_bytes) return;
    std::fwrite(line.data(), 1, line.size(), out);
    line.clear();
}

template <class T>
void field(std::FILE* out, std::string_view key, const T& value) {
    fmt::print(out, "{} {}\n", key, value);
}

std::string version_text(uint32_t version) {
    if (version == 0) return "unknown";
    return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

std::string number_or(const std::optional<int32_t>& number) {
    return number ? fmt::format("{}", *number) : "unset";
}

void dump_window(const Capture& capture, std::FILE* out) {
    const WindowFacts& facts = capture.window.facts;
    field(out, "window_oldest_ticket", capture.window.events.oldest_ticket());
    field(out, "window_begin_ticket", capture.window.events.begin_ticket());
    field(out, "window_end_ticket", capture.window.events.end_ticket());
    field(out, "records_accepted", facts.accepted_count);
    field(out, "records_missing", facts.missing_count);
    field(out, "records_torn", facts.torn_count);
    field(out, "records_unknown_kind", facts.unknown_kind_count);
    field(out, "table_redone", facts.redone_count);
    for (size_t i = 0; i < kUncertaintyCount; ++i) {
        if (facts.uncertain[i]) field(out, "uncertain", name(static_cast<Uncertainty>(i)));
    }
    for (const KeyframeFacts& keyframe : capture.keyframes) {
        fmt::print(out, "keyframe {} ticket {} begin {} end {} dropped {}\n", keyframe.slot,
                   keyframe.failure.ticket, keyframe.begin_ticket, keyframe.end_ticket,
                   keyframe.entries_dropped);
    }
}

void dump_counters(const Counters& counters, std::FILE* out) {
    const std::pair<std::string_view, uint64_t> rows[] = {
        {"lost", counters.lost},
        {"lapped", counters.lapped},
        {"reentrant", counters.reentrant},
        {"no_stack", counters.no_stack},
        {"blind", counters.blind},
        {"table_full", counters.table_full},
        {"boundaries_dropped", counters.boundaries_dropped},
        {"keyframes_skipped", counters.keyframes_skipped},
        {"threads_unlisted", counters.threads_unlisted},
        {"originals_missing", counters.originals_missing},
        {"unknown_frees", counters.unknown_frees},
        {"device_unknown", counters.device_unknown},
        {"names_dropped", counters.names_dropped},
        {"samples_failed", counters.samples_failed},
    };
    for (const auto& [key, value] : rows)
        fmt::print(out, "counter_{} {}\n", key, value);
}

// A name may hold anything, so it comes last; `-`: not known.
void dump_libraries(const Capture& capture, const Names& names, std::FILE* out) {
    for (size_t number = 1; number < capture.libraries.size(); ++number) {
        const Library& library = capture.libraries[number];
        const std::string* const text = names.of_library(capture, static_cast<uint16_t>(number));
        fmt::print(out, "library {} role {} entry_points {} name {}\n", number, name(library.role),
                   library.entry_point_count, text == nullptr ? "-" : plain_ascii(*text));
    }
}

void dump_areas(const HeaderFacts& header, std::FILE* out) {
    uint64_t sum_bytes = 0;
    for (const AreaFacts& area : header.areas) {
        fmt::print(out, "area_{} offset {} bytes {} entries {} of {}\n", area.name, area.offset_bytes,
                   area.size_bytes, area.entry_count, area.entry_bytes);
        sum_bytes += area.size_bytes;
    }
    field(out, "areas_bytes", sum_bytes);
}

}  // namespace

void dump_records(const Capture& capture, const DumpOptions& options, std::FILE* out) {
    constexpr size_t kFlush_bytes = 1 << 16;
    const EventStream& events = capture.window.events;
    Line line;
    uint64_t expected = events.oldest_ticket();
    events.for_each(events.oldest_ticket(), events.end_ticket(), [&](const Event& event) {
        if (event.ticket != expected) add_gap(line, expected, event.ticket);
        expected = event.ticket + 1;
        if (!options.device || event.device == *options.device) add_event(line, capture, event);
        flush(line, out, kFlush_bytes);
        return std::ferror(out) == 0;
    });
    if (expected < events.end_ticket()) add_gap(line, expected, events.end_ticket());
    flush(line, out, 1);
}

namespace {

// What another process asked for, what became of it, and which tickets it concerns.
void dump_arming(const HeaderFacts& header, std::FILE* out) {
    constexpr std::string_view kWishes[] = {"none", "record", "cold", "standby", "detach", "disarm"};
    constexpr std::string_view kAnswers[] = {"none", "done", "refused"};
    const auto word = [](std::span<const std::string_view> words, uint64_t number) {
        return number < words.size() ? words[number] : "unknown";
    };
    field(out, "arm_state", name(header.arm_state));
    field(out, "channel", name(header.channel));
    field(out, "superseded", header.superseded);
    fmt::print(out, "arm_request serial={} wish={} until_ns={}\n", header.arm_request >> 8,
               word(kWishes, header.arm_request & 0xff), header.arm_until_ns);
    fmt::print(out, "arm_answer serial={} answer={} errno={}\n", header.arm_answer >> 8,
               word(kAnswers, header.arm_answer & 0xff), header.arm_errno);
    field(out, "armed_from_ticket", header.armed_from_ticket);
    if (header.disarmed_ticket) field(out, "disarmed_ticket", *header.disarmed_ticket);
    if (header.initial_until_ticket != 0)
        fmt::print(out, "initial_from_ticket {}\ninitial_until_ticket {}\n", header.initial_from_ticket,
                   header.initial_until_ticket);
}

}  // namespace

void dump_header(const Capture& capture, std::FILE* out, const Names& names) {
    const HeaderFacts& header = capture.header;
    fmt::print(out, "version {}.{}\n", header.version_major, header.version_minor);
    field(out, "file_bytes", header.file_bytes);
    fmt::print(out, "ring_id {:02x}\n", fmt::join(header.ring_id, ""));
    dump_areas(header, out);
    field(out, "pid", header.pid);
    field(out, "parent_pid", header.parent_pid);
    field(out, "session_id", header.session_id);
    field(out, "rank", number_or(header.rank));
    field(out, "local_rank", number_or(header.local_rank));
    field(out, "world_size", number_or(header.world_size));
    field(out, "process_start_ticks", header.process_start_ticks);
    fmt::print(out, "host_key {:#x}\n", header.host_key);
    fmt::print(out, "job_key {:#x}\njob_key_source {}\n", header.job_key, name(header.job_key_source));
    field(out, "recorder_version", version_text(header.recorder_version));
    field(out, "torch_version", version_text(header.torch_version));
    field(out, "cudart_version", header.cudart_version);
    field(out, "driver_version", header.driver_version);
    field(out, "clock_source", name(header.clock_source));
    field(out, "start_mode", name(header.start_mode));
    dump_arming(header, out);
    field(out, "origin", name(header.origin));
    field(out, "total_stated", header.total_stated);
    field(out, "tap", name(header.tap));
    field(out, "sidecar", header.has_sidecar ? "beside" : "none");
    fmt::print(out, "stacks wish={} python={} native={} depth={}\n", name(header.stack_wish),
               name(header.python_stacks), name(header.native_stacks), header.stack_depth_count);
    field(out, "python_version", version_text(header.python_version));
    field(out, "sampling", name(header.sampling));
    field(out, "sample_period_ms", header.sample_period_ms);
    const AllocatorConfig& config = header.config;
    fmt::print(
        out,
        "config known={} expandable_segments={} backend_async={} caching_disabled={} roundup_list={} "
        "gc_threshold_permille={} max_split_size_bytes={} roundup_power2_divisions={} unknown_options={}\n",
        config.known, config.expandable_segments, config.backend_async, config.caching_disabled,
        config.roundup_list, config.gc_threshold_permille, config.max_split_size_bytes,
        config.roundup_power2_divisions, config.unknown_option_count);
    field(out, "ring_capacity_records", header.ring_capacity_records);
    field(out, "head_ticket", header.head_ticket);
    dump_counters(header.counters, out);
    if (header.incomplete_from_ticket) field(out, "incomplete_from_ticket", *header.incomplete_from_ticket);
    if (header.exit_ticket)
        fmt::print(out, "exit_ticket {}\nexit_status {}\n", *header.exit_ticket, header.exit_status);
    fmt::print(out, "trouble {}\ntrouble_errno {}\n", name(header.trouble), header.trouble_errno);
    field(out, "failure_count", header.failure_count);
    fmt::print(out, "threads {}\nlibraries {}\nboundaries {}\nboundary_stride {}\nanchors {}\n",
               capture.threads.size(), capture.libraries.size(), capture.boundaries.size(),
               header.boundary_stride, capture.anchors.size());
    dump_libraries(capture, names, out);
    dump_window(capture, out);
}

}  // namespace memsnap
