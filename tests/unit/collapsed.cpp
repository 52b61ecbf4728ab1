// SPDX-License-Identifier: Apache-2.0
//
// The collapsed form: lines that flame graph tools read, and nothing readable in them without leave.
#include "collapsed_output.h"

#include "named_recording.h"

using namespace memsnap;
using namespace memsnap::test;

namespace {

constexpr std::string_view kHeld =
    "segment s1 700MiB\nalloc a s1+0 100MiB site=7\nalloc b s1+100MiB 50MiB site=7\n"
    "alloc c s1+200MiB 30MiB site=8\nalloc d s1+300MiB 20MiB\n";

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    for (size_t at = 0, end = 0; (end = text.find('\n', at)) != std::string::npos; at = end + 1)
        lines.push_back(text.substr(at, end - at));
    return lines;
}

}  // namespace

TEST_CASE("a line has the frames of a site from the root and its bytes") {
    NamedRecording named(std::string(kHeld) + "failing 300MiB total=1GiB free=100MiB\n", two_functions);
    const auto lines =
        lines_of(collapsed_text(*named.recording.capture, named.recording.analysis, named.naming({}, true)));
    REQUIRE(lines.size() == 3);
    CHECK(lines[0] == "cuda:0;main (train.py:41);Net.forward (model.py:12) 157286400");
    CHECK(lines[1] == "cuda:0;main (train.py:43) 31457280");
    CHECK(lines[2] == "cuda:0;without-stack 20971520");
}

TEST_CASE("without leave frames are tokens, and equal frames have equal ones") {
    NamedRecording named(std::string(kHeld) + "failing 300MiB total=1GiB free=100MiB\n", two_functions);
    const Recording& recording = named.recording;
    const std::string text = collapsed_text(*recording.capture, recording.analysis, named.naming());
    CHECK(text.find("train") == std::string::npos);
    CHECK(text.find("Net") == std::string::npos);
    const std::string root = "cuda:0;" + token("frame", frame_at(2, 1), recording.capture->header.ring_id);
    CHECK(lines_of(text)[0].starts_with(root + ";frame-"));
    const TokenKey key = token_key("secret");
    const std::string keyed = collapsed_text(*recording.capture, recording.analysis, named.naming(key));
    using namespace std::string_literals;
    CHECK(lines_of(keyed)[1] == "cuda:0;" + token("frame", "train.py\0main\0003"s, key) + " 31457280");
    const std::string unknown = collapsed_text(*recording.capture, recording.analysis, {});
    CHECK(lines_of(unknown)[0] ==
          "cuda:0;" + token("site", uint64_t{7}, recording.capture->header.ring_id) + " 157286400");
}

TEST_CASE("a name cannot end its frame or its line") {
    NamedRecording named(std::string(kHeld) + "failing 300MiB total=1GiB free=100MiB\n",
                         [](SidecarWriter& s) {
                             add_function(s, 1, 1, "a;b.py", "f;\n");
                             s.stack(7, {frame_at(1, 0)});
                         });
    const auto lines =
        lines_of(collapsed_text(*named.recording.capture, named.recording.analysis, named.naming({}, true)));
    CHECK(lines[0] == "cuda:0;f\\x3b\\x0a (a\\x3bb.py:1) 157286400");
}

TEST_CASE("names stay in their own letters, but what ends a line in some of them is escaped") {
    NamedRecording named(std::string(kHeld) + "failing 300MiB total=1GiB free=100MiB\n",
                         [](SidecarWriter& s) {
                             add_function(s, 1, 1, "mod\xc3\xa8le.py",
                                          "cr\xc3\xa9"
                                          "er\xe2\x80\xa8\xff");
                             s.stack(7, {frame_at(1, 0)});
                         });
    const auto lines =
        lines_of(collapsed_text(*named.recording.capture, named.recording.analysis, named.naming({}, true)));
    CHECK(lines[0] == "cuda:0;créer\\xe2\\x80\\xa8\\xff (modèle.py:1) 157286400");
}

TEST_CASE("without a failure the lines are of the peak, and add up to it") {
    NamedRecording named(std::string(kHeld) + "free a\nfree b\nmem_info total=1GiB free=100MiB\n",
                         two_functions);
    const auto lines =
        lines_of(collapsed_text(*named.recording.capture, named.recording.analysis, named.naming()));
    uint64_t sum = 0;
    for (const std::string& line : lines)
        sum += std::stoull(line.substr(line.rfind(' ') + 1));
    CHECK(sum == 200 * kMiB);
    CHECK(lines.size() == 3);
}
