// SPDX-License-Identifier: Apache-2.0
//
// Requested against granted: what the torch tap told of live blocks, what the allocator said itself, and when
// a sum is known.
#include "requests.h"

#include "receipt_fixture.h"

using namespace memsnap;
using namespace memsnap::test;

namespace {

// A segment with two blocks; of the first 3 MiB less a byte were requested.
std::string job(std::string_view second, std::string_view failure) {
    return "memsnap-events 1\nsegment s1 100MiB\nrecord tap_alloc address=s1+0 size=3MiB-1\n"
           "alloc a s1+0 4MiB\n" +
           std::string(second) + "alloc b s1+4MiB 512\nmem_info total=1GiB free=8MiB\n" +
           std::string(failure);
}

constexpr std::string_view kTold = "record tap_alloc address=s1+4MiB size=0\n";
constexpr std::string_view kFails = "oom 200MiB\n";

Requests requests_of(std::string_view second, std::string_view failure) {
    const Recording recording(job(second, failure));
    recording.receipt();  // checked against its own rules
    REQUIRE(recording.analysis.requests.size() == 1);
    return recording.analysis.requests.front();
}

}  // namespace

TEST_CASE("rounding is up to a granule, one at least, and what a block has beyond it was kept") {
    const Requests requests = requests_of(kTold, kFails);
    CHECK(requests.granted_bytes == (4 << 20) + 512);
    CHECK(requests.told_block_count == 2);
    CHECK(requests.requested_bytes == Wide{(3 << 20) - 1});
    CHECK(requests.told_rounding_bytes == Wide{1 + 512});
    CHECK(requests.told_kept_bytes() == Wide{1 << 20});
}

TEST_CASE("one block that was not told of leaves the sum unknown, unless the allocator says it") {
    CHECK(!requests_of("", kFails).requested_bytes);
    CHECK(requests_of("", kFails).told_block_count == 1);
    const Requests said = requests_of("", "tap_oom 200MiB free=8MiB requested=3MiB\noom 200MiB\n");
    CHECK(said.requested_bytes == Wide{3 << 20});
    CHECK(said.told_requested_bytes == Wide{(3 << 20) - 1});
    CHECK(!requests_of("", "tap_oom 200MiB free=8MiB\noom 200MiB\n").requested_bytes);
}

TEST_CASE("a failure's own word of the tap is the last before it, and no older failure's") {
    const std::string two = job("", "tap_oom 200MiB free=8MiB requested=3MiB\noom 200MiB\noom 200MiB\n");
    const Recording first(two);
    CHECK(first.analysis.requests.front().requested_bytes == Wide{3 << 20});
    const uint64_t second = first.analysis.failures.listed.at(1).event.ticket;
    const Recording recording(two, {.device = {}, .at_ticket = second});
    CHECK(!recording.analysis.requests.front().requested_bytes);
}

TEST_CASE("without a failure the window's end is looked at, and without the tap nothing") {
    const Requests at_end = requests_of(kTold, "free a\nexit 0\n");
    CHECK(at_end.granted_bytes == 512);
    CHECK(at_end.requested_bytes == Wide{0});
    const Recording without("memsnap-events 1\nsegment s1 100MiB\nalloc a s1+0 4MiB\nexit 0\n");
    CHECK(without.analysis.requests.empty());
}

TEST_CASE("a request that no block holds makes what was kept negative") {
    const Requests requests = requests_of("record tap_alloc address=s1+4MiB size=none-1\n", kFails);
    CHECK(requests.told_kept_bytes() < Wide{0});
    CHECK(*requests.requested_bytes > Wide{UINT64_MAX});
}
