// SPDX-License-Identifier: Apache-2.0
//
// Phases of births. Rule: a phase is asked for as the name of the block's life.
#include "job.h"
#include "oracle/scene.h"

using namespace oracle;
using namespace oracle::test;

namespace {

u16 phase_of(const Job& job, u64 birth) {
    auto file = decode(job.ring.bytes(), std::nullopt);
    REQUIRE(file);
    auto scene = make_scene(recording_of_ring(*file));
    auto life = std::find_if(scene.lives.begin(), scene.lives.end(),
                             [&](const Life& one) { return one.birth == birth; });
    REQUIRE(life != scene.lives.end());
    return life->phase;
}

}  // namespace

TEST_CASE("the last begun of the open ranges labels a birth, in whatever order they close") {
    Job job;
    u64 outer = job.begin(1), inner = job.begin(2);
    u64 in_both = job.alloc(0, 1);
    job.end(outer);
    u64 in_inner = job.alloc(1, 1);
    job.end(inner);
    u64 after = job.alloc(2, 1);
    u64 again = job.begin(3);
    u64 between = job.begin(4);
    job.end(between);
    u64 in_outer = job.alloc(3, 1);
    job.end(again);
    CHECK(phase_of(job, in_both) == 2);
    CHECK(phase_of(job, in_inner) == 2);
    CHECK(phase_of(job, after) == 0);
    CHECK(phase_of(job, in_outer) == 3);
}

TEST_CASE("only ranges of no family, of optimizer and of range label") {
    for (auto [family, phase] : std::map<u16, u16>{{0, 7}, {1, 0}, {2, 7}, {3, 7}, {4, 0}, {5, 0}, {6, 0}}) {
        Job job;
        job.begin(7, family);
        u64 own = job.alloc(0, 1);
        u64 other = job.alloc(1, 1, 1, 2);
        INFO(family);
        CHECK(phase_of(job, own) == phase);
        CHECK(phase_of(job, other) == phase);
    }
}

TEST_CASE("an end of another thread, of no range or of a closed range ends nothing") {
    Job job;
    u64 range = job.begin(1);
    job.end(range, 2);
    job.end(range + 1000);
    u64 still = job.alloc(0, 1);
    job.end(range);
    u64 ended = job.alloc(3, 1);
    u64 other = job.begin(2);
    job.end(range);
    u64 in_other = job.alloc(1, 1);
    job.end(other);
    u64 after = job.alloc(2, 1);
    CHECK(phase_of(job, still) == 1);
    CHECK(phase_of(job, ended) == 0);
    CHECK(phase_of(job, in_other) == 2);
    CHECK(phase_of(job, after) == 0);
}

TEST_CASE("a thread without ranges has the phase of the only thread with one open") {
    Job job;
    u64 none_open = job.alloc(0, 1, 1, 9);
    u64 one = job.begin(1, 3, 1);
    u64 one_open = job.alloc(1, 1, 1, 9);
    u64 nested = job.begin(4, 3, 1);
    u64 innermost = job.alloc(2, 1, 1, 9);
    job.end(nested, 1);
    u64 two = job.begin(2, 3, 2);
    u64 two_open = job.alloc(3, 1, 1, 9);
    job.end(one, 1);
    u64 other_open = job.alloc(4, 1, 1, 9);
    job.end(two, 2);
    u64 none_again = job.alloc(5, 1, 1, 9);
    CHECK(phase_of(job, none_open) == 0);
    CHECK(phase_of(job, one_open) == 1);
    CHECK(phase_of(job, innermost) == 4);
    CHECK(phase_of(job, two_open) == 0);
    CHECK(phase_of(job, other_open) == 2);
    CHECK(phase_of(job, none_again) == 0);
}

TEST_CASE(
    "a thread that has begun a labelling range before has only its own, one that begins later has not") {
    Job job;
    job.begin(1, 3, 1);
    u64 module = job.begin(6, 4, 2);
    u64 before = job.alloc(0, 1, 1, 2);
    job.end(module, 2);
    u64 own = job.begin(2, 3, 2);
    job.end(own, 2);
    u64 after = job.alloc(1, 1, 1, 2);
    CHECK(phase_of(job, before) == 1);
    CHECK(phase_of(job, after) == 0);
}

TEST_CASE("hundreds of nested ranges are paired") {
    Job job(1024);
    std::vector<u64> begun;
    for (u16 i = 1; i <= 500; ++i)
        begun.push_back(job.begin(i));
    u64 deep = job.alloc(0, 1);
    for (std::size_t i = begun.size(); i-- > 100;)
        job.end(begun[i]);
    u64 shallow = job.alloc(1, 1);
    CHECK(phase_of(job, deep) == 500);
    CHECK(phase_of(job, shallow) == 100);
}
