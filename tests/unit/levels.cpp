// SPDX-License-Identifier: Apache-2.0
//
// Lanes in runs of events, against every event's values one by one.
#include "levels.h"

#include <map>
#include <random>

#include "outside.h"
#include "receipt_fixture.h"
#include "replay.h"

using namespace memsnap;
using namespace memsnap::test;

namespace {

constexpr int kDevices = 2;

// Blocks, segments, buffers of a library and answers of two cards; of the second one late or never.
std::string random_job(uint32_t seed) {
    std::mt19937 random(seed);
    const auto below = [&](unsigned limit) { return static_cast<unsigned>(random() % limit); };
    std::string job = "memsnap-events 1\nlibrary_entry 2 role=program\n";
    std::array<std::vector<std::string>, kDevices> live, buffers;
    std::array<unsigned, kDevices> used_MiB = {};
    const bool second = below(3) != 0;
    for (unsigned at = 0; at < 20 + below(150); ++at) {
        const unsigned device = second && at > 15 ? below(kDevices) : 0;
        const std::string on = " device=" + std::to_string(device) + "\n";
        const std::string name = "x" + std::to_string(at);
        switch (below(7)) {
            case 0:
            case 1: {
                const std::string segment = "s" + std::to_string(at);
                job += "segment " + segment + " 20MiB" + on;
                if (below(4) != 0) {
                    job +=
                        "alloc " + name + " " + segment + "+0 " + std::to_string(2 + below(18)) + "MiB" + on;
                    live[device].push_back(name);
                }
                used_MiB[device] += 20;
                break;
            }
            case 2:
                if (live[device].empty()) break;
                job += "free " + live[device].back() + on;
                live[device].pop_back();
                break;
            case 3:
                job += "call " + name + " cudaMalloc 8MiB library=2" + on;
                buffers[device].push_back(name);
                used_MiB[device] += 8;
                break;
            case 4:
                if (buffers[device].empty()) break;
                job += "free " + buffers[device].back() + on;
                buffers[device].pop_back();
                break;
            case 5:
                job += "mem_info total=100GiB free=" + std::to_string(99000 - used_MiB[device] - below(50)) +
                       "MiB" + on;
                break;
            case 6:
                job += "process_sample own=1GiB others=" + std::to_string(below(500)) + "MiB count=1" + on;
                break;
        }
    }
    return job;
}

using Values = std::array<std::optional<Wide>, kLevelLaneCount>;

struct Seen {
    uint64_t ticket = 0;
    std::array<Values, kDevices> values;
};

// What is known after each event, by the rules of docs/page.md alone.
std::vector<Seen> all_values(const Capture& capture) {
    struct Answer {
        Wide total = 0, residual = 0;
        std::optional<Wide> others;
    };
    std::array<std::optional<Answer>, kDevices> answers;
    std::array<std::optional<Wide>, kDevices> others;
    std::vector<Seen> all;
    Ledger ledger(capture.window);
    const auto outcome =
        replay(capture, capture.window, ledger, [&](const Event& event, const Ledger& now, const Change&) {
            const auto held = [&](int device) { return now.device(device).held_bytes(); };
            const auto own = [&](int device) { return Wide{now.device(device).own_bytes}; };
            const auto at = static_cast<size_t>(std::max<int>(event.device, 0));
            if (event.kind == Kind::process_sample) others[at] = event.link;
            if (event.kind == Kind::mem_info) {
                const Wide taken = Wide{event.size_bytes} - event.link;
                answers[at] = {event.size_bytes, taken - held(event.device) - own(event.device), others[at]};
            }
            Seen seen{event.ticket, {}};
            for (int device = 0; device < kDevices; ++device) {
                const auto index = static_cast<size_t>(device);
                const auto& answer = answers[index];
                Values& values = seen.values[index];
                values[0] = now.device(device).allocated_bytes;
                values[1] = held(device);
                values[3] = own(device);
                if (!answer || answer->others) values[4] = others[index];
                if (!answer) continue;
                values[5] = answer->residual - answer->others.value_or(0);
                values[2] = held(device) + own(device) + values[4].value_or(0) + *values[5];
            }
            all.push_back(seen);
        });
    REQUIRE(outcome);
    return all;
}

LaneRange slow_range(const std::vector<Seen>& all, size_t from, size_t to, size_t device, size_t lane) {
    LaneRange range;
    for (size_t at = from; at < to; ++at) {
        const auto& value = all[at].values[device][lane];
        if (!value) continue;
        const auto number = static_cast<int64_t>(*value);
        range.least = range.known ? std::min(range.least, number) : number;
        range.greatest = range.known ? std::max(range.greatest, number) : number;
        range.last = number;
        range.known = true;
    }
    return range;
}

Levels levels_of(const Capture& capture, size_t runs_most) {
    Ledger ledger(capture.window);
    LevelsWatch watch(capture.window, ledger, runs_most);
    const auto outcome =
        replay(capture, capture.window, ledger,
               [&](const Event& event, const Ledger& now, const Change&) { watch.take(event, now); });
    REQUIRE(outcome);
    return watch.levels();
}

void check_ranges(const Levels& levels, const std::vector<Seen>& all) {
    size_t begin = 0;
    for (size_t run = 0; run < levels.runs.size(); ++run) {
        const size_t end = begin + levels.runs[run].event_count;
        REQUIRE(end <= all.size());
        CHECK(levels.runs[run].first_ticket == all[begin].ticket);
        CHECK(levels.runs[run].last_ticket == all[end - 1].ticket);
        for (const DeviceLevels& device : levels.devices) {
            for (size_t lane = 0; lane < kLevelLaneCount; ++lane) {
                INFO("run " << run << ", cuda:" << device.device << ", lane " << lane);
                CHECK(device.ranges[run][lane] ==
                      slow_range(all, begin, end, static_cast<size_t>(device.device), lane));
            }
        }
        begin = end;
    }
    CHECK(begin == all.size());
}

LaneRange lane(const Levels& levels, size_t run, LevelLane which) {
    return levels.devices.front().of(run, which);
}

}  // namespace

