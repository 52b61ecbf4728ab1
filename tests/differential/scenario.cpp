// SPDX-License-Identifier: Apache-2.0
//
// One job, part by part, in the order in which it would happen.
#include "scenario.h"

#include <fmt/format.h>

#include <algorithm>

#include "allocator_model.h"
#include "natural.h"
#include "random.h"

namespace memsnap::differential {

namespace {

constexpr uint64_t kKeptSite = 100, kWorkSite = 101, kLeakSite = 102, kRequestSite = 103, kBeatSite = 104,
                   kNoiseSite = 200, kOtherSite = 300;
constexpr unsigned kRounds = 16;  // one a run of the inferred boundaries
constexpr unsigned kNamedLibrary = 3;
constexpr unsigned kBackwardThread = 2;
constexpr uint64_t kInitialAt = uint64_t{0x6e} << 40;  // what a late start finds
// The model never runs out: a plan says itself when and how its job fails.
constexpr uint64_t kBoundless_bytes = uint64_t{1} << 59;

class Builder {
  public:
    explicit Builder(const Plan& plan)
        : plan_(plan),
          random_(plan.seed),
          card_{kBoundless_bytes, 0},
          model_(lines_, card_, options_of(plan)) {}

    std::vector<std::string> run() {
        begin();
        if (plan_.victim == Victim::uncached || plan_.victim == Victim::async_pool) {
            fill_without_cache();
        } else {
            fill_cache();
        }
        hold_outside();
        if (plan_.failure.happens) fail();
        go_on();
        return lines_.lines();
    }

  private:
    static ModelOptions options_of(const Plan& plan) {
        ModelOptions options{plan.expandable, plan.tap};
        options.pools_untold = plan.pools_untold;
        options.sums_requests = plan.sums_requests;
        return options;
    }
    Actor actor(uint64_t site = 0, unsigned thread = 1) const { return {plan_.device, thread, site, 0}; }
    Block allocate(uint64_t bytes, uint64_t site, unsigned thread = 1, uint64_t stream = 0,
                   uint64_t pool = 0) {
        return *model_.allocate({actor(site, thread), bytes, stream, pool});
    }

    void begin() {
        lines_.header(
            fmt::format("ring_records={} keyframe_records=64 table_entries=160 keyframe_entries=160",
                        plan_.ring_records));
        lines_.header("clock_source=1");
        if (plan_.origin != 0) lines_.header(fmt::format("origin={}", plan_.origin));
        if (plan_.total_stated) lines_.header("stated=total");
        lines_.add("anchor counter=0 monotonic_ns=0 realtime_ns=1000000000");
        if (plan_.expandable) lines_.header("expandable");
        if (plan_.victim == Victim::uncached) lines_.header("uncached");
        if (plan_.victim == Victim::async_pool) lines_.header("async");
        if (plan_.loss.late_start) lines_.header("start_mode=late");
        if (plan_.loss.counted_lost != 0) lines_.header(fmt::format("lost={}", plan_.loss.counted_lost));
        if (plan_.loss.incomplete_from != 0)
            lines_.header(fmt::format("incomplete_from={}", plan_.loss.incomplete_from));
        if (plan_.loss.blind) lines_.add("blind dlmopen");
        lines_.add(fmt::format("library_entry {} role=program", kNamedLibrary));
        if (plan_.loss.unseen_bytes != 0)
            lines_.add(fmt::format("totals allocated={0} reserved={0} device={1}", plan_.loss.unseen_bytes,
                                   plan_.device));
        if (plan_.loss.late_start) {
            lines_.add(
                fmt::format("initial_segment s0 20971520 at={:#x} device={}", kInitialAt, plan_.device));
            if (plan_.tap) lines_.tap_request(actor(), kInitialAt, 4 * kMiB - 700, 0, 0);
            lines_.add(fmt::format("initial b0 {:#x} 4194304 device={} site={}", kInitialAt, plan_.device,
                                   plan_.loss.initial_site));
        }
    }

    // ---- what the allocator holds

    void fill_cache() {
        if (plan_.second_device) use_other_device();
        if (plan_.kept_bytes != 0) allocate(plan_.kept_bytes, kKeptSite);
        make_noise();
        observe_baseline();
        lose(plan_.loss.lost_before_history);
        if (plan_.heartbeat) {
            beat();
        } else {
            work();
        }
        lose(!plan_.loss.lost_before_history);
        make_holes();
    }

