// SPDX-License-Identifier: Apache-2.0
//
// The composition of the stages. A failure that the ring still holds is looked at in the ring, an older one
// in its keyframe; the ring is replayed and validated either way.
#include "analysis.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "boundary.h"
#include "checkpoint.h"
#include "gather.h"
#include "outside.h"

namespace memsnap {
namespace {

bool is_block_event(const Event& event) {
    return event.kind == Kind::block_alloc || event.kind == Kind::block_free;
}

void count_beat(HeartbeatCounter& counter, const Event& event, const Change& change) {
    if (event.kind == Kind::block_alloc) {
        counter.born(event.site(), event.size_bytes, event.ticket);
    } else {
        counter.freed(change.freed ? change.freed->site : 0, event.size_bytes);
    }
}

// The last caught failure of the device whose scope had ended.
std::optional<uint64_t> kept_since(const Failures& failures, const Failure& failure) {
    std::optional<uint64_t> since;
    for (const Failure& earlier : failures.listed) {
        const bool ended = earlier.event.device == failure.event.device && earlier.followed &&
                           earlier.scope_end_ticket <= failure.event.ticket;
        if (ended) since = std::max(since.value_or(0), earlier.event.ticket);
    }
    return since;
}

Ledger ledger_at_peak(const Window& window, const Peak& peak, const Checkpoint& before) {
    return peak.at_begin ? Ledger(window) : ledger_at(window, before, peak.active_ticket);
}

// Follows a replay up to the failing record and gathers the evidence there.
class IncidentWatch {
  public:
    IncidentWatch(const Vantage& vantage, const Ledger& begin, const Failures& failures,
                  const Failure& failure)
        : vantage_(vantage),
          failures_(failures),
          failure_(failure),
          device_(failure.event.device),
          marked_(marked_boundaries(vantage.capture.boundaries, device_, failure.event.ticket)),
          log_(vantage.capture, vantage.pinned[static_cast<size_t>(device_)], device_, failure.event.ticket,
               vantage.capture.monotonic_ns(failure.event.time_counter)),
          peak_(begin, vantage.window.events.begin_ticket(), device_),
          history_(vantage.window.events.begin_ticket(), device_, vantage.capture.late_start()),
          trail_(vantage.capture, vantage.window, begin, marked_, failure.event) {
        anchors_.mark(peak_.peak().active_ticket);
    }

    void operator()(const Event& event, const Ledger& ledger, const Change& change) {
        if (incident_) return;
        history_.take(event, ledger, change);
        trail_.take(event, ledger, change);
        if (event.device == device_) anchors_.take(event, ledger);
        checkpoints_.take(event, ledger);
        if (peak_.take(event, ledger)) {
            anchors_.mark(event.ticket);
            before_peak_ = checkpoints_.last();
        }
        if (event.ticket >= failure_.event.ticket) {
            decide_incident(ledger);
            return;
        }
        if (event.device != device_) return;
        if (is_block_event(event)) {
            if (infers()) count_beat(counter_, event, change);
        } else {
            log_.take(event);
        }
    }

    bool reached() const { return incident_.has_value(); }

    // What was found at the failing instant, once it was reached.
    void give(Analysis& analysis) {
        look_at_peak(analysis);
        analysis.incident = std::move(incident_);
    }

  private:
    void look_at_peak(Analysis& analysis) const {
        const Peak& peak = peak_.peak();
        const Ledger ledger = ledger_at_peak(vantage_.window, peak, before_peak_);
        Balance at_peak = at_failure_;
        if (peak.active_ticket != failure_.event.ticket) {
            const BalanceWish wish = {.device = device_,
                                      .ticket = peak.active_ticket,
                                      .request_bytes = failure_.event.size_bytes,
                                      .anchored = anchors_.marked()};
            at_peak = balance_at(ledger, wish);
        }
        at_peak.instant = BalanceInstant::peak;
        analysis.holders = {std::move(at_peak), at_failure_};
        analysis.peak_sites = {peak_sites(ledger, device_, peak.active_ticket)};
        if (requests_) analysis.requests = {*requests_};
    }

    bool infers() const { return marked_.basis == GrowthBasis::too_few && !vantage_.from_keyframe; }

    Matched matched() const {
        if (marked_.basis != GrowthBasis::too_few) return marked_;
        if (vantage_.from_keyframe) {
            Matched lapped = marked_;
            lapped.basis = GrowthBasis::lapped;
            return lapped;
        }
        auto inferred = inferred_boundaries(vantage_.window.events, device_, failure_.event.ticket, counter_);
        return inferred ? std::move(*inferred) : marked_;
    }

