// SPDX-License-Identifier: Apache-2.0
//
// Cutting an incident out of its recording: what is stated instead of history, what may be merged, what is
// refused. Recordings are texts; a cut that is returned has already been replayed and compared.
#include "cut.h"

#include <string>

#include "catch.h"
#include "cut_check.h"

using namespace memsnap;

namespace {

// A card of 1 GiB and a steady job; `more` comes before the failure.
std::string job(const std::string& more,
                const std::string& failure = "failing 150MiB total=1GiB free=24MiB\n") {
    return "memsnap-events 1\nprocess_sample own=0 others=0 count=0\nsegment s1 800MiB\n"
           "alloc w s1+0 700MiB site=0xfeedfacecafe0001\nstep\nstep\nstep\nstep\nstep\nstep\n" +
           more + failure;
}

struct Recording {
    explicit Recording(const std::string& text) : capture(read_text(text)) {
        REQUIRE(capture);
        auto done = analyse(*capture, {});
        REQUIRE(done);
        analysis = std::move(*done);
    }
    Result<std::string> cut(const CutBounds& bounds) const {
        return cut_incident(*capture, analysis, bounds);
    }
    std::string refused(const CutBounds& bounds) const {
        const auto text = cut(bounds);
        return text ? "not refused"
                    : text.error().rule + ": " + text.error().detail + "; " + text.error().way_out;
    }

