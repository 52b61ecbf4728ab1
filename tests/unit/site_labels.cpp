// SPDX-License-Identifier: Apache-2.0
//
// Labels of one list: no two sites read alike, and what a model allocates names the line that called it.
#include "site_labels.h"

#include "catch.h"
#include "named_recording.h"

using namespace memsnap;
using namespace memsnap::test;

namespace {

const std::string kModules = "/venv/lib/python3.12/site-packages/torch/nn/modules/module.py";
constexpr uint64_t kCall = 1, kLinear = 2, kGelu = 3, kBlock = 4, kNet = 5, kTrain = 6, kMain = 7;
constexpr size_t kWide = 120;

void functions(SidecarWriter& s) {
    add_function(s, kCall, 1700, kModules, "Module._call_impl");
    add_function(s, kLinear, 90, "/venv/site-packages/torch/linear.py", "Linear.forward");
    add_function(s, kGelu, 30, "/venv/site-packages/torch/activation.py", "GELU.forward");
    add_function(s, kBlock, 10, "/home/someone/blocks.py", "Block.forward");
    add_function(s, kNet, 20, "/home/someone/blocks.py", "Net.forward");
    add_function(s, kTrain, 10, "/home/someone/loop.py", "train");
    add_function(s, kMain, 40, "/home/someone/loop.py", "main");
    const auto in_block = [&](uint64_t token, std::vector<uint64_t> inner) {
        for (const uint64_t frame : {frame_at(kBlock, 3), frame_at(kCall, 0), frame_at(kNet, 1),
                                     frame_at(kCall, 0), frame_at(kTrain, 2), frame_at(kMain, 1)})
            inner.push_back(frame);
        s.stack(token, inner);
    };
    in_block(1, {});
    in_block(2, {frame_at(kLinear, 1), frame_at(kCall, 0)});
    in_block(3, {frame_at(kGelu, 1), frame_at(kCall, 0)});
    in_block(4, {frame_at(kLinear, 2), frame_at(kCall, 0)});
    s.stack(5, {frame_at(kTrain, 4), frame_at(kMain, 1)});
    s.stack(6, {frame_at(kTrain, 4), frame_at(kMain, 2)});
    s.stack(7, {frame_at(kBlock, 3), frame_at(kCall, 0), frame_at(kTrain, 2)});
}

// Two instructions of one line.
void one_line(SidecarWriter& s) {
    const std::vector<std::byte> table = {std::byte{0xE8}, std::byte{0}, std::byte{0xE8}, std::byte{0}};
    s.code(1, 10, kPython312, "a.py", "f", table);
    s.stack(1, {frame_at(1, 0)});
    s.stack(2, {frame_at(1, 1)});
}

struct Sites {
    NamedRecording named{"segment s1 20MiB\n", functions};
    std::vector<std::string> labels(std::vector<uint64_t> tokens, size_t columns_most = kWide,
                                    Letters letters = Letters::ascii) {
        return site_labels(*named.sites, tokens, columns_most, letters);
    }
    std::string label(uint64_t token, size_t columns_most = kWide, Letters letters = Letters::ascii) {
        return labels({token}, columns_most, letters).front();
    }
};

using List = std::vector<std::string>;

}  // namespace

TEST_CASE("what a forward allocates is labelled with the line that called the model") {
    Sites sites;
    CHECK(sites.label(1) == "Block.forward (blocks.py:13) < Net.forward (blocks.py:21) < train (loop.py:12)");
    CHECK(sites.label(1, 60) == "Block.forward (blocks.py:13) .. < train (loop.py:12)");
    CHECK(sites.label(1, 60, Letters::utf8) == "Block.forward (blocks.py:13) … < train (loop.py:12)");
    CHECK(sites.label(1, 48) == "Block.forward (blocks.py:13) .. < loop.py:12");
    CHECK(sites.label(1, 43) == "Block.forward (blocks.py:13)");
    CHECK(sites.label(7) == "Block.forward (blocks.py:13) < train (loop.py:12)");
    CHECK(loop_label(*sites.named.sites, 1, Letters::ascii) == "train (loop.py:12)");
    CHECK(loop_label(*sites.named.sites, 5, Letters::ascii).empty());
}

TEST_CASE("sites of one line are told apart by what it called") {
    Sites sites;
    CHECK(sites.labels({2, 3}, 48) == List{"Block.forward (blocks.py:13) via Linear.forward",
                                           "Block.forward (blocks.py:13) via GELU.forward"});
    CHECK(sites.labels({2, 4}, 50) == List{"Block.forward (blocks.py:13) via Linear.forward:91",
                                           "Block.forward (blocks.py:13) via Linear.forward:92"});
    CHECK(sites.labels({2, 2, 5}, 48) == List{sites.label(2, 48), sites.label(2, 48), sites.label(5, 48)});
}

TEST_CASE("what tells sites apart is kept where the function is not") {
    Sites sites;
    CHECK(sites.labels({2, 4}, 40) ==
          List{"blocks.py:13 via Linear.forward:91", "blocks.py:13 via Linear.forward:92"});
}

TEST_CASE("sites of one line are told apart by their callers") {
    Sites sites;
    CHECK(sites.labels({5, 6}, 24) == List{"loop.py:14 < main:41", "loop.py:14 < main:42"});
    CHECK(sites.labels({5, 6}, 10) == List{"loop... #1", "loop... #2"});
    CHECK(sites.labels({5, 6}, 30) == List{"train (loop.py:14) < main:41", "train (loop.py:14) < main:42"});
}

TEST_CASE("sites of one line and one stack of lines are told apart by their instructions") {
    NamedRecording named("segment s1 20MiB\n", one_line);
    const std::vector<uint64_t> tokens = {1, 2};
    CHECK(site_labels(*named.sites, tokens, kWide, Letters::ascii) ==
          List{"f (a.py:10) +0", "f (a.py:10) +2"});
    CHECK(site_labels(*named.sites, tokens, 12, Letters::ascii) == List{"a.py:10 +0", "a.py:10 +2"});
}

TEST_CASE("sites of which nothing is known have no label, however many there are") {
    Sites sites;
    CHECK(sites.labels({98, 99}) == List{"", ""});
}
