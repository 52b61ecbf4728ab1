// SPDX-License-Identifier: Apache-2.0
//
// Cohort, result and exit status of a comparison, and its JSON.
#include "diff.h"
#include "diff_json.h"
#include "diff_sides.h"
#include "diff_text.h"

using namespace memsnap;
using namespace memsnap::test;

namespace {

DiffSide fixed_side() {
    DiffSide after = side_without_incident();
    after.grants->count = 1;
    return after;
}

Diff diff_of(const DiffSide& before, const DiffSide& after, const DiffOptions& options = {}) {
    return compare(before, after, options);
}

int exit_of(const DiffSide& before, const DiffSide& after) {
    return exit_status(diff_of(before, after));
}

}  // namespace

TEST_CASE("a comparable pair exits by the contract of BEFORE and the ending of AFTER") {
    const DiffSide before = side_with("fragmentation");
    CHECK(diff_of(before, fixed_side()).result == DiffResult::proven);
    CHECK(exit_of(before, fixed_side()) == 0);
    CHECK(exit_of(before, side_without_incident()) == 11);

    DiffSide again = side_with("fragmentation");
    again.evidence_digest = "other";
    CHECK(diff_of(before, again).result == DiffResult::incident_persists);
    CHECK(exit_of(before, again) == 10);

    DiffSide other = side_with("live_set");
    other.grants->count = 1;
    other.failures = {{0, "pytorch", 200, false}};
    CHECK(diff_of(before, other).contract->result == Proof::proven);
    CHECK(diff_of(before, other).result == DiffResult::another_incident);
    CHECK(exit_of(before, other) == 10);

    DiffSide survived = other;
    survived.ending = Ending::survived;
    CHECK(exit_of(before, survived) == 0);

    DiffSide lost = fixed_side();
    lost.ending = Ending::lost;
    CHECK(exit_of(before, lost) == 11);
}

TEST_CASE("a contrary observation refutes without an incident in AFTER") {
    DiffSide before = side_with("retention");
    before.growth = StepGrowth{8, 5, 50, 50, 5};
    DiffSide after = side_without_incident();
    after.growth = StepGrowth{8, 5, 50, 50, 5};
    CHECK(diff_of(before, after).result == DiffResult::refuted);
    CHECK(exit_of(before, after) == 10);
}

TEST_CASE("two sides without an incident exit with 0, and one that only AFTER has with 10") {
    CHECK(exit_of(side_without_incident(), side_without_incident()) == 0);
    CHECK(diff_of(side_without_incident(), side_with("live_set")).result == DiffResult::another_incident);
    CHECK(exit_of(side_without_incident(), side_with("live_set")) == 10);
}

TEST_CASE("two undecided incidents are not called the same cause") {
    DiffSide after = side_with("");
    after.evidence_digest = "other";
    CHECK(diff_of(side_with(""), after).result == DiffResult::another_incident);
    CHECK(exit_of(side_with(""), side_without_incident()) == 11);
}

TEST_CASE("another verdict of the same evidence exits with 6 and prints both") {
    const DiffSide before = side_with("fragmentation");
    DiffSide after = side_with("live_set");
    after.evidence_digest = before.evidence_digest;
    after.verdict = "{\"primary\":\"live_set\"}";
    after.cohort = {{"rank", 1}};
    const Diff diff = diff_of(before, after);
    CHECK(exit_status(diff) == 6);
    const std::string screen = render_diff(diff, {});
    CHECK_THAT(screen,
               ContainsSubstring("OTHER DIAGNOSIS") && ContainsSubstring("\"primary\": \"live_set\""));
    after.verdict = before.verdict;
    CHECK(exit_of(before, after) != 6);
}

TEST_CASE("an undeclared difference is named with both values and refuses the comparison") {
    DiffSide before = side_with("fragmentation");
    DiffSide after = fixed_side();
    before.cohort = {{"rank", 0}, {"torch_version", "2.14.1"}, {"dimensions.1", 32}};
    after.cohort = {{"rank", 0}, {"torch_version", "2.15.0"}};
    const Diff refused = diff_of(before, after);
    CHECK(exit_status(refused) == 11);
    CHECK(refused.cohort.equal_count == 1);
    REQUIRE(refused.cohort.differences.size() == 2);
    const CohortDifference& version = refused.cohort.differences[0];
    CHECK(version.field == "torch_version");
    CHECK(version.before.text() == "\"2.14.1\"");
    CHECK(version.after.text() == "\"2.15.0\"");
    CHECK(refused.cohort.differences[1].after.text() == "null");

    const Diff half = diff_of(before, after, {{"torch_version"}, {}});
    CHECK(exit_status(half) == 11);
    const Diff declared = diff_of(before, after, {{"torch_version", "dimensions.1"}, {}});
    CHECK(exit_status(declared) == 0);
}

