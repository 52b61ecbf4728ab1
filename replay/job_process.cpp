// SPDX-License-Identifier: Apache-2.0
//
// The analysis of one recording, and what a job needs of it.
#include "job_process.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "advice.h"
#include "boundary.h"
#include "outside.h"
#include "receipt_text.h"
#include "report_headline.h"

namespace memsnap {
namespace {

constexpr size_t kGrowthPoints = 6;  // five pairs

std::optional<uint64_t> last_seen(const Capture& capture) {
    std::optional<uint64_t> last;
    if (!capture.anchors.empty()) last = capture.anchors.back().realtime_ns;
    const EventStream& events = capture.window.events;
    for (uint64_t ticket = events.end_ticket(); ticket > events.begin_ticket(); --ticket) {
        Event event;
        if (!events.read(ticket - 1, event)) continue;
        return std::max(last, capture.realtime_ns(event.time_counter));
    }
    return last;
}

std::optional<uint64_t> first_seen(const Capture& capture) {
    if (capture.anchors.empty()) return std::nullopt;
    return capture.anchors.front().realtime_ns;
}

// The one that PyTorch reserved most of.
std::optional<int> busiest_device(const Capture& capture) {
    std::optional<int> busiest;
    uint64_t most_bytes = 0;
    for (int device = 0; device < kDeviceCapacity; ++device) {
        const auto& peak = capture.pinned[static_cast<size_t>(device)].peak_reserved;
        if (!peak || (busiest && peak->reserved_bytes <= most_bytes)) continue;
        busiest = device;
        most_bytes = peak->reserved_bytes;
    }
    return busiest;
}

JobPeaks peaks_of(const Capture& capture, int device) {
    const PinnedDevice& pinned = capture.pinned[static_cast<size_t>(device)];
    JobPeaks peaks;
    if (pinned.peak_allocated) peaks.allocated_bytes = pinned.peak_allocated->allocated_bytes;
    if (pinned.peak_reserved) peaks.reserved_bytes = pinned.peak_reserved->reserved_bytes;
    peaks.outside_bytes = told_outside_bytes(pinned.peak_outside, capture.late_start());
    capture.window.events.for_each([&](const Event& event) {
        if (event.device == device && is_observation(event)) {
            const uint64_t total_bytes = event.device_total_bytes();
            const uint64_t used_bytes = total_bytes - std::min(total_bytes, event.device_free_bytes());
            peaks.device_used_bytes = std::max(peaks.device_used_bytes.value_or(0), used_bytes);
        }
        return true;
    });
    return peaks;
}

JobSteps steps_of(const Capture& capture, int device, uint64_t until_ticket) {
    const Matched matched = marked_boundaries(capture.boundaries, device, until_ticket);
    JobSteps steps{matched.family, matched.points.size(), {}};
    if (matched.points.size() >= kGrowthPoints) {
        const auto& from = matched.points[matched.points.size() - kGrowthPoints];
        steps.rise_bytes = Wide{matched.points.back().active_bytes} - Wide{from.active_bytes};
    }
    return steps;
}

// Those that belong to the last answer about processes before the failure.
std::vector<CardHolder> holders_before(const EventStream& events, const JobFailure& failure) {
    std::vector<CardHolder> waiting, told;
    events.for_each(events.begin_ticket(), failure.ticket, [&](const Event& event) {
        if (event.device != failure.device) return true;
        if (event.kind == Kind::neighbour && !event.has(kUnavailable))
            waiting.push_back({static_cast<uint32_t>(event.address), event.link});
        if (event.kind == Kind::process_sample) told = std::exchange(waiting, {});
        return true;
    });
    std::ranges::stable_sort(told, std::greater(), &CardHolder::bytes);
    return told;
}

std::string_view fix_of(const Incident& incident) {
    const auto primary = incident.verdict.primary();
    if (!primary) return advise_answer(incident.verdict).fix;
    return incident.explanations[static_cast<unsigned>(*primary)].fix;
}

JobFailure failure_of(const Capture& capture, const Analysis& analysis, const JobReading& reading) {
    const Incident& incident = *analysis.incident;
    const Verdict& verdict = incident.verdict;
    const Event& event = incident.failure.event;
    JobFailure failure;
    failure.device = event.device;
    failure.ticket = event.ticket;
    failure.time_ns = capture.realtime_ns(event.time_counter);
    if (incident.from_keyframe) failure.keyframe_slot = incident.failure.keyframe_slot;
    const Headline told = headline(capture, analysis, {}, ReportSymbols(reading.utf8));
    failure.event = told.event + told.beside;
    failure.cause = told.cause;
    failure.fix = fix_of(incident);
    if (reading.write_places) failure.places = reading.write_places(capture, analysis);
    if (const auto primary = verdict.primary()) failure.primary = name(*primary);
    failure.qualifiers = verdict.qualifiers.names();
    failure.from_outside = verdict.primary() == Hypothesis::external;
    failure.holder_shares_job = incident.evidence.outside.holder_shares_job;
    if (incident.evidence.outside.others.exact()) failure.others_bytes = incident.evidence.outside.others.low;
    return failure;
}

JobIncident incident_of(const Analysis& analysis) {
    if (analysis.without_evidence()) return JobIncident::lost;
    if (!analysis.incident) return JobIncident::none;
    return analysis.incident->failure.followed ? JobIncident::survived : JobIncident::fatal;
}

Result<void> take_receipt(const Recording& recording, const Analysis& analysis, const JobReading& reading,
                          JobProcess& process) {
    if (!reading.write_receipt) return {};
    auto text = reading.write_receipt(recording, analysis);
    if (!text) return failure(std::move(text.error()));
    rapidjson::Document receipt;
    if (!parse_json(*text, receipt).empty()) return {};
    process.receipt_digest = text_of(*member(*member(receipt, "digest"), "receipt"));
    if (reading.keep_receipts) process.receipt = std::move(*text);
    return {};
}

Result<void> take_recording(const Recording& recording, const JobReading& reading, JobProcess& process) {
    const Capture& capture = recording.capture;
    process.header = capture.header;
    process.first_seen_ns = first_seen(capture);
    process.last_seen_ns = last_seen(capture);
    const auto analysis = analyse(capture, {});
    if (!analysis) return failure(analysis.error());
    process.verdict_exit_status = exit_status(*analysis);
    process.incident = incident_of(*analysis);
    process.device = busiest_device(capture);
    uint64_t until_ticket = kNoTicket;
    if (analysis->incident) {
        process.failure = failure_of(capture, *analysis, reading);
        process.device = process.failure->device;
        until_ticket = process.failure->ticket;
        const auto looked = look_at_failure(capture, *process.failure, [&](const EventStream& events) {
            process.failure->holders = holders_before(events, *process.failure);
        });
        if (!looked) return failure(looked.error());
    }
    if (process.device) {
        process.peaks = peaks_of(capture, *process.device);
        process.steps = steps_of(capture, *process.device, until_ticket);
    }
    return take_receipt(recording, *analysis, reading, process);
}

}  // namespace

JobProcess read_process(const std::string& path, const JobReading& reading) {
    JobProcess process;
    process.path = path;
    const auto recording = open_recording(path, {});
    if (!recording) {
        process.error = recording.error();
        return process;
    }
    if (auto taken = take_recording(*recording, reading, process); !taken) {
        process = {};  // of a recording that breaks a rule its head alone is believed
        process.path = path;
        process.error = taken.error();
    }
    return process;
}

Result<void> look_at_failure(const Capture& capture, const JobFailure& failure, const StreamLook& look) {
    if (!failure.keyframe_slot) {
        look(capture.window.events);
        return {};
    }
    const auto keyframe = capture.read_keyframe(*failure.keyframe_slot);
    if (!keyframe) return memsnap::failure(keyframe.error());
    look((*keyframe)->window.events);
    return {};
}

}  // namespace memsnap