    Result<Capture> capture;
    Analysis analysis;
};

size_t count_of(const std::string& text, const std::string& part) {
    size_t count = 0;
    for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
        ++count;
    return count;
}

bool says(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

std::string block(int number, const std::string& place, const std::string& more) {
    return "alloc x" + std::to_string(number) + " " + place + " " + more + "\n";
}

}  // namespace

TEST_CASE("a recording that fits is cut with all its events and leads to the same verdict") {
    const Recording recording(job("alloc a s1+700MiB 50MiB site=3\nfree a\n"));

    const auto text = recording.cut({});

    REQUIRE(text);
    CHECK(count_of(*text, "\nstep ") == 6);
    const auto again = read_text(*text);
    REQUIRE(again);
    const auto analysis = analyse(*again, {});
    REQUIRE(analysis);
    CHECK(exit_status(*analysis) == exit_status(recording.analysis));
    CHECK(analysis->incident->verdict.primary() == recording.analysis.incident->verdict.primary());
}

TEST_CASE("with few events allowed, what is live is stated and the boundaries stay") {
    const Recording recording(job(""));

    const auto text = recording.cut({.events_count = 6});

    REQUIRE(text);
    CHECK(says(*text, "live segment s1 800MiB"));
    CHECK(says(*text, "live alloc b1 s1+0 700MiB"));
    CHECK(count_of(*text, "boundary family=step closing=") == 6);
}

TEST_CASE("the failing operation is always whole: fewer events than it needs are refused with their number") {
    const Recording recording(job(""));

    const std::string refused = recording.refused({.events_count = 3});

    CHECK(says(refused, "cut_exceeds_bounds: "));
    CHECK(says(refused, "6 events are needed, 3 more than the 3 allowed"));
    CHECK(says(refused, "--window-events 6"));
}

TEST_CASE("every bound that is exceeded is named with what it would have to be") {
    std::string more;
    for (int i = 0; i < 5; ++i) {
        const std::string name = "t" + std::to_string(i);
        more += "segment " + name + " 20MiB\n" + block(2 * i, name + "+0", "5MiB site=4") +
                block(2 * i + 1, name + "+10MiB", "5MiB site=4");
    }
    const Recording recording(job(more, "failing 100MiB total=1GiB free=4MiB\n"));

    const std::string refused =
        recording.refused({.events_count = 12, .segments_count = 4, .blocks_count = 1});

    CHECK(says(refused, "6 segments are needed, 2 more than the 4 allowed"));
    CHECK(says(refused, "2 blocks in one segment are needed, 1 more than the 1 allowed"));
    CHECK(says(refused, "--window-segments 6 --window-blocks 2"));
}

TEST_CASE("adjacent blocks of one site and step are one where a segment may have few blocks") {
    std::string more;
    for (int i = 0; i < 40; ++i)
        more += block(i, "s1+" + std::to_string(700 + i) + "MiB", "1MiB site=5");
    const Recording recording(job(more));

    const auto text = recording.cut({.events_count = 12, .segments_count = 16, .blocks_count = 4});

    REQUIRE(text);
    CHECK(says(*text, "s1+700MiB 40MiB"));
    CHECK(says(*text, "count=40"));
}

TEST_CASE("full segments become fillers that keep the bytes of each site") {
    std::string more;
    for (int i = 0; i < 8; ++i) {
        const std::string name = "t" + std::to_string(i);
        more += "segment " + name + " 20MiB\n" + block(2 * i, name + "+0", "10MiB site=8") +
                block(2 * i + 1, name + "+10MiB", "10MiB site=9");
    }
    const Recording recording(job(more, "failing 100MiB total=1GiB free=4MiB\n"));

    const auto text = recording.cut({.events_count = 8, .segments_count = 2, .blocks_count = 2});

    REQUIRE(text);
    CHECK(says(*text, "live segment full1 160MiB"));
    CHECK(count_of(*text, "80MiB birth=") == 2);
    CHECK(says(*text, "all of 8 segments without a free extent"));
}

TEST_CASE("survivors of different steps stay apart, so that the retained bytes do") {
    std::string text =
        "memsnap-events 1\nprocess_sample own=0 others=0 count=0\nsegment s1 800MiB\n"
        "alloc w s1+0 776MiB site=1\nstep\nstep\n";
    for (int i = 0; i < 4; ++i) {
        const std::string at = std::to_string(776 + 6 * i);
        text += block(2 * i, "s1+" + at + "MiB", "3MiB site=5") +
                block(2 * i + 1, "s1+" + at + "MiB+3MiB", "3MiB site=5") + "step\n";
    }
    const Recording recording(text + "step\nfailing 30MiB total=1GiB free=24MiB\n");
    REQUIRE(recording.analysis.incident->evidence.growth.retained == uint64_t{24} << 20);

    const auto cut = recording.cut({.events_count = 6, .segments_count = 1, .blocks_count = 5});

    REQUIRE(cut);
    CHECK(count_of(*cut, " 6MiB birth=") == 4);
    CHECK(says(recording.refused({.events_count = 6, .segments_count = 1, .blocks_count = 4}),
               "2 segments are needed"));
}

TEST_CASE("blocks of a small segment are not merged into one that would make it a large one") {
    std::string more = "segment t 2MiB\n";
    for (int i = 0; i < 6; ++i)
        more += block(i, "t+" + std::to_string(256 * i) + "KiB", "256KiB site=6");
    const Recording recording(job(more));

    const auto text = recording.cut({.events_count = 8, .segments_count = 2, .blocks_count = 2});

    REQUIRE(text);
    CHECK(says(*text, "1MiB birth="));
    CHECK(says(*text, "512KiB birth="));
}

TEST_CASE("boundaries that were inferred need every block event, and the refusal says so") {
    std::string text =
        "memsnap-events 1\nprocess_sample own=0 others=0 count=0\nsegment s1 800MiB\n"
        "alloc w s1+0 700MiB site=1\n";
    for (int i = 0; i < 40; ++i)
        text += "alloc a s1+700MiB 50MiB site=3\nfree a\n";
    const Recording recording(text + "failing 200MiB total=1GiB free=24MiB\n");
    REQUIRE(recording.analysis.incident->evidence.growth.basis == GrowthBasis::uncertified);

    CHECK(says(recording.refused({.events_count = 40}), "boundaries were inferred"));
    CHECK(recording.cut({}));
}

TEST_CASE("an incident of a keyframe stays one, with the ring gone round") {
    const std::string text =
        "memsnap-events 1\nheader ring_records=32\nprocess_sample own=0 others=0 count=0\n"
        "segment s1 800MiB\nalloc w s1+0 800MiB site=1\n"
        "failing 100MiB total=1GiB free=24MiB\nkeyframe\nmark later count=64\n";
    const Recording recording(text);
    REQUIRE(recording.analysis.incident->from_keyframe);

    const auto cut = recording.cut({});

    REQUIRE(cut);
    const auto again = read_text(*cut);
    REQUIRE(again);
    const auto analysis = analyse(*again, {});
    REQUIRE(analysis);
    CHECK(analysis->incident->from_keyframe);
}

TEST_CASE("a cut holds no name, address, stack token or identity of the recording") {
    const Recording recording(
        job("phase begin /home/alice/train.py\nalloc a s1+700MiB 50MiB site=0xabcdef0123\n"
            "mark secret\nnote alice 7\nphase end\nheader pid=31337 job_key=424242\n"
            "tap_segment_alloc s1 stream=0x7fee12345678 pool=0\n"));

    for (const uint64_t events : {6, 96}) {
        const auto text = recording.cut({.events_count = events});
        REQUIRE(text);
        for (const char* word :
             {"alice", "train", "secret", "0x", "31337", "424242", "ring_id", "737894400291",
              "18369614221190103041", "139637976727552", "140660484363896"})
            CHECK(!says(*text, word));
    }
}

TEST_CASE("what differs is named with both values") {
    const Recording recording(job(""));
    Incident other = *recording.analysis.incident;
    CutDraft draft;
    draft.sites[0xfeedfacecafe0001] = 0xfeedfacecafe0001;
    CHECK(first_difference(other, recording.analysis, draft).empty());

    other.evidence.extents.fragmented += 512;
    const std::string difference = first_difference(other, recording.analysis, draft);
    CHECK(difference == "ledgers.fragmented_free_bytes: 104858112 in the recording, 104857600 in the cut");

    other = *recording.analysis.incident;
    other.verdict.of(Hypothesis::live_set).status = Status::rejected;
    CHECK(
        first_difference(other, recording.analysis, draft).starts_with("verdict.live_set.status: rejected"));
}

TEST_CASE("a cut tells what sampling saw, and of neighbours of the job no more than their sum") {
    const std::string neighbours =
        "header sampling=nvml sample_period_ms=500\n"
        "neighbour pid=4711 bytes=30MiB job\nneighbour pid=4712 bytes=40MiB job\nneighbour pid=4713 "
        "bytes=10MiB\nprocess_sample own=0 others=80MiB count=3\n";
    const std::string later =
        "free w\nalloc w s1+0 700MiB site=0xfeedfacecafe0001\n";  // more than a cut of few events keeps
    const Recording recording(job(neighbours + later));
    REQUIRE(recording.analysis.incident->evidence.outside.holder_shares_job);
    for (const uint64_t events_count : {uint64_t{96}, uint64_t{8}}) {
        const auto text =
            recording.cut({.events_count = events_count, .segments_count = 16, .blocks_count = 32});
        REQUIRE(text);
        CHECK(says(*text, "sampling=nvml sample_period_ms=500"));
        CHECK(says(*text, "neighbour pid=1 bytes=70MiB job\nprocess_sample own=0 others=80MiB count=3"));
        CHECK_FALSE(says(*text, "471"));
    }
}

TEST_CASE("a sample that told nothing of others is kept: without it an older one would count") {
    const std::string samples =
        "process_sample own=0 others=80MiB count=3\nprocess_sample own=0 others=0 unavailable\n";
    const Recording recording(job(samples));
    CHECK_FALSE(recording.analysis.incident->evidence.outside.others.known());
    const auto text = recording.cut({});
    REQUIRE(text);
    CHECK(says(*text, "others=0 count=1 unavailable"));
}

TEST_CASE("a cut keeps who told the events, what was stated, and the failure's own word of the tap") {
    const std::string hole =
        "header origin=torch_snapshot stated=total\nalloc x s1+700MiB 50MiB\n"
        "tap_segment_alloc s1 stream=0 pool=0\ntap_free_requested x\nfree x\n"
        "alloc y s1+750MiB 50MiB\nfree y\nalloc z s1+760MiB 40MiB\ntap_free_completed x\n";
    const Recording recording(
        job(hole, "tap_oom 50MiB free=24MiB requested=700MiB stream=0 pool=0\noom 50MiB operation=no\n"));
    REQUIRE(recording.analysis.incident->evidence.extents.release == HoleRelease::overlaps);
    for (const uint64_t events_count : {uint64_t{96}, uint64_t{11}}) {
        const auto text =
            recording.cut({.events_count = events_count, .segments_count = 16, .blocks_count = 32});
        REQUIRE(text);
        CHECK(says(*text, " origin=torch_snapshot stated=total"));
        CHECK(says(*text, "tap_oom 50MiB free=24MiB requested=700MiB stream=0 pool=0"));
    }
    const Recording unknown(job("header origin=77\n", "tap_oom 150MiB free=none\noom 150MiB operation=no\n"));
    const auto text = unknown.cut({});
    REQUIRE(text);
    CHECK(says(*text, " origin=none"));
    CHECK(says(*text, "free=none"));
}
