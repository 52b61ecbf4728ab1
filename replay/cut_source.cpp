// SPDX-License-Identifier: Apache-2.0
//
// Which events matter to the failing device, and how far back the verdict needs them.
#include "cut_source.h"

#include <algorithm>
#include <deque>
#include <unordered_set>

#include "outside.h"
#include "policy.h"
#include "window_builder.h"

namespace memsnap {
namespace {

bool reports(const Event& event) {
    return is_report(event) && event.kind != Kind::block_oom;
}

class Chooser {
  public:
    Chooser(const CutSource& source, uint64_t wanted_count)
        : source_(source),
          failure_(source.failure()),
          window_(source.window()),
          device_(source.device()),
          wanted_count_(wanted_count) {
        choice_.operation = read_operation(window_.events, records(), failure_, true);
        add_up_neighbours();
    }

    CutChoice run() {
        const uint64_t needed_from = needed_ticket();
        collect(needed_from);
        // Only a report settles which memory of PyTorch's allocator is a segment.
        const bool settled = failure_.kind == Kind::block_oom || last_report_ticket_ == kNoTicket ||
                             std::ranges::any_of(kept_, reports);
        if (!settled) collect(std::min(needed_from, last_report_ticket_));
        choice_.begin_ticket = std::min(kept_.empty() ? failure_.ticket : kept_.front().ticket, needed_from);
        choice_.begin_ticket = std::max(choice_.begin_ticket, window_.events.begin_ticket());
        restate();
        // Both tell of the failure, wherever they stand.
        for (const auto& record : {operation_record_, tap_of_failure(window_.events, failure_)})
            if (record) kept_.push_back(*record);
        add_older_operation();
        add_after();
        take_back_refused_frees();
        choice_.events.assign(kept_.begin(), kept_.end());
        std::ranges::sort(choice_.events, {}, &Event::ticket);
        return std::move(choice_);
    }

  private:
    const std::vector<Event>& records() const {
        static const std::vector<Event> none;
        return source_.keyframe ? source_.keyframe->operation : none;
    }

    // Who they are is told to nobody: one line says what all of them held at a sample.
    void add_up_neighbours() {
        NeighbourLog log;
        window_.events.for_each(window_.events.begin_ticket(), failure_.ticket, [&](const Event& event) {
            if (event.device != device_) return true;
            log.take(event);
            const bool sampled = event.kind == Kind::process_sample && !event.has(kUnavailable);
            if (sampled && log.job_bytes() != 0)
                choice_.job_bytes[event.ticket] =
                    static_cast<uint64_t>(std::min(log.job_bytes(), Wide{UINT64_MAX}));
            return true;
        });
    }

    uint64_t needed_ticket() const {
        const Growth& growth = source_.incident.evidence.growth;
        if (growth.basis == GrowthBasis::certified || growth.basis == GrowthBasis::uncertified)
            return window_.events.begin_ticket();
        uint64_t ticket = std::min(failure_.ticket, choice_.operation.first_refused_ticket);
        if (const auto& seen = choice_.operation.observation) ticket = std::min(ticket, seen->ticket);
        const Origin origin = source_.capture.header.origin;
        if (origin != Origin::recorder)
            ticket =
                std::min(ticket, release_begin_ticket(window_.events, choice_.operation, failure_, origin));
        if (const auto kept = source_.kept_since_ticket()) ticket = std::min(ticket, *kept);
        return std::min(ticket, repeated_ticket());
    }

    // The same request as an earlier step served it, where that is what makes the growth suffice.
    uint64_t repeated_ticket() const {
        const Incident& incident = source_.incident;
        const Growth& growth = incident.evidence.growth;
        const auto& numbers = incident.verdict.numbers;
        const bool needed =
            growth.request_repeated && growth.retained > 0 && numbers && growth.retained < numbers->deficit;
        if (!needed) return kNoTicket;
        const std::vector<MatchedPoint>& points = incident.boundaries.points;
        const uint64_t from = points[points.size() - policy::kBoundariesNeeded_count].ticket;
        uint64_t ticket = kNoTicket;
        window_.events.for_each(
            std::max(from, window_.events.begin_ticket()), points.back().ticket, [&](const Event& event) {
                const bool same = event.kind == Kind::block_alloc && event.device == device_ &&
                                  event.size_bytes == failure_.size_bytes && event.site() == failure_.site();
                if (same) ticket = event.ticket;
                return true;
            });
        return ticket;
    }

    void collect(uint64_t needed_from) {
        kept_.clear();
        objects_.clear();
        for (const LiveObject& object : window_.objects) {
            if (object.live_at_begin && object.object != Object::block && object.device == device_)
                objects_.insert(object.birth_ticket);
        }
        Ledger ledger(window_);
        window_.events.for_each(window_.events.begin_ticket(), failure_.ticket + 1, [&](const Event& event) {
            Change change;
            ledger.apply(event, change);
            if (reports(event) && event.device == device_) last_report_ticket_ = event.ticket;
            if (!matters(event, ledger, change)) return true;
            kept_.push_back(event);
            shorten(needed_from);
            return true;
        });
    }