TEST_CASE("a declared fact that did not change is said, and an unknown one refuses nothing") {
    DiffSide before = side_with("fragmentation");
    DiffSide after = fixed_side();
    before.cohort = {{"rank", 0}, {"device.total_bytes", 1}};
    after.cohort = {{"rank", 0}, {"device.total_bytes", {}, false}};
    const Diff diff = diff_of(before, after, {{"rank"}, {}});
    CHECK(exit_status(diff) == 0);
    CHECK(diff.cohort.declared_unchanged == std::vector<std::string>{"rank"});
    CHECK(diff.cohort.unknown == std::vector<std::string>{"device.total_bytes"});
}

TEST_CASE("only facts that are compared can be declared") {
    for (const char* field : {"rank", "allocator.expandable_segments", "phases.words", "dimensions.12"})
        CHECK(is_cohort_field(field));
    for (const char* field : {"", "ranks", "dimensions.", "dimensions.0", "dimensions.x", "allocator"})
        CHECK(!is_cohort_field(field));
}

TEST_CASE("each number stands with before, after, difference and provenance, and unknown is no number") {
    DiffSide after = fixed_side();
    after.outside = {};
    const Diff diff = diff_of(side_with("fragmentation"), after);
    const auto row = [&](std::string_view name) {
        return *std::ranges::find(diff.rows, name, &DiffRow::name);
    };
    CHECK(row("peak_active_bytes").difference() == Wide{-320});
    CHECK(row("headroom_bytes").before.value == Wide{30});
    CHECK(!row("headroom_bytes").after.known());
    CHECK(!row("outside_bytes").difference());
    CHECK_THAT(render_diff(diff, {}), ContainsSubstring("correctness (losses, outputs): not measured"));
}

TEST_CASE("the screen is ASCII where UTF-8 is not to be had, and at most 100 columns wide") {
    DiffSide before = side_with("live_set");
    DiffSide after = fixed_side();
    for (DiffSide* side : {&before, &after}) {
        for (const char* field : {"torch_version", "cuda_runtime_version", "cuda_driver_version",
                                  "world_size", "rank", "allocator.backend", "phases.family", "phases.words"})
            side->cohort.push_back({field, {}, false});
    }
    const std::string screen = render_diff(diff_of(before, after, {{}, 10}), {});
    CHECK(std::ranges::all_of(screen, [](char c) { return c == '\n' || (c >= ' ' && c <= '~'); }));
    size_t begin = 0;
    for (size_t end = 0; (end = screen.find('\n', begin)) != screen.npos; begin = end + 1)
        CHECK(end - begin <= 100);
}

TEST_CASE("the JSON of a comparison passes its check, and a planted text does not") {
    DiffSide before = side_with("live_set");
    DiffSide after = fixed_side();
    before.evidence_digest = before.receipt_digest = std::string(64, '0');
    after.evidence_digest = after.receipt_digest = std::string(64, '1');
    before.incident->proof = "peak active bytes fall by at least the deficit and the request succeeds";
    before.cohort = {{"torch_version", "2.14.1"}, {"allocator.backend", "native"}, {"phases.family", "step"}};
    after.cohort = {{"torch_version", "2.15.0"}, {"allocator.backend", "async"}, {"phases.family", "range"}};
    const auto text = diff_json(diff_of(before, after, {{"rank"}, 10}));
    INFO((text ? "" : text.error().detail));
    REQUIRE(text);
    CHECK_THAT(*text, ContainsSubstring("\"result\":\"not_comparable\""));
    for (size_t at = text->find(":\""); at != text->npos; at = text->find(":\"", at + 1)) {
        for (const char* leak : {"/home/user/ring.bin", "node17", "10.0.0.17", "0x7f0000000000"}) {
            std::string planted = *text;
            planted.replace(at + 2, planted.find('"', at + 2) - at - 2, leak);
            INFO(planted);
            CHECK(!check_diff(planted).empty());
        }
    }
}
