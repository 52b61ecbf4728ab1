// SPDX-License-Identifier: Apache-2.0
// The grammar of the session's texts.
#include "session_settings.h"

#include "catch.h"

using namespace simcuda;

TEST_CASE("sizes are whole bytes or binary units, fractions allowed") {
    CHECK(parse_bytes("512") == 512);
    CHECK(parse_bytes("300MiB") == uint64_t{300} << 20);
    CHECK(parse_bytes("1.5GiB") == uint64_t{3} << 29);
    CHECK(parse_bytes("4KiB") == 4096);
    for (const char* wrong : {"", "GiB", "8GB", "-1", "8 GiB", "1e99", "x", "nan", "inf"}) {
        INFO(wrong);
        CHECK(!parse_bytes(wrong).has_value());
    }
}

TEST_CASE("external steps name a device, bytes and perhaps an instant") {
    const auto steps = parse_external("0:1GiB,1:2MiB@allocs=40,0:3GiB@ms=500");
    REQUIRE(steps.has_value());
    REQUIRE(steps->size() == 3);
    CHECK((*steps)[0].trigger == Trigger::at_start);
    CHECK((*steps)[0].bytes == uint64_t{1} << 30);
    CHECK((*steps)[1].device == 1);
    CHECK((*steps)[1].trigger == Trigger::after_attempts);
    CHECK((*steps)[1].trigger_value == 40);
    CHECK((*steps)[2].trigger == Trigger::after_ms);
    CHECK(parse_external("")->empty());
    for (const char* wrong :
         {"1GiB", "0:", "16:1GiB", "0:1GiB@", "0:1GiB@soon", "0:1GiB@allocs=x", "0:1GiB@days=1"}) {
        INFO(wrong);
        CHECK(!parse_external(wrong).has_value());
    }
}

TEST_CASE("refusals name attempts or a size") {
    const auto refusals = parse_refusals("0@allocs=57,0@allocs=90-92,1@allocs=7-,0@bytes=1GiB");
    REQUIRE(refusals.has_value());
    REQUIRE(refusals->size() == 4);
    CHECK((*refusals)[0].first_attempt == 57);
    CHECK((*refusals)[0].last_attempt == 57);
    CHECK((*refusals)[1].last_attempt == 92);
    CHECK((*refusals)[2].device == 1);
    CHECK((*refusals)[2].last_attempt == UINT64_MAX);
    CHECK((*refusals)[3].min_bytes == uint64_t{1} << 30);
    CHECK((*refusals)[3].first_attempt == 1);
    for (const char* wrong :
         {"0", "0@", "0@allocs", "0@allocs=", "0@allocs=a-b", "0@size=1GiB", "x@allocs=1"}) {
        INFO(wrong);
        CHECK(!parse_refusals(wrong).has_value());
    }
}