    void lose(bool here) {
        if (here && plan_.loss.lost_records != 0)
            lines_.add(fmt::format("lose count={}", plan_.loss.lost_records));
    }

    void use_other_device() {
        const Actor other{plan_.device == 0 ? 1 : 0, 1, kNoiseSite, 0};
        ModelOptions options{plan_.expandable, plan_.tap};
        options.base_address = uint64_t{0x71} << 40;
        AllocatorModel model(lines_, card_, options);
        std::optional<Block> block;
        for (unsigned i = 0; i < 4; ++i) {
            auto next = model.allocate({other, random_.between(1, 3000) * 8 * kKiB, 0, 0});
            if (block) model.free(*block, other);
            block = next;
        }
        lines_.question(other, plan_.card_bytes, plan_.card_bytes / 2, true);
    }

    void make_noise() {
        std::vector<Block> live;
        for (unsigned i = 0; i < plan_.noise_events; ++i) {
            const Actor who =
                actor(kNoiseSite + random_.below(3), 1 + static_cast<unsigned>(random_.below(2)));
            if (!live.empty() && random_.below(5) < 2) {
                const size_t at = random_.below(live.size());
                model_.free(live[at], who);
                live.erase(live.begin() + static_cast<ptrdiff_t>(at));
                continue;
            }
            const uint64_t bytes = random_.one_in(2) ? random_.between(1, 2048) * kGranule_bytes
                                                     : random_.between(1, 24) * kMiB + random_.below(3) * 512;
            live.push_back(*model_.allocate({who, bytes, 0, 0}));
        }
    }

    // ---- history

    void work() {
        std::vector<Block> ballast;
        for (const StepPlan& step : plan_.steps) {
            if (step.given_up_bytes != 0) ballast.push_back(allocate(step.given_up_bytes, kKeptSite));
        }
        size_t given_up = 0;
        for (size_t index = 0; index < plan_.steps.size(); ++index) {
            open_step(index);
            const StepPlan& step = plan_.steps[index];
            const Block forward = allocate(6 * kMiB, kWorkSite);
            const uint64_t backward_bytes = plan_.small_blocks ? 300 * kKiB : 3 * kMiB;
            const Block backward = allocate(backward_bytes, kWorkSite, kBackwardThread);
            if (plan_.request_served_in_steps) {
                model_.free(allocate(plan_.failure.request_bytes, kRequestSite), actor());
            }
            if (step.leak_bytes != 0) allocate(step.leak_bytes, kLeakSite);
            if (step.other_bytes != 0) allocate(step.other_bytes, kOtherSite + index);
            if (step.given_up_bytes != 0) model_.free(ballast[given_up++], actor());
            model_.free(forward, actor());
            model_.free(backward, actor(0, kBackwardThread));
            close_step();
            if (plan_.caught_failure && index == plan_.steps.size() / 2) catch_failure();
        }
    }

    void open_step(size_t index) {
        if (plan_.marking == Marking::optimizer) lines_.begin_range(actor(), "optimizer", "adam");
        if (plan_.marking == Marking::range)
            lines_.begin_range(actor(), "range", fmt::format("batch_{}", index));
        if (plan_.marking == Marking::module) lines_.begin_range(actor(), "module", "model");
    }

    void close_step() {
        if (plan_.marking == Marking::step) lines_.step(actor());
        const bool ranged = plan_.marking != Marking::step && plan_.marking != Marking::none;
        if (ranged) lines_.end_range(actor());
    }

    // A failure that the job gets over with a smaller request and more steps.
    void catch_failure() {
        lines_.refused(actor(kRequestSite), "cudaMalloc", 3 * kGiB, true);
        if (plan_.failure.total_told) lines_.question(actor(), plan_.card_bytes, 100 * kMiB, true);
        if (plan_.tap) lines_.tap_failure(actor(kRequestSite), 3 * kGiB, 7, 0, {99 * kMiB, 12345});
        lines_.out_of_memory(actor(kRequestSite), 3 * kGiB, true, false);
    }

    // Each round is one run of equally many events: the beat comes, a second thread works, the beat goes.
    void beat() {
        const HeartbeatPlan& plan = *plan_.heartbeat;
        for (unsigned round = 0; round < kRounds; ++round) {
            const bool skipped = round >= 2 && round < 2 + plan.skipped_beats;
            const bool alone = round >= 8 && round < 8 + plan.single_thread_rounds;
            const unsigned helper = alone ? 1 : kBackwardThread;
            const uint64_t beat_bytes = skipped ? (round + 40) * kMiB : 12 * kMiB;
            const Block beat = allocate(beat_bytes, kBeatSite);
            const Block work = allocate((round + 1) * 8 * kKiB, kWorkSite, helper);
            model_.free(work, actor(0, helper));
            if (plan.leak_bytes != 0) allocate(plan.leak_bytes, kLeakSite);
            model_.free(beat, actor());
        }
    }