    void decide_incident(const Ledger& ledger) {
        Incident& incident = incident_.emplace();
        incident.boundaries = matched();
        Gathered gathered =
            gather(vantage_, failure_, ledger, incident.boundaries, log_, kept_since(failures_, failure_));
        incident.failure = failure_;
        incident.scene = std::move(gathered.scene);
        incident.evidence = gathered.evidence;
        incident.history = {peak_.peak(), history_.lifetimes(), history_.reconciliation()};
        incident.trail = trail_.trail(ledger);
        incident.verdict = decide(incident.evidence);
        incident.explanations = explain(incident.evidence, incident.verdict);
        incident.phase = ledger.phase_on(failure_.event.thread);
        incident.from_keyframe = vantage_.from_keyframe;
        const uint64_t ticket = failure_.event.ticket;
        requests_ = requests_at(ledger, device_, ticket, requested_by_tap());
        at_failure_ = balance_at_failure(ledger, incident.evidence, ticket, anchors_.latest(ticket));
    }

    std::optional<uint64_t> requested_by_tap() const {
        const auto tap = tap_of_failure(vantage_.window.events, failure_.event);
        if (!tap || tap->requested_bytes() == kNotTold) return std::nullopt;
        return tap->requested_bytes();
    }

    const Vantage vantage_;
    const Failures& failures_;
    const Failure& failure_;
    int device_;
    Matched marked_;
    HeartbeatCounter counter_;
    ObservationLog log_;
    PeakWatch peak_;
    HistoryWatch history_;
    TrailWatch trail_;
    AnchorLog anchors_;
    Checkpoints checkpoints_;
    Checkpoint before_peak_;
    Balance at_failure_;
    std::optional<Requests> requests_;
    std::optional<Incident> incident_;
};

// The lanes and the holders of every device, for a job that did not fail.
class ShapeWatch {
  public:
    ShapeWatch(const Capture& capture, const Ledger& begin)
        : capture_(capture), counters_(kDeviceCapacity), anchors_(kDeviceCapacity) {
        const uint64_t begin_ticket = capture.window.events.begin_ticket();
        for (int device = 0; device < kDeviceCapacity; ++device) {
            peaks_.emplace_back(begin, begin_ticket, device);
            anchors_[static_cast<size_t>(device)].mark(begin_ticket);
        }
    }

    void operator()(const Event& event, const Ledger& ledger, const Change& change) {
        checkpoints_.take(event, ledger);
        if (event.device < 0) return;
        const auto device = static_cast<size_t>(event.device);
        anchors_[device].take(event, ledger);
        if (peaks_[device].take(event, ledger)) {
            anchors_[device].mark(event.ticket);
            before_peaks_[device] = checkpoints_.last();
        }
        if (is_block_event(event)) {
            count_beat(counters_[device], event, change);
        } else if (event.kind == Kind::mem_info && event.code == 0) {
            totals_[device] = event.device_total_bytes();
        }
    }

    std::vector<DeviceShapes> shapes(const Ledger& ledger) const {
        std::vector<DeviceShapes> all;
        for (const int device : ledger.devices()) {
            const EventStream& events = capture_.window.events;
            const PinnedDevice& pinned = capture_.pinned[static_cast<size_t>(device)];
            Matched matched = marked_boundaries(capture_.boundaries, device, events.end_ticket());
            if (matched.basis == GrowthBasis::too_few) {
                auto inferred = inferred_boundaries(events, device, events.end_ticket(),
                                                    counters_[static_cast<size_t>(device)]);
                if (inferred) matched = std::move(*inferred);
            }
            auto total = totals_[static_cast<size_t>(device)];
            if (!total && pinned.last_observation) total = pinned.last_observation->device_total_bytes();
            all.push_back(find_shapes(device, matched, pinned, total, capture_.late_start()));
        }
        return all;
    }

    // Who held the cards of the shapes. `ledger` is the state at the window's end. A failure that nothing is
    // left of leaves no instant to balance.
    void look_at_holders(const Ledger& ledger, Analysis& analysis) const {
        const uint64_t last_ticket = capture_.window.events.end_ticket() - 1;
        for (const DeviceShapes& lanes : analysis.shapes) {
            const auto device = static_cast<size_t>(lanes.device);
            const Peak& peak = peaks_[device].peak();
            const BalanceWish at_peak = {.device = lanes.device,
                                         .ticket = peak.active_ticket,
                                         .request_bytes = std::nullopt,
                                         .anchored = anchors_[device].marked()};
            const BalanceWish at_end = {.device = lanes.device,
                                        .instant = BalanceInstant::end,
                                        .ticket = last_ticket,
                                        .request_bytes = std::nullopt,
                                        .anchored = anchors_[device].latest(last_ticket)};
            const Ledger peak_ledger = ledger_at_peak(capture_.window, peak, before_peaks_[device]);
            if (analysis.lost_failure_count == 0) {
                analysis.holders.push_back(balance_at(peak_ledger, at_peak));
                analysis.holders.push_back(balance_at(ledger, at_end));
            }
            analysis.peak_sites.push_back(peak_sites(peak_ledger, lanes.device, peak.active_ticket));
            if (const auto requests = requests_at(ledger, lanes.device, last_ticket, std::nullopt))
                analysis.requests.push_back(*requests);
        }
    }