    // A free that was requested is not cut from its report: only both tell whether it is deferred.
    void shorten(uint64_t needed_from) {
        bool requested = false;
        while (!kept_.empty() && (requested || kept_.size() > wanted_count_) &&
               kept_.front().ticket < needed_from) {
            const Kind kind = kept_.front().kind;
            if (kind == Kind::tap_free_requested) requested = true;
            if (kind == Kind::block_free) requested = false;
            kept_.pop_front();
        }
    }

    bool matters(const Event& event, const Ledger& ledger, const Change& change) {
        switch (event.kind) {
            case Kind::initial_segment:
                if (event.device != device_) return false;
                objects_.insert(event.ticket);
                return true;
            case Kind::block_alloc:
            case Kind::initial:
            case Kind::cap:
            case Kind::tap_free_requested:
            case Kind::tap_free_completed:
                return event.device == device_;
            case Kind::tap_segment_alloc:
            case Kind::tap_segment_map:
                return tells_of_segment(event, ledger);
            case Kind::block_free:
                return event.device == device_ && change.freed.has_value();
            case Kind::mem_info:
            case Kind::device_sample:
                return event.device == device_ && is_observation(event);
            case Kind::process_sample:
                return event.device == device_;
            case Kind::step:
                return true;
            case Kind::ok:
                return made_for_device(event, ledger);
            case Kind::free:
                return is_death(event) && objects_.erase(event.birth_ticket()) != 0;
            case Kind::free_fail:
                return event.device == device_;
            case Kind::fail:
                return event.thread == failure_.thread && is_birth_call(event) &&
                       event.ticket >= choice_.operation.first_refused_ticket;
            case Kind::block_oom:
                return event.ticket == failure_.ticket || event.ticket == source_.kept_since_ticket();
            case Kind::operation:
                if (event.thread == failure_.thread && failure_.kind == Kind::block_oom)
                    operation_record_ = event;
                return false;
            case Kind::tap_oom:
                return false;  // the failure's own is taken beside the events
            case Kind::none:
            case Kind::birth:
            case Kind::try_call:
            case Kind::blind:
            case Kind::neighbour:
            case Kind::phase_begin:
            case Kind::phase_end:
            case Kind::mark:
            case Kind::note:
            case Kind::category:
            case Kind::tap_alloc:
            case Kind::tap_segment_free:
            case Kind::tap_segment_unmap:
            case Kind::keyframe:
            case Kind::cupti_memory:
                return false;
        }
        return false;
    }

    // What it told settles a segment; of a region that is not there it tells nothing.
    bool tells_of_segment(const Event& event, const Ledger& ledger) const {
        const Segment* const segment = ledger.segment_of(event.address);
        return segment != nullptr && segment->device == device_;
    }

    static bool is_birth_call(const Event& event) {
        return role(event.op) == OpRole::allocates && !event.has(kNested);
    }

    // Handles of PyTorch's own count by what is mapped, mappings of others by their handles.
    bool made_for_device(const Event& event, const Ledger& ledger) {
        if (!is_birth(event) || event.has(kImported) || event.op == Op::cuMemImportFromShareableHandle)
            return false;
        const Object object = object_of(event);
        const bool torch = event.has(kFromTorch);
        if (object == Object::vmm_handle ? torch : !is_device_memory(object) && object != Object::mapping)
            return false;
        int on = event.device;
        if (object == Object::mapping) {
            const Segment* const region = ledger.segment_of(event.address);
            if (!torch || region == nullptr) return false;
            on = region->device;
        }
        if (on != device_) return false;
        objects_.insert(event.ticket);
        return true;
    }

    // Observations before the begin that the verdict used and that are not pinned in the cut.
    void restate() {
        std::vector<Event> seen;
        const PinnedDevice& pinned = source_.pinned();
        for (const auto& fact : {pinned.before_first_boundary, pinned.first_observation, pinned.peak_outside,
                                 pinned.last_observation, pinned.last_processes, pinned.cap}) {
            if (fact && fact->ticket < choice_.begin_ticket) take_older(*fact);
        }
        for (const Event& sample : pinned.samples) {
            if (sample.ticket < choice_.begin_ticket && is_observation(sample)) take_older(sample);
        }
        window_.events.for_each(window_.events.begin_ticket(), choice_.begin_ticket, [&](const Event& event) {
            if (event.device == device_) take_older(event);
            return true;
        });
        const auto add = [&](const std::optional<Event>& event) {
            if (event &&
                std::ranges::find(choice_.restated, event->ticket, &Event::ticket) == choice_.restated.end())
                choice_.restated.push_back(*event);
        };
        if (!choice_.operation.observation) add(last_sample_ ? last_sample_ : last_observation_);
        add(least_old_);
        add(last_processes_);
        if (cap_ && cap_->limit_bytes() != 0) add(cap_);
        std::ranges::sort(choice_.restated, {}, &Event::ticket);
    }