    void make_holes() {
        std::vector<Block> doomed;
        for (const Hole& hole : plan_.holes) {
            // A granule more than its segment would be rounded to leaves room for a guard behind it.
            const bool own_segment = hole.bytes >= 10 * kMiB && hole.guarded;
            const uint64_t bytes = own_segment ? round_up(hole.bytes, 2 * kMiB) + kGranule_bytes : hole.bytes;
            doomed.push_back(allocate(bytes, kWorkSite, 1, hole.stream, hole.pool));
            if (!hole.guarded) continue;
            const uint64_t guard_bytes = hole.bytes <= kMiB ? 64 * kKiB : 3 * kMiB / 2;
            allocate(guard_bytes, kKeptSite, 1, hole.stream, hole.pool);
        }
        if (!doomed.empty() && plan_.failure.hole_freed_late) {
            late_ = doomed.back();
            doomed.pop_back();
        }
        for (const Block& block : doomed)
            model_.free(block, actor());
        if (late_) model_.free(*late_, actor(), true);
        if (plan_.deferred_bytes != 0) model_.free(allocate(plan_.deferred_bytes, kWorkSite), actor(), true);
    }

    // Tensors that go to the driver one by one.
    void fill_without_cache() {
        const std::string call = plan_.victim == Victim::uncached ? "cudaMalloc" : "cudaMallocAsync";
        std::vector<std::string> live;
        for (unsigned i = 0; i < 4 + plan_.noise_events; ++i) {
            if (live.size() > 3 && random_.one_in(3)) {
                lines_.free(live.front(), actor());
                live.erase(live.begin());
                continue;
            }
            live.push_back(lines_.fresh('t'));
            tensor(live.back(), call, random_.between(1, 60) * kMiB);
        }
        for (const Hole& hole : plan_.holes) {
            const std::string name = lines_.fresh('t');
            tensor(name, call, hole.bytes);
        }
    }

    void tensor(const std::string& name, const std::string& call, uint64_t bytes) {
        lines_.add(fmt::format("call {} {} {} at={:#x} from_torch site={} device={}", name, call, bytes,
                               next_tensor_, kWorkSite, plan_.device));
        next_tensor_ += (bytes / (2 * kMiB) + 2) * 2 * kMiB;
    }

    // ---- outside

    uint64_t outside_now() const { return plan_.outside.context_bytes + held_outside_; }

    // Where numbers are out of proportion on purpose, so is what the device says.
    uint64_t free_with(uint64_t outside_bytes) const {
        const uint64_t held = outside_bytes + model_.reserved_bytes();
        return plan_.card_bytes > held ? plan_.card_bytes - held : 0;
    }

    void foreign(uint64_t bytes, unsigned library) {
        if (bytes == 0) return;
        Actor who = actor();
        who.library = library;
        lines_.foreign(lines_.fresh('f'), who, "cudaMalloc", bytes);
        held_outside_ += bytes;
    }

    void observe_baseline() {
        const OutsidePlan& plan = plan_.outside;
        foreign(plan.named_before_bytes, kNamedLibrary);
        if (plan.first_others_bytes)
            lines_.process_sample(actor(), model_.reserved_bytes(), *plan.first_others_bytes);
        if (plan.baseline && plan_.failure.total_told) {
            lines_.question(actor(), plan_.card_bytes,
                            free_with(outside_now() + plan.first_others_bytes.value_or(0)), true);
        }
    }

    void hold_outside() {
        const OutsidePlan& plan = plan_.outside;
        foreign(plan.named_after_bytes, kNamedLibrary);
        foreign(plan.unnamed_bytes, 0);
        if (plan.others_bytes) lines_.process_sample(actor(), model_.reserved_bytes(), *plan.others_bytes);
        if (plan.earlier_outside_bytes) {
            lines_.add(fmt::format("time {}", kEarlierTime_ns));
            lines_.device_sample(actor(), plan_.card_bytes, free_with(*plan.earlier_outside_bytes));
        }
    }

    // ---- failure

