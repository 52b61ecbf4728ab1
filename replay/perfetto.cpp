// SPDX-License-Identifier: Apache-2.0
//
// The events of a recording, each as what it shows.
#include "perfetto.h"

#include <fmt/format.h>

#include <array>
#include <map>

#include "names.h"
#include "perfetto_lanes.h"
#include "perfetto_words.h"
#include "perfetto_writer.h"
#include "receipt_evidence.h"
#include "snapshot_export_names.h"

namespace memsnap {
namespace {

using Stream = EventStream;

class TraceWriter {
  public:
    TraceWriter(const Capture& capture, const Analysis& analysis, const Naming& naming,
                const snapshot::ByteSink& sink)
        : capture_(capture), names_(capture, naming), points_(capture.window.events), out_(sink) {
        for (const Failure& failure : analysis.failures.listed)
            failures_[failure.event.ticket] = &failure;
        for (const NearMiss& miss : analysis.failures.near_misses)
            near_misses_[miss.ticket] = &miss;
    }

    void take(const Event& event) {
        if (!begin_) begin_ = event;
        last_ = event;
        name_tracks(event);
        if (event.device >= 0) {
            values_[static_cast<size_t>(event.device)].take(event, [&](Track lane, uint64_t value) {
                if (points_.shows(event.device, lane))
                    out_.counter(time_of(event), process_of(event), name(lane), value);
            });
        }
        if (const auto found = failures_.find(event.ticket); found != failures_.end())
            failure(event, *found->second);
        if (const auto found = near_misses_.find(event.ticket); found != near_misses_.end())
            near_miss(event, *found->second);
        if (event.kind == Kind::phase_begin) {
            out_.slice_begins(time_of(event), event.thread, event.ticket, slice_name(event));
        } else if (event.kind == Kind::phase_end) {
            out_.slice_ends(time_of(event), event.thread, event.address);
        } else if (event.kind == Kind::mark) {
            out_.instant(time_of(event), kJobProcess, names_.of_range(event.exact_name()), {});
        } else if (event.kind == Kind::step) {
            out_.instant(time_of(event), kJobProcess, kStepWord,
                         {{"number", event.size_bytes}, {"implied", event.implied()}});
        }
    }

    bool wants_more() const { return out_.open(); }

    bool finish(const std::string& evidence_digest) {
        const auto begin_ns = begin_ ? capture_.realtime_ns(begin_->time_counter) : std::nullopt;
        return out_.finish(last_ ? time_of(*last_) : TraceTime{},
                           {{"format", kPerfettoFormat},
                            {"clock", begin_ns ? kRealtimeWord : kTicketWord},
                            {"begin_realtime_ns", begin_ns},
                            {"evidence_sha256", evidence_digest},
                            {"counter_points_left_out", points_.left_out_count()},
                            {"counter_points_most", TrackPoints::kPoints_most}});
    }

  private:
    // Without a clock a ticket is a microsecond.
    TraceTime time_of(const Event& event) const {
        const auto begin_ns = capture_.realtime_ns(begin_->time_counter);
        const auto now_ns = capture_.realtime_ns(event.time_counter);
        if (!begin_ns || !now_ns) return {(event.ticket - begin_->ticket) * 1000};
        return {*now_ns > *begin_ns ? *now_ns - *begin_ns : 0};
    }

    static int process_of(const Event& event) {
        return event.device < 0 ? kJobProcess : kFirstDeviceProcess + event.device;
    }

    // At the first event of each.
    void name_tracks(const Event& event) {
        if (!std::exchange(job_named_, true)) out_.process(kJobProcess, std::string(kJobWord));
        if (event.device >= 0 && !std::exchange(named_[static_cast<size_t>(event.device)], true))
            out_.process(process_of(event), fmt::format("cuda:{}", event.device));
        if (event.kind == Kind::phase_begin && threads_.emplace(event.thread, true).second)
            out_.thread(event.thread, fmt::format("thread {}", event.thread));
    }

    std::string slice_name(const Event& event) {
        if (event.family() == RangeFamily::collection) return std::string(kCollectionWord);
        return names_.of_range(event.exact_name());
    }

    void failure(const Event& event, const Failure& failure) {
        Json::Object arguments = {{"request_bytes", event.size_bytes},
                                  {"allocator", name(failure.allocator)},
                                  {"op", name(event.op)},
                                  {"ticket", event.ticket}};
        if (event.has(kTotals)) {
            arguments.emplace("allocated_bytes", event.allocated_bytes);
            arguments.emplace("reserved_bytes", event.reserved_bytes);
        }
        out_.instant(time_of(event), process_of(event), kFailureWord, arguments);
    }

    void near_miss(const Event& event, const NearMiss& miss) {
        out_.instant(time_of(event), process_of(event), kNearMissWord,
                     {{"kind", name(miss.kind)},
                      {"request_bytes", miss.request_bytes},
                      {"failed_calls_count", miss.failed_calls_count},
                      {"op", name(miss.op)},
                      {"ticket", event.ticket}});
    }

    const Capture& capture_;
    ExportNames names_;
    TrackPoints points_;
    PerfettoWriter out_;
    std::map<uint64_t, const Failure*> failures_;      // by ticket
    std::map<uint64_t, const NearMiss*> near_misses_;  // likewise
    std::array<TrackValues, kDeviceCapacity> values_;
    std::array<bool, kDeviceCapacity> named_ = {};
    std::map<uint16_t, bool> threads_;
    std::optional<Event> begin_, last_;
    bool job_named_ = false;
};

}  // namespace

bool write_perfetto(const Capture& capture, const Analysis& analysis, const Naming& naming,
                    const snapshot::ByteSink& sink) {
    TraceWriter writer(capture, analysis, naming, sink);
    capture.window.events.for_each([&](const Event& event) {
        writer.take(event);
        return writer.wants_more();
    });
    const Dictionary dictionary(analysis);
    return writer.finish(sha256_hex(Json(evidence_json(capture, analysis, dictionary)).text()));
}

}  // namespace memsnap
