// SPDX-License-Identifier: Apache-2.0
//
// Objects of the line: the process, its devices, and of those sites, trend and history.
#include "live_json.h"

#include <fmt/format.h>

#include "outside.h"
#include "site_labels.h"
#include "utf8.h"

namespace memsnap {
namespace {

constexpr std::string_view name(TrendLevel level) {
    return level == TrendLevel::peak ? "peak" : "point";
}

// What the file alone cannot tell: how long ago something was.
class Ages {
  public:
    Ages(const Capture& capture, bool running, uint64_t now_ns)
        : capture_(capture), running_(running), now_ns_(now_ns) {}
    // Null where the process is known to run no more or is of another host, or its clock cannot be read.
    Json of(uint64_t time_counter) const {
        const auto then_ns = running_ ? capture_.monotonic_ns(time_counter) : std::nullopt;
        if (!then_ns || now_ns_ == 0) return {};
        return now_ns_ > *then_ns ? Json(now_ns_ - *then_ns) : Json(0);
    }
    Json of(const std::optional<Said>& said) const { return said ? of(said->time_counter) : Json(); }

  private:
    const Capture& capture_;
    bool running_;
    uint64_t now_ns_;
};

Json bytes_of(const std::optional<Said>& said) {
    return said ? Json(said->bytes) : Json();
}

Json::Object counters_json(const Counters& counted) {
    const std::pair<const char*, uint64_t> all[] = {{"lost", counted.lost},
                                                    {"lapped", counted.lapped},
                                                    {"no_stack", counted.no_stack},
                                                    {"blind", counted.blind},
                                                    {"table_full", counted.table_full},
                                                    {"boundaries_dropped", counted.boundaries_dropped},
                                                    {"keyframes_skipped", counted.keyframes_skipped},
                                                    {"threads_unlisted", counted.threads_unlisted},
                                                    {"originals_missing", counted.originals_missing},
                                                    {"unknown_frees", counted.unknown_frees},
                                                    {"device_unknown", counted.device_unknown},
                                                    {"names_dropped", counted.names_dropped},
                                                    {"samples_failed", counted.samples_failed}};
    Json::Object object;
    for (const auto& [what, count] : all) {
        if (count != 0) object.emplace(what, count);
    }
    return object;
}

// Equal for the processes of one job, and tells nothing else of it.
Json job_json(const HeaderFacts& header) {
    constexpr size_t kShown = 12;
    if (header.job_key_source == JobKeySource::none) return {};
    const auto source = static_cast<uint32_t>(header.job_key_source);
    return sha256_hex(fmt::format("memsnap job {} {}", source, header.job_key)).substr(0, kShown);
}

Json trend_json(const std::optional<Trend>& trend) {
    if (!trend) return {};
    return Json::Object{{"family", name(trend->family)},
                        {"points_count", trend->point_count},
                        {"steps_count", trend->step_count},
                        {"change_bytes", trend->change_bytes},
                        {"bytes_per_step", trend->bytes_per_step()},
                        {"growing", trend->growing},
                        {"full_in_steps", trend->full_in_steps},
                        {"full_from", trend->full_in_steps ? Json(name(trend->level)) : Json()}};
}

Json sites_json(const LiveDevice& device, const Capture& capture, const LiveOptions& options,
                const Naming& naming) {
    const size_t count = std::min(options.sites_count, device.sites.size());
    std::vector<uint64_t> tokens;
    for (size_t i = 0; i < count; ++i)
        tokens.push_back(device.sites[i].key.site);
    std::vector<std::string> labels(count);
    if (options.with_names && naming.sites != nullptr)
        labels = site_labels(*naming.sites, tokens, options.label_columns, Letters::utf8);
    Json::Array list;
    for (size_t i = 0; i < count; ++i) {
        const SiteShare& share = device.sites[i];
        const bool stack = share.key.site != 0;
        list.push_back(
            Json::Object{{"bytes", share.bytes},
                         {"blocks_count", share.block_count},
                         {"token", stack ? Json(site_token(share.key.site, capture, naming)) : Json()},
                         {"block_bytes", stack ? Json() : Json(share.key.granted_bytes)},
                         {"label", labels[i].empty() ? Json() : Json(utf8_text(labels[i]))}});
    }
    return list;
}

// The last samples, oldest first: [age, active, reserved, free].
Json history_json(const PinnedDevice& pinned, const Ages& ages) {
    Json::Array list;
    for (const Event& sample : pinned.samples) {
        if (!is_observation(sample) || !sample.has(kTotals)) continue;
        Json::Array row;
        row.push_back(ages.of(sample.time_counter));
        for (const uint64_t bytes :
             {sample.allocated_bytes, sample.reserved_bytes, sample.device_free_bytes()})
            row.push_back(Json(bytes));
        list.emplace_back(std::move(row));
    }
    return list;
}

Json device_json(const LiveDevice& device, const LiveFacts& facts, const Ages& ages,
                 const LiveOptions& options, const Naming& naming) {
    const PinnedDevice& pinned = facts.capture.pinned[static_cast<size_t>(device.device)];
    return Json::Object{{"device", device.device},
                        {"active_bytes", bytes_of(device.active)},
                        {"reserved_bytes", bytes_of(device.reserved)},
                        {"report_age_ns", ages.of(device.reserved)},
                        {"blocks_count", device.block_count},
                        {"total_bytes", bytes_of(device.total)},
                        {"free_bytes", bytes_of(device.free)},
                        {"device_age_ns", ages.of(device.free)},
                        {"others_bytes", bytes_of(device.others)},
                        {"others_count", device.others ? Json(device.others_count) : Json()},
                        {"others_age_ns", ages.of(device.others)},
                        {"outside_bytes", device.outside_bytes},
                        {"reserved_then_bytes", device.reserved_then_bytes},
                        {"cap_bytes", device.cap_bytes},
                        {"available_bytes", device.available_bytes()},
                        {"margin_bytes", device.margin_bytes()},
                        {"peak_active_bytes", device.peak_active_bytes},
                        {"peak_reserved_bytes", device.peak_reserved_bytes},
                        {"peak_outside_bytes", device.peak_outside_bytes},
                        {"trend", trend_json(device.trend)},
                        {"sites", sites_json(device, facts.capture, options, naming)},
                        {"history", history_json(pinned, ages)}};
}

Json failures_json(const Capture& capture, const Ages& ages) {
    Json::Array list;
    for (const KeyframeFacts& keyframe : capture.keyframes) {
        const Event& failure = keyframe.failure;
        if (failure.kind == Kind::none) continue;
        list.push_back(Json::Object{{"ticket", failure.ticket},
                                    {"kind", name(failure.kind)},
                                    {"device", failure.device < 0 ? Json() : Json(int{failure.device})},
                                    {"bytes", failure.size_bytes},
                                    {"age_ns", ages.of(failure.time_counter)}});
    }
    return list;
}

}  // namespace

Json live_json(const LiveFacts& facts, const LiveOptions& options, const Naming& naming, uint64_t now_ns) {
    const Capture& capture = facts.capture;
    const HeaderFacts& header = capture.header;
    const auto alive = is_alive(header);
    const LiveState state = state_of(header, alive);
    const bool exited = header.exit_ticket.has_value();
    const bool running = is_of_this_host(header) && alive != false && !exited;
    const Ages ages(capture, running, now_ns);
    Json::Array devices;
    for (const LiveDevice& device : live_devices(facts))
        devices.push_back(device_json(device, facts, ages, options, naming));
    return Json::Object{{"schema", kLiveSchema},
                        {"file", utf8_text(capture.path)},
                        {"ring_id", hexadecimal(header.ring_id)},
                        {"pid", header.pid},
                        {"alive", alive},
                        {"state", name(state)},
                        {"exit_status", exited ? Json(Wide{header.exit_status}) : Json()},
                        {"job", job_json(header)},
                        {"rank", header.rank},
                        {"local_rank", header.local_rank},
                        {"world_size", header.world_size},
                        {"late", capture.late_start()},
                        {"recorder_version", header.recorder_version},
                        {"torch_version", header.torch_version},
                        {"events_count", header.head_ticket},
                        {"file_bytes", header.file_bytes},
                        {"failures_count", header.failure_count},
                        {"failures", failures_json(capture, ages)},
                        {"counters", counters_json(header.counters)},
                        {"trouble", name(header.trouble)},
                        {"devices", std::move(devices)}};
}

Json live_error_json(const Error& error) {
    return Json::Object{{"schema", kLiveSchema},
                        {"file", utf8_text(error.file)},
                        {"error", Json::Object{{"code", static_cast<int>(error.code)},
                                               {"rule", utf8_text(error.rule)},
                                               {"detail", utf8_text(error.detail)},
                                               {"way_out", utf8_text(error.way_out)}}}};
}

}  // namespace memsnap
