// SPDX-License-Identifier: Apache-2.0
//
// CUPTI as a second witness: agreement, the first difference, and what makes it partial.
#include "check_cupti.h"

#include "check.h"
#include "receipt_fixture.h"

using namespace memsnap;
using namespace memsnap::test;

namespace {

std::string seen(std::string_view name, int act, int kind = 3) {
    return "record cupti_memory address=" + std::string(name) + " size=4MiB code=" + std::to_string(act) +
           " extra=" + std::to_string(kind) + " link=5\n";
}

Result<std::string> checked(const std::string& events) {
    return check(*Recording("memsnap-events 1\n" + events).capture);
}

const std::string kPair = "call a cudaMalloc 4MiB library=2\ncall b cudaMallocAsync 4MiB library=2\n";

}  // namespace

TEST_CASE("both witnesses tell the same in another order: they agree, and pinned memory is not compared") {
    const auto text = checked(kPair + "call host cudaMallocHost 4MiB\nfree a\n" + seen("b", 1) +
                              seen("a", 2) + seen("a", 1) + seen("host", 1, 2) + "exit 0\n");
    REQUIRE(text);
    CHECK(text->find("CUPTI agrees on 2 allocations and 1 releases\n") != std::string::npos);
    CHECK(text->find("partial") == std::string::npos);
}

TEST_CASE("what only one of them saw between two acts of both is the first difference") {
    const std::string around = "call c cudaMalloc 4MiB library=2\n" + seen("a", 1);
    const auto ours = checked(kPair + around + seen("c", 1) + "exit 0\n");
    REQUIRE(!ours);
    CHECK(ours.error().code == ErrorCode::disagreed);
    CHECK(ours.error().rule == "cupti_differs");
    CHECK(ours.error().ticket == 3);
    const auto theirs = checked(kPair + seen("a", 1) + seen("b", 1) + seen("a", 2) + "exit 0\n");
    REQUIRE(!theirs);
    CHECK(theirs.error().detail.starts_with("release of 4194304 bytes at 0x"));
    CHECK(theirs.error().detail.ends_with("0 recorded, 1 by CUPTI"));
}

TEST_CASE("what lies before or behind all that CUPTI saw is not compared") {
    const auto text =
        checked(kPair + "call c cudaMalloc 4MiB library=2\nfree c\n" + seen("b", 1) + "exit 0\n");
    REQUIRE(text);
    CHECK(text->find("not compared: 1 before CUPTI started, 2 after its last record\n") != std::string::npos);
    CHECK(text->find("partial") == std::string::npos);
}

TEST_CASE("a process that was killed, a late start and a lost record make it partial") {
    for (const char* cause : {"", "header start_mode=late\nexit 0\n", "header lost=1\nexit 0\n"}) {
        const auto text = checked(kPair + seen("a", 1) + seen("a", 2) + cause);
        REQUIRE(text);
        CHECK(text->find("partial (") != std::string::npos);
    }
}

TEST_CASE("a refused free is no release") {
    const auto text = checked(kPair + "free_fail a\n" + seen("a", 1) + seen("b", 1) + "exit 0\n");
    REQUIRE(text);
    CHECK(text->find("agrees on 2 allocations and 0 releases") != std::string::npos);
}

TEST_CASE("a recording without CUPTI's records says nothing of it") {
    CHECK(checked(kPair + "exit 0\n")->find("CUPTI") == std::string::npos);
}