    uint64_t segment_bytes() const {
        const FailurePlan& plan = plan_.failure;
        if (plan.segment_bytes) return *plan.segment_bytes;
        const uint64_t usual =
            plan.request_bytes < 10 * kMiB ? 20 * kMiB : round_up(plan.request_bytes, 2 * kMiB);
        return std::max(usual, round_up(plan.free_bytes + 1, 2 * kMiB));
    }

    void fail() {
        const FailurePlan& plan = plan_.failure;
        if (plan.cap_bytes) lines_.cap(actor(), *plan.cap_bytes);
        if (plan.sampled) lines_.device_sample(actor(), plan_.card_bytes, plan.free_bytes);
        switch (plan_.victim) {
            case Victim::foreign: {
                Actor who = actor(0, 3);
                who.library = kNamedLibrary + 1;
                lines_.refused(who, "cudaMalloc", segment_bytes(), false);
                break;
            }
            case Victim::uncached:
                lines_.refused(actor(kRequestSite), "cudaMalloc", plan.request_bytes, true);
                observe();
                break;
            case Victim::async_pool:
                lines_.refused(actor(kRequestSite), "cudaMallocAsync", plan.request_bytes, true);
                observe();
                break;
            case Victim::caching:
                fail_caching();
                break;
        }
    }

    void observe() {
        if (plan_.failure.observed)
            lines_.question(actor(), plan_.card_bytes, plan_.failure.free_bytes, true);
    }

    void fail_caching() {
        const FailurePlan& plan = plan_.failure;
        if (plan.served_before) allocate(64 * kKiB, kNoiseSite);
        const std::string call = plan_.expandable ? "cuMemCreate" : "cudaMalloc";
        const uint64_t asked = plan_.expandable ? 20 * kMiB : segment_bytes();
        if (plan.call == CallMade::failed) lines_.refused(actor(kRequestSite), call, asked, true);
        if (plan.hole_freed_late && late_) model_.complete_deferred(actor());
        if (plan.gives_back_cache) {
            model_.empty_cache(actor());
            if (plan.call == CallMade::failed) lines_.refused(actor(kRequestSite), call, asked, true);
        }
        observe();
        if (plan.tells_again) model_.tell_again(actor());
        if (plan.tells_stream || plan.tells_free) {
            EventLines::Told told{{}, model_.requested_bytes()};
            if (plan.tells_free) told.free_bytes = plan.free_bytes + (plan.observed ? kMiB : 0);
            lines_.tap_failure(actor(), plan.request_bytes, plan.stream, plan.pool, told);
        }
        if (plan_.outside.earlier_outside_bytes) {
            // The operation's own record comes before the report, one tick earlier.
            const uint64_t own_tick = plan.call == CallMade::unknown ? 0 : 1;
            lines_.add(fmt::format("time {}", kEarlierTime_ns + plan_.outside.earlier_age_ns - own_tick));
        }
        lines_.out_of_memory(actor(kRequestSite), plan.request_bytes, plan.call != CallMade::unknown,
                             plan.capturing);
        if (plan_.end.keyframe) lines_.keyframe();
    }

    // ---- what follows

    void go_on() {
        const EndPlan& plan = plan_.end;
        if (plan.served_later) allocate(plan_.failure.request_bytes, kRequestSite);
        for (unsigned i = 0; i < plan.later_events / 2; ++i)
            model_.free(allocate(random_.between(1, 40) * 64 * kKiB, kWorkSite), actor());
        if (plan.step_later) {
            lines_.begin_range(actor(), "range", "later");
            lines_.end_range(actor());
        }
        if (plan.exit_status) lines_.exit(*plan.exit_status);
    }

    static constexpr uint64_t kEarlierTime_ns = 5'000'000'000;

    const Plan& plan_;
    Random random_;
    EventLines lines_;
    Card card_;
    AllocatorModel model_;
    std::optional<Block> late_;
    uint64_t held_outside_ = 0;
    uint64_t next_tensor_ = uint64_t{0x7f} << 40;
};

}  // namespace

uint64_t outside_bytes(const OutsidePlan& plan) {
    return plan.context_bytes + plan.others_bytes.value_or(0) + plan.named_before_bytes +
           plan.named_after_bytes + plan.unnamed_bytes;
}

std::vector<std::string> build(const Plan& plan) {
    std::vector<std::string> lines = plan.natural_events != 0 ? build_natural(plan) : Builder(plan).run();
    if (plan.damaged) damage(lines, plan);
    return lines;
}

}  // namespace memsnap::differential