  private:
    const Capture& capture_;
    std::vector<HeartbeatCounter> counters_;
    std::vector<PeakWatch> peaks_;
    std::vector<AnchorLog> anchors_;
    Checkpoints checkpoints_;
    std::array<Checkpoint, kDeviceCapacity> before_peaks_;
    std::array<std::optional<uint64_t>, kDeviceCapacity> totals_ = {};
};

Error usage_error(const Capture& capture, std::string detail) {
    return {.code = ErrorCode::usage,
            .file = capture.path,
            .offset_bytes = std::nullopt,
            .ticket = std::nullopt,
            .rule = "no_such_failure",
            .detail = std::move(detail),
            .way_out = "memsnap-replay dump lists every record with its ticket and device"};
}

Error unreadable_instant(const Capture& capture, const Failure& failure) {
    return {.code = ErrorCode::corrupt,
            .file = capture.path,
            .offset_bytes = std::nullopt,
            .ticket = failure.event.ticket,
            .rule = "failing_record_missing",
            .detail = "the failing record is in neither the window nor its keyframe",
            .way_out = "memsnap-replay dump shows what the file still holds"};
}

Result<void> look_in_keyframe(const Capture& capture, const Failure& failure, Analysis& analysis) {
    auto keyframe = capture.read_keyframe(*failure.keyframe_slot);
    if (!keyframe) return memsnap::failure(std::move(keyframe.error()));
    const Keyframe& frame = **keyframe;
    const Vantage vantage{capture, frame.window, frame.pinned, frame.operation, true};
    Ledger ledger(frame.window);
    IncidentWatch watch(vantage, ledger, analysis.failures, failure);
    LevelsWatch levels(frame.window, ledger);
    auto outcome = replay(capture, frame.window, ledger,
                          [&](const Event& event, const Ledger& state, const Change& change) {
                              levels.take(event, state);
                              watch(event, state, change);
                          });
    if (!outcome) return memsnap::failure(std::move(outcome.error()));
    if (!watch.reached()) return memsnap::failure(unreadable_instant(capture, failure));
    watch.give(analysis);
    analysis.levels = levels.levels();
    analysis.notes = last_notes(frame.window.events, failure.event.ticket);
    return {};
}

}  // namespace

Result<Analysis> analyse(const Capture& capture, const AnalysisOptions& options) {
    Analysis analysis;
    analysis.failures = find_failures(capture);
    const auto index = analysis.failures.incident(options.device, options.at_ticket);
    if (options.at_ticket && !index) {
        return memsnap::failure(
            usage_error(capture, fmt::format("no failure has the ticket {}", *options.at_ticket)));
    }
    Ledger ledger(capture.window);
    LevelsWatch levels(capture.window, ledger);
    if (!index) {
        ShapeWatch watch(capture, ledger);
        auto outcome = replay(capture, capture.window, ledger,
                              [&](const Event& event, const Ledger& state, const Change& change) {
                                  levels.take(event, state);
                                  watch(event, state, change);
                              });
        if (!outcome) return memsnap::failure(std::move(outcome.error()));
        analysis.replay = *outcome;
        analysis.levels = levels.levels();
        analysis.shapes = watch.shapes(ledger);
        analysis.notes = last_notes(capture.window.events, capture.window.events.end_ticket());
        if (options.device) {
            std::erase_if(analysis.shapes,
                          [&](const DeviceShapes& s) { return s.device != *options.device; });
            if (analysis.shapes.empty()) {
                return memsnap::failure(
                    usage_error(capture, fmt::format("nothing was recorded of device {}", *options.device)));
            }
        }
        if (analysis.failures.listed.empty() && analysis.failures.near_misses.empty()) {
            analysis.lost_failure_count = capture.header.failure_count;
        }
        watch.look_at_holders(ledger, analysis);
        return analysis;
    }
    const Failure& failure = analysis.failures.listed[*index];
    const std::vector<Event> in_ring;
    const Vantage vantage{capture, capture.window, capture.pinned, in_ring, false};
    IncidentWatch watch(vantage, ledger, analysis.failures, failure);
    const auto visit = [&](const Event& event, const Ledger& state, const Change& change) {
        if (!failure.in_window) return;
        levels.take(event, state);
        watch(event, state, change);
    };
    auto outcome = replay(capture, capture.window, ledger, visit);
    if (!outcome) return memsnap::failure(std::move(outcome.error()));
    analysis.replay = *outcome;
    if (!failure.in_window) {
        if (auto looked = look_in_keyframe(capture, failure, analysis); !looked)
            return memsnap::failure(std::move(looked.error()));
        return analysis;
    }
    if (!watch.reached()) return memsnap::failure(unreadable_instant(capture, failure));
    watch.give(analysis);
    analysis.levels = levels.levels();
    analysis.notes = last_notes(capture.window.events, failure.event.ticket);
    return analysis;
}

int exit_status(const Analysis& analysis) {
    if (analysis.incident) return analysis.incident->verdict.exit_status();
    return analysis.without_evidence() ? 11 : 0;
}

}  // namespace memsnap
