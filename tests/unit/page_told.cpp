// SPDX-License-Identifier: Apache-2.0
//
// What the page is told beside its tables: names of ordinals, and the outline with its notes.
#include "named_recording.h"
#include "page_names.h"
#include "page_outline.h"

using namespace memsnap;
using namespace memsnap::test;

namespace {

const LedgerNumbers kNumbers = {.sites = {{7, 0}, {0, 512}, {8, 0}, {99, 0}, {0, uint64_t{1} << 60}},
                                .phases = {},
                                .libraries = {1},
                                .dimensions = {}};

std::string outline_of(const Recording& recording, const Naming& naming, uint64_t exact_event_count) {
    return page_outline(*recording.capture, recording.capture->window, recording.analysis, naming,
                        {.memsnap_version = "1.0.0",
                         .command = {"--device", "0"},
                         .exact_first_ticket = 0,
                         .exact_event_count = exact_event_count});
}

bool has(const std::string& text, std::string_view part) {
    INFO(text);
    CHECK(text.find(part) != std::string::npos);
    return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a site has its frames from the root, and frames of several sites stand there once") {
    NamedRecording named(retaining(), two_functions);
    const rapidjson::Document names =
        parsed(page_names(*named.recording.capture, kNumbers, named.naming({}, true)));
    REQUIRE(names["sites"].Size() == 5);
    const auto& sites = names["sites"];
    CHECK(sites[0]["frames"].Size() == 2);
    CHECK(sites[2]["frames"].Size() == 1);
    const auto& inner = names["frames"][sites[0]["frames"][1].GetUint()];
    CHECK(std::string_view(inner["function"].GetString()) == "Net.forward");
    CHECK(std::string_view(inner["file"].GetString()) == "/home/someone/model.py");
    CHECK_FALSE(inner["native"].GetBool());
    CHECK(std::string_view(sites[0]["label"].GetString()).starts_with("Net.forward (model.py:"));
    CHECK(names["frames"].Size() == 3);
    // A block without a stack, and a stack that nothing is known of.
    CHECK((sites[1]["size_bytes"].GetUint() == 512 && !sites[1].HasMember("token")));
    CHECK((sites[3].HasMember("token") && !sites[3].HasMember("frames") && !sites[3].HasMember("label")));
    CHECK(std::string_view(sites[4]["size_bytes"].GetString()) == "1152921504606846976");
}

TEST_CASE("without names the page has tokens, and no text of the job") {
    NamedRecording named(retaining(), two_functions);
    const std::string text = page_names(*named.recording.capture, kNumbers, named.naming());
    for (const char* secret : {"forward", "model", "someone", "train", "label", "function"})
        CHECK(text.find(secret) == std::string::npos);
    const rapidjson::Document names = parsed(text);
    CHECK(names["sites"][0]["frames"].Size() == 2);
    CHECK(std::string_view(names["frames"][0]["token"].GetString()).starts_with("frame-"));
    const std::string outline = outline_of(named.recording, named.naming(), 1000000);
    for (const char* secret : {"forward", "model.py", "someone", "train", "ring.bin"})
        CHECK(outline.find(secret) == std::string::npos);
    has(outline, "\"file\":null");
    has(outline, "\"at\":null");
}

TEST_CASE("the outline says what the terminal says first, and what of the window is summed up") {
    NamedRecording named(retaining(), two_functions);
    const std::string whole = outline_of(named.recording, named.naming({}, true), 1000000);
    has(whole, "\"title\":\"OUT OF MEMORY\"");
    has(whole, "\"event\":\"in step 21: PyTorch asked for 800.00 MiB\"");
    has(whole, "\"command\":[\"--device\",\"0\"]");
    has(whole, "\"devices\":[0]");
    has(whole, "\"file\":\"ring.bin\"");
    CHECK(whole.find("one by one") == std::string::npos);
    has(outline_of(named.recording, named.naming({}, true), 5), "5 are here one by one, from event 0 on");
}

TEST_CASE("what is missing or special is a note of the outline") {
    const auto notes = [](const std::string& events) {
        const Recording recording("memsnap-events 1\n" + events);
        return outline_of(recording, {}, 1000000);
    };
    const std::string job = "segment s1 900MiB\nalloc a s1+0 895MiB\n";
    has(notes(job), "no answer in the window tells what is free on cuda:0");
    has(notes("header origin=torch_snapshot\n" + job), "from a memory snapshot of PyTorch's");
    has(notes("header lost=3\n" + job), "the recorder had no place for 3 events");
    has(notes("header sampling=off\n" + job), "\"NVML was switched off");
    has(notes(job + "call b cudaMalloc 8MiB library=2 device=1\n"), "2 cards");
    has(notes("header ring_records=16\n" + job +
              "failing 9MiB total=1GiB free=11MiB\nkeyframe\nmark later count=40\n"),
        "the ring does not hold the failing instant");
    has(notes("header start=5000\n" + job), "are not in the ring, and what was live then is known");
}
