// SPDX-License-Identifier: Apache-2.0
//
// Categories of blocks. Rule: one byte, one ticket or one device beside the block, and nothing was told of
// it.
#include "job.h"

using namespace oracle;
using namespace oracle::test;

namespace {

std::vector<std::string> categories(const Json& evidence) {
    std::vector<std::string> words;
    for (const auto& row : list(evidence, "categories"))
        words.push_back(*row["category"].text() + " " + row["bytes"].canonical() + " " +
                        row["block_count"].canonical());
    return words;
}
std::string site_category(const Json& evidence) {
    return *list(evidence, "sites").front()["category"].text();
}

using Rows = std::vector<std::string>;

}  // namespace

TEST_CASE("each code is one category, listed in one order") {
    Job job;
    for (u16 code = 1; code <= 6; ++code) {
        job.alloc(code, 1);
        job.tell(Job::at(code), static_cast<u16>(7 - code));
    }
    job.alloc(7, 1);
    CHECK(categories(job.evidence()) == Rows{"unknown 1048576 1", "parameter 1048576 1", "gradient 1048576 1",
                                             "optimizer_state 1048576 1", "buffer 1048576 1",
                                             "input 1048576 1", "activation 1048576 1"});
}

TEST_CASE("a category is told at any address in the block and of no neighbour") {
    for (auto [address, told] : std::map<u64, bool>{
             {Job::at(1) - 1, false}, {Job::at(1), true}, {Job::at(2) - 1, true}, {Job::at(2), false}}) {
        Job job;
        job.alloc(1, 1);
        job.tell(address, 1);
        INFO(address);
        CHECK(categories(job.evidence()) == Rows{told ? "parameter 1048576 1" : "unknown 1048576 1"});
    }
}

TEST_CASE("no category, an unknown one and one of another device tell nothing") {
    for (auto [code, device] : {std::pair(0, 0), std::pair(7, 0), std::pair(1, 1), std::pair(1, -1)}) {
        Job job;
        job.alloc(1, 1);
        job.tell(Job::at(1), 2);
        job.tell(Job::at(1), static_cast<u16>(code), device);
        CHECK(categories(job.evidence()) == Rows{"gradient 1048576 1"});
    }
}

TEST_CASE("the last word about a block counts, and its free ends it") {
    Job job;
    job.tell(Job::at(1), 1);
    job.alloc(1, 1);
    job.tell(Job::at(1), 2);
    job.tell(Job::at(1), 3);
    job.alloc(5, 2);
    job.tell(Job::at(6), 4);
    job.free(5);
    job.tell(Job::at(6), 5);
    job.alloc(6, 2);
    CHECK(categories(job.evidence()) == Rows{"unknown 2097152 1", "optimizer_state 1048576 1"});
}

TEST_CASE("a site has the category of most of its bytes, of two equal ones the earlier in the list") {
    Job equal;
    equal.alloc(1, 1);
    equal.alloc(2, 1);
    equal.tell(Job::at(1), 5);
    equal.tell(Job::at(2), 3);
    CHECK(site_category(equal.evidence()) == "optimizer_state");
    Job more;
    more.alloc(1, 2);
    more.alloc(3, 1);
    more.tell(Job::at(1), 5);
    more.tell(Job::at(3), 3);
    CHECK(site_category(more.evidence()) == "input");
    Job untold;
    untold.alloc(1, 1);
    untold.alloc(2, 1);
    untold.tell(Job::at(1), 6);
    CHECK(site_category(untold.evidence()) == "unknown");
}

TEST_CASE("at the peak a block has the category it had then") {
    Job job;
    job.alloc(1, 4);
    job.tell(Job::at(1), 1);
    job.alloc(10, 2, 2);
    job.free(10);
    job.tell(Job::at(1), 2);
    auto evidence = job.evidence();
    CHECK(*list(list(evidence, "peak_sites")[0], "rows")[0]["category"].text() == "parameter");
    CHECK(site_category(evidence) == "gradient");
}
