// SPDX-License-Identifier: Apache-2.0
#include "neighbours.h"

#include <unistd.h>

#include "catch.h"

using namespace memsnap;
using namespace memsnap::recorder;

namespace {

constexpr uint64_t kMebibyte = 1024 * 1024;
constexpr uint64_t kMachinesNamespace = 0xeffffffc;

uint32_t our_pid() {
    return static_cast<uint32_t>(getpid());
}

ProcessEvents described(uint64_t pid_namespace, uint64_t our_bytes, uint64_t reserved_bytes) {
    wire::Header header{};
    header.pid_namespace = pid_namespace;
    Holders holders{};
    holders.clear();
    holders.add(our_pid(), our_bytes);
    holders.add(3999999, 70 * kMebibyte);
    ProcessEvents events{};
    describe_processes(header, holders, reserved_bytes, events);
    return events;
}

bool is_known(const ProcessEvents& events) {
    return (events.sample.flags & wire::kFlagUnavailable) == 0;
}

}  // namespace

TEST_CASE("In another pid namespace, whoever has our number but less than we hold is somebody else") {
    CHECK(is_known(described(12345, 100 * kMebibyte, 100 * kMebibyte)));
    ProcessEvents events = described(12345, 99 * kMebibyte, 100 * kMebibyte);
    CHECK_FALSE(is_known(events));
    CHECK(events.neighbour_count == 0);
    CHECK(events.sample.size == 0);
}

TEST_CASE("In another pid namespace, while PyTorch holds nothing, our number proves nothing") {
    CHECK_FALSE(is_known(described(12345, 99 * kMebibyte, 0)));
    CHECK(is_known(described(kMachinesNamespace, 99 * kMebibyte, 0)));
}

TEST_CASE("In the machine's own pid namespace a number is enough") {
    ProcessEvents events = described(kMachinesNamespace, 99 * kMebibyte, 100 * kMebibyte);
    CHECK(is_known(events));
    CHECK(events.sample.size == 99 * kMebibyte);
    CHECK(events.sample.link == 70 * kMebibyte);
    CHECK(events.neighbour_count == 1);
}

TEST_CASE("A number that the driver withholds is nobody of our job") {
    wire::Header header{};
    header.pid_namespace = kMachinesNamespace;
    header.session_id = static_cast<uint32_t>(getsid(0));
    Holders holders{};
    holders.clear();
    holders.add(our_pid(), kMebibyte);
    holders.add(0, kMebibyte);
    ProcessEvents events{};
    describe_processes(header, holders, 0, events);
    CHECK(is_known(events));
    REQUIRE(events.neighbour_count == 1);
    CHECK(events.neighbours[0].code == 0);
}

TEST_CASE("More processes than there is room for are no complete list") {
    Holders holders{};
    holders.clear();
    for (uint32_t pid = 1; pid <= Holders::kCapacity; ++pid) {
        holders.add(pid, pid);
    }
    CHECK(holders.complete());
    holders.add(1, 5);
    CHECK(holders.complete());
    holders.add(Holders::kCapacity + 1, 1);
    CHECK_FALSE(holders.complete());
    CHECK(holders.begin()->bytes == 5);
}