    void take_older(const Event& event) {
        const auto newest = [&](std::optional<Event>& known) {
            if (!known || known->ticket < event.ticket) known = event;
        };
        if (event.kind == Kind::process_sample) newest(last_processes_);
        if (event.kind == Kind::cap && !event.has(kUnavailable)) newest(cap_);
        if (!is_observation(event)) return;
        newest(last_observation_);
        if (event.kind == Kind::device_sample) newest(last_sample_);
        const bool less = tells_outside(event, source_.capture.late_start()) &&
                          (!least_old_ || outside_bytes(event) < outside_bytes(*least_old_));
        if (source_.is_old(event) && less) least_old_ = event;
    }

    // A keyframe keeps the operation's calls even where its copy of the ring begins later.
    void add_older_operation() {
        for (const Event& event : records()) {
            const bool tells = (event.kind == Kind::fail && is_birth_call(event)) || is_observation(event);
            if (!tells || event.device != device_) continue;
            if (std::ranges::find(kept_, event.ticket, &Event::ticket) == kept_.end()) kept_.push_back(event);
        }
        const auto told = [](const Event& event) { return event.kind == Kind::operation; };
        if (std::ranges::any_of(kept_, told)) return;
        const auto record = std::ranges::find_if(records(), told);
        if (record != records().end()) kept_.push_back(*record);
    }

    // A refused call is told about afterwards, and without its cache PyTorch asks afterwards.
    void add_after() {
        const EventStream& events = window_.events;
        bool asked = failure_.kind == Kind::block_oom ||
                     source_.incident.evidence.allocator == FailedAllocator::foreign;
        const uint64_t question =
            choice_.operation.observation ? choice_.operation.observation->ticket : failure_.ticket;
        Ledger ledger(window_);  // only mappings would ask it, and none of those comes after a refusal
        events.for_each(
            std::min(failure_.ticket + 1, events.end_ticket()),
            std::min(events.end_ticket(), failure_.ticket + policy::kOperationReach_count + 1),
            [&](const Event& event) {
                if (event.kind == Kind::operation && event.thread == failure_.thread &&
                    event.call_ticket() == failure_.ticket) {
                    kept_.push_back(event);
                } else if (!asked && event.ticket <= question && matters(event, ledger, Change{})) {
                    kept_.push_back(event);
                }
                asked |= event.kind == Kind::mem_info && event.thread == failure_.thread;
                return true;
            });
    }

    // What was not given back lives on: neither record says anything about the state.
    void take_back_refused_frees() {
        std::unordered_set<uint64_t> refused;
        for (const Event& event : kept_) {
            if (event.kind == Kind::free_fail) refused.insert(event.birth_ticket());
        }
        std::erase_if(kept_, [&](const Event& event) {
            const bool both = event.kind == Kind::free_fail || event.kind == Kind::free;
            return both && refused.contains(event.birth_ticket());
        });
    }

    const CutSource& source_;
    const Event failure_;
    const Window& window_;
    int device_;
    uint64_t wanted_count_;
    CutChoice choice_;
    std::deque<Event> kept_;
    std::unordered_set<uint64_t> objects_;  // births of live objects of the device
    std::optional<Event> operation_record_;
    uint64_t last_report_ticket_ = kNoTicket;
    std::optional<Event> last_sample_, last_observation_, least_old_, last_processes_, cap_;
};

}  // namespace

const Event* CutSource::baseline() const {
    const auto& ticket = incident.evidence.outside.baseline_ticket;
    if (!ticket) return nullptr;
    const PinnedDevice& facts = pinned();
    for (const auto* fact : {&facts.before_first_boundary, &facts.first_observation}) {
        if (*fact && (*fact)->ticket == *ticket) return &**fact;
    }
    return nullptr;
}

bool CutSource::is_old(const Event& observation) const {
    if (!incident.evidence.outside.earlier_outside.known()) return false;
    const auto seen_ns = capture.monotonic_ns(observation.time_counter);
    const auto failed_ns = capture.monotonic_ns(failure().time_counter);
    return seen_ns && failed_ns && *seen_ns + policy::kTransientAge_ns <= *failed_ns;
}

std::optional<uint64_t> CutSource::kept_since_ticket() const {
    if (incident.evidence.growth.kept_since_failure == 0) return std::nullopt;
    std::optional<uint64_t> since;
    for (const Failure& earlier : analysis.failures.listed) {
        const bool ended = earlier.event.device == device() && earlier.followed &&
                           earlier.scope_end_ticket <= failure().ticket;
        if (ended) since = std::max(since.value_or(0), earlier.event.ticket);
    }
    return since;
}

Result<CutSource> open_source(const Capture& capture, const Analysis& analysis) {
    CutSource source{capture, analysis, *analysis.incident, nullptr};
    if (!source.incident.from_keyframe) return source;
    auto keyframe = capture.read_keyframe(*source.incident.failure.keyframe_slot);
    if (!keyframe) return memsnap::failure(std::move(keyframe.error()));
    source.keyframe = std::move(*keyframe);
    return source;
}

CutChoice choose_events(const CutSource& source, uint64_t wanted_count) {
    return Chooser(source, wanted_count).run();
}

}  // namespace memsnap
