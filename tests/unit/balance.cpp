// SPDX-License-Identifier: Apache-2.0
//
// Who holds the card: the sum is the card at every instant, whatever was seen; what was carried says so.
#include "balance.h"

#include "receipt_fixture.h"

using namespace memsnap;
using namespace memsnap::test;

namespace {

Wide sum_of(const Balance& balance) {
    Wide sum = balance.active_bytes + balance.reusable_bytes + balance.fragmented_bytes +
               balance.incompatible_bytes + balance.others_bytes.value_or(0) +
               balance.unattributed_bytes.value_or(0) + balance.free_bytes.value_or(0);
    for (const ForeignBytes& held : balance.libraries)
        sum += held.bytes;
    return sum;
}

std::vector<Balance> holders_of(std::string_view events) {
    const Recording recording(events);
    for (const Balance& balance : recording.analysis.holders) {
        if (balance.total_bytes) CHECK(sum_of(balance) == Wide{*balance.total_bytes});
    }
    return recording.analysis.holders;
}

}  // namespace

TEST_CASE("without an answer of the device the card is not known, and others still are") {
    const auto holders = holders_of(R"(memsnap-events 1
segment s1 40MiB
alloc a s1+0 10MiB
process_sample own=40MiB others=5MiB count=1
)");
    REQUIRE(holders.size() == 2);
    for (const Balance& balance : holders) {
        CHECK(balance.source == BalanceSource::unknown);
        CHECK_FALSE(balance.total_bytes);
        CHECK_FALSE(balance.unattributed_bytes);
        CHECK_FALSE(balance.free_bytes);
        CHECK(balance.others_bytes == 5 * kMiB);
        CHECK(balance.reusable_bytes == 30 * kMiB);
    }
}

TEST_CASE(
    "an answer at the instant is observed, one before it is carried, and only one after it is carried back") {
    const auto source_at_peak = [](std::string_view before, std::string_view after) {
        return holders_of("memsnap-events 1\nsegment s1 40MiB\n" + std::string(before) +
                          "alloc a s1+0 10MiB\n" + std::string(after) + "free a\n")
            .front()
            .source;
    };
    const std::string_view answer = "mem_info total=1GiB free=900MiB\n";
    CHECK(source_at_peak(answer, "") == BalanceSource::carried);
    CHECK(source_at_peak(answer, answer) == BalanceSource::carried);
    CHECK(source_at_peak("", answer) == BalanceSource::carried_back);
    CHECK(source_at_peak("", "mem_info total=1GiB free=900MiB code=2\n") == BalanceSource::unknown);
    CHECK(source_at_peak("", "device_sample total=1GiB free=900MiB\n") == BalanceSource::carried_back);
}

TEST_CASE("a peak that is older than the window is looked at before the first event") {
    const auto holders = holders_of(R"(memsnap-events 1
header ring_records=64
live segment s0 40MiB
live alloc a s0+0 30MiB
free a
mem_info total=1GiB free=900MiB
)");
    REQUIRE(holders.size() == 2);
    CHECK(holders[0].active_bytes == Wide{30 * kMiB});
    CHECK(holders[1].active_bytes == 0);
    CHECK(holders[1].source == BalanceSource::observed);
}

TEST_CASE("a foreign victim's card is carried from the last answer, with the reserved bytes at the failure") {
    const auto holders = holders_of(R"(memsnap-events 1
segment s1 800MiB
alloc w s1+0 800MiB
mem_info total=1GiB free=24MiB foreign
call buf cudaMalloc 4MiB library=2
fail cudaMalloc 300MiB foreign library=2
)");
    REQUIRE(holders.size() == 2);
    const Balance& failure = holders[1];
    CHECK(failure.source == BalanceSource::carried);
    CHECK(failure.unattributed_bytes == Wide{200 * kMiB});
    CHECK(failure.free_bytes == Wide{20 * kMiB});
    CHECK(failure.fragmented_bytes == 0);
}

TEST_CASE("more than the card has is a negative number, and the sum is still the card") {
    const auto holders = holders_of(R"(memsnap-events 1
segment s1 800MiB
alloc w s1+0 800MiB
call buf cudaMalloc 400MiB library=2
failing 100MiB total=1GiB free=24MiB
)");
    CHECK(holders[1].unattributed_bytes == -Wide{200 * kMiB});
}

TEST_CASE("at the peak holes are measured against the incident's request, without one all are usable") {
    const std::string_view job = R"(memsnap-events 1
segment s1 20MiB
segment s2 2MiB
alloc a s1+5MiB 10MiB
alloc b s2+0 1MiB
mem_info total=1GiB free=900MiB
free b
)";
    const Balance quiet = holders_of(job).front();
    CHECK(quiet.reusable_bytes == 11 * kMiB);
    CHECK(quiet.incompatible_bytes == 0);
    const Balance failed = holders_of(std::string(job) + "failing 5MiB total=1GiB free=1MiB\n").front();
    CHECK(failed.active_bytes == Wide{11 * kMiB});
    CHECK(failed.reusable_bytes == 10 * kMiB);
    CHECK(failed.incompatible_bytes == kMiB);
    CHECK(failed.fragmented_bytes == 0);
}

TEST_CASE("each device has its own peak and its own end") {
    const auto holders = holders_of(R"(memsnap-events 1
segment s1 40MiB
segment s2 60MiB device=1
alloc a s1+0 10MiB
alloc b s2+0 50MiB device=1
mem_info total=1GiB free=900MiB device=1
free a
free b device=1
)");
    REQUIRE(holders.size() == 4);
    CHECK(holders[0].device == 0);
    CHECK(holders[0].active_bytes == Wide{10 * kMiB});
    CHECK(holders[0].source == BalanceSource::unknown);
    CHECK(holders[2].device == 1);
    CHECK(holders[2].active_bytes == Wide{50 * kMiB});
    CHECK(holders[3].active_bytes == 0);
    CHECK(holders[3].reusable_bytes == 60 * kMiB);
}

TEST_CASE("physical memory that PyTorch's allocator made and does not map is held by it") {
    const Recording recording(R"(memsnap-events 1
header expandable
reserve va 1GiB
create h1 20MiB
map m1 va+0 h1
alloc a va+0 10MiB
mem_info total=1GiB free=900MiB
create h2 20MiB
create h3 20MiB
mem_info total=1GiB free=860MiB
free h3
free h2
failing 1000MiB op=cuMemCreate segment=20MiB total=1GiB free=900MiB
)");
    const Reconciliation& reconciliation = recording.analysis.incident->history.reconciliation;
    CHECK(reconciliation.observation_count == 3);
    CHECK(reconciliation.mismatch_count == 0);
}
