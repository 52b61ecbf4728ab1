// SPDX-License-Identifier: Apache-2.0
//
// The members in their order: the traces first, since what they end at is known behind them.
#include "snapshot_export.h"

#include <memory>
#include <vector>

#include "../snapshot/write_snapshot.h"
#include "snapshot_export_lists.h"
#include "snapshot_export_names.h"
#include "snapshot_export_survey.h"
#include "snapshot_export_trace.h"

namespace memsnap {
namespace {

using Traces = std::vector<std::unique_ptr<DeviceTrace>>;

snapshot::Settings settings_of(const AllocatorConfig& config) {
    snapshot::Settings settings;
    settings.known = config.known;
    settings.expandable_segments = config.expandable_segments;
    if (config.max_split_size_bytes != 0) settings.max_split_size_bytes = config.max_split_size_bytes;
    settings.gc_threshold_permille = config.gc_threshold_permille;
    if (config.roundup_power2_divisions != 0 && !config.roundup_list)
        settings.roundup_power2_divisions = {{1, config.roundup_power2_divisions}};
    return settings;
}

Traces write_traces(const Capture& capture, const ExportSurvey& survey, ExportNames& names,
                    snapshot::SnapshotWriter& out) {
    Traces traces;
    out.open("device_traces");
    const int count = std::max(survey.device_count(), 1);  // the viewer needs one to look at
    for (int device = 0; device < count; ++device) {
        traces.push_back(std::make_unique<DeviceTrace>(
            capture, survey, names, device, [&](const snapshot::WrittenEntry& entry) { out.entry(entry); }));
        out.open_trace();
        capture.window.events.for_each([&](const Event& event) {
            traces.back()->take(event);
            return out.wants_more();
        });
        traces.back()->finish();
        out.close_trace();
    }
    out.close();
    return traces;
}

}  // namespace

Result<ExportedCounts> write_snapshot(const Capture& capture, const Naming& naming,
                                      const snapshot::ByteSink& sink) {
    const auto known = survey(capture);
    if (!known) return failure(known.error());
    ExportNames names(capture, naming);
    snapshot::SnapshotWriter out(sink, [&](uint64_t site) { return names.frames(site); });
    const Traces traces = write_traces(capture, *known, names, out);
    out.open("segments");
    for (size_t device = 0; device < traces.size(); ++device) {
        traces[device]->memory().for_each_segment(
            static_cast<int>(device), [&](const snapshot::WrittenSegment& segment) { out.segment(segment); });
    }
    out.close();
    out.settings(settings_of(capture.header.config));
    write_annotations(capture, *known, names, out);
    write_host_memory(capture, *known, out);
    std::vector<snapshot::Observation> observations;
    for (const auto& trace : traces)
        observations.insert(observations.end(), trace->observations().begin(), trace->observations().end());
    out.memsnap(known->tap_seen, observations);
    const bool complete = out.finish();
    return ExportedCounts{out.entry_count(), out.segment_count(), complete};
}

}  // namespace memsnap