TEST_CASE("each lane of each run is what all its events come to, one by one") {
    for (uint32_t seed = 0; seed < 40; ++seed) {
        INFO("seed " << seed);
        const Recording recording(random_job(seed));
        const std::vector<Seen> all = all_values(*recording.capture);
        for (const size_t runs_most : {size_t{1}, size_t{7}, size_t{60}, size_t{2048}}) {
            const Levels levels = levels_of(*recording.capture, runs_most);
            CHECK(levels.runs.size() == std::min(runs_most, all.size()));
            check_ranges(levels, all);
        }
    }
}

TEST_CASE("runs differ by one event at most, and fewer columns hold the same extremes") {
    for (uint32_t seed = 100; seed < 120; ++seed) {
        const Recording recording(random_job(seed));
        const Levels levels = levels_of(*recording.capture, 48);
        const auto [least, most] = std::ranges::minmax(levels.runs, {}, &LevelRun::event_count);
        CHECK(most.event_count - least.event_count <= 1);
        check_ranges(merged(levels, 5), all_values(*recording.capture));
        CHECK(merged(levels, 5).runs.size() == std::min<size_t>(5, levels.runs.size()));
        CHECK(merged(levels, 1000).runs == levels.runs);
    }
}

TEST_CASE("a spike of one event in a long run is kept") {
    std::string job = "memsnap-events 1\nsegment s1 100MiB\nalloc low s1+0 1MiB\n";
    job += "mark before count=400\nalloc high s1+10MiB 80MiB\nfree high\nmark behind count=600\n";
    const Recording recording(job);
    const Levels levels = levels_of(*recording.capture, 2);
    CHECK(lane(levels, 0, LevelLane::active).greatest == 81 << 20);
    CHECK(lane(levels, 0, LevelLane::active).last == 1 << 20);
    CHECK(lane(levels, 1, LevelLane::active) == LaneRange{1 << 20, 1 << 20, 1 << 20, true});
}

TEST_CASE("a lane that nobody told of is empty, from the answer on it is known") {
    const Recording recording(
        "memsnap-events 1\nsegment s1 100MiB\nalloc a s1+0 1MiB\nmem_info total=1GiB free=900MiB\n");
    const Levels levels = levels_of(*recording.capture, 2048);
    CHECK_FALSE(lane(levels, 2, LevelLane::used).known);
    CHECK(lane(levels, 3, LevelLane::used).last == 124 << 20);
    CHECK_FALSE(lane(levels, 3, LevelLane::other_processes).known);
    CHECK(lane(levels, 3, LevelLane::unattributed).last == 24 << 20);
}

TEST_CASE("what a source found is one state: lanes begin when all of it has been told") {
    const Recording recording(
        "memsnap-events 1\nheader origin=torch_snapshot\ninitial_segment s1 100MiB\ninitial a s1+0 1MiB\n"
        "tap_alloc a requested=1000\ninitial b s1+2MiB 1MiB\nalloc c s1+4MiB 1MiB\n");
    const Levels levels = levels_of(*recording.capture, 2048);
    REQUIRE(levels.runs.size() == 5);
    for (const size_t run : {size_t{0}, size_t{1}, size_t{2}})
        CHECK_FALSE(lane(levels, run, LevelLane::active).known);
    CHECK(lane(levels, 3, LevelLane::active) == LaneRange{2 << 20, 2 << 20, 2 << 20, true});
    CHECK(lane(levels, 4, LevelLane::active).last == 3 << 20);
}

TEST_CASE("an analysis has the levels of the window that its incident lies in") {
    const Recording whole(kFullJob);
    CHECK(whole.analysis.levels.runs.size() == whole.capture->window.facts.accepted_count);
    std::string job = "memsnap-events 1\nheader ring_records=16\nsegment s1 900MiB\nalloc a s1+0 895MiB\n";
    job += "failing 300MiB total=1GiB free=11MiB\nkeyframe\nmark later count=40\nstep\n";
    const Recording lapped(job);
    REQUIRE(lapped.analysis.incident);
    REQUIRE(lapped.analysis.incident->from_keyframe);
    const uint64_t failure = lapped.analysis.incident->failure.event.ticket;
    CHECK(lapped.analysis.levels.runs.back().last_ticket == failure);
    CHECK(lane(lapped.analysis.levels, 0, LevelLane::active).known);
}
