// SPDX-License-Identifier: Apache-2.0
//
// What PyTorch's allocator grants, on both sides of each of its limits. Numbers by hand from its source.
#include "../../snapshot/allocator_rule.h"

#include "catch.h"

using namespace memsnap::snapshot;

namespace {

constexpr uint64_t kKiB = uint64_t{1} << 10, kMiB = uint64_t{1} << 20;

}  // namespace

TEST_CASE("requests are rounded up to 512 bytes, and to one granule at least") {
    const AllocatorRule rule({});
    CHECK(rule.rounded_bytes(0) == 512);
    CHECK(rule.rounded_bytes(512) == 512);
    CHECK(rule.rounded_bytes(513) == 1024);
    CHECK(rule.rounded_bytes(kMiB + 1) == kMiB + 512);
}

TEST_CASE("divisions of powers of two round up from so many granules on") {
    Settings settings;
    settings.roundup_power2_divisions = {{1, 4}, {64, 8}};
    const AllocatorRule rule(settings);
    CHECK(rule.rounded_bytes(1200 * kKiB) == 1280 * kKiB);
    CHECK(rule.rounded_bytes(1280 * kKiB) == 1280 * kKiB);
    CHECK(rule.rounded_bytes(1024 * kKiB) == 1024 * kKiB);
    CHECK(rule.rounded_bytes(4 * 512) == 4 * 512);
    CHECK(rule.rounded_bytes(4 * 512 + 1) == 2560);
    CHECK(rule.rounded_bytes(65 * kMiB) == 72 * kMiB);
    CHECK(rule.rounded_bytes(5 * kMiB + 1) == 5 * kMiB + 512);  // no divisions there
    settings.roundup_power2_divisions = {{0, 2}};
    CHECK(AllocatorRule(settings).rounded_bytes(5 * kMiB) == 6 * kMiB);
}

TEST_CASE("small blocks keep no rest, large ones one of up to 1 MiB, those of expandable segments none") {
    const AllocatorRule rule({});
    CHECK(rule.granted_bytes(kMiB, 2 * kMiB, false) == kMiB);
    CHECK(rule.granted_bytes(kMiB, kMiB + 512, false) == kMiB);
    CHECK(rule.granted_bytes(2 * kMiB, 3 * kMiB, false) == 3 * kMiB);
    CHECK(rule.granted_bytes(2 * kMiB, 3 * kMiB + 512, false) == 2 * kMiB);
    CHECK(rule.granted_bytes(2 * kMiB, 3 * kMiB, true) == 2 * kMiB);
    CHECK(rule.granted_bytes(2 * kMiB, 2 * kMiB, false) == 2 * kMiB);
}

TEST_CASE("blocks from max_split_size on are never split") {
    Settings settings;
    settings.max_split_size_bytes = 32 * kMiB;
    const AllocatorRule rule(settings);
    CHECK(rule.granted_bytes(32 * kMiB, 80 * kMiB, false) == 80 * kMiB);
    CHECK(rule.granted_bytes(32 * kMiB - 512, 80 * kMiB, false) == 32 * kMiB - 512);
}
