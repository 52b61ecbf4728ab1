// SPDX-License-Identifier: Apache-2.0
//
// Traces of PyTorch's profiler as rings: the order of events, blocks from before the trace, ranges, and what
// a trace leaves out.
#include <fcntl.h>
#include <unistd.h>

#include <optional>
#include <utility>

#include "../../snapshot/convert_profile.h"
#include "analysis.h"
#include "profile_trace.h"

using namespace memsnap;
using namespace memsnap::test;

namespace {

constexpr uint64_t kPage = 4096;

// A trace, read back as any recording is.
struct Imported {
    Folder folder;
    std::vector<std::string> notes;
    std::optional<Capture> capture;

    explicit Imported(const TraceText& trace) {
        auto profile = read_text(trace.text());
        REQUIRE(profile);
        snapshot::Converted made = snapshot::convert_profile(std::move(*profile), {1, 2, 3});
        notes = made.notes;
        const std::string ring = folder.file("ring.bin");
        const int files[] = {::open(ring.c_str(), O_RDWR | O_CREAT, 0600),
                             ::open((ring + ".names").c_str(), O_RDWR | O_CREAT, 0600)};
        REQUIRE(made.image.write(files[0], files[1]));
        for (const int file : files)
            ::close(file);
        auto read = Capture::read(ring);
        INFO((read ? "" : describe(read.error())));
        REQUIRE(read);
        capture.emplace(std::move(*read));
    }

    std::vector<Event> events(Kind kind) const {
        std::vector<Event> found;
        capture->window.events.for_each([&](const Event& event) {
            if (event.kind == kind) found.push_back(event);
            return true;
        });
        return found;
    }
    // Kinds and addresses in order, of the blocks: "+1000 -1000".
    std::string story() const {
        constexpr std::pair<Kind, const char*> kSigns[] = {{Kind::block_alloc, "+"}, {Kind::block_free, "-"},
                                                           {Kind::initial, "="},     {Kind::block_oom, "!"},
                                                           {Kind::phase_begin, "("}, {Kind::phase_end, ")"}};
        std::string said;
        capture->window.events.for_each([&](const Event& event) {
            for (const auto& [kind, sign] : kSigns) {
                if (event.kind != kind) continue;
                said += (said.empty() ? "" : " ") + std::string(sign);
                if (event.address != 0 && kind != Kind::phase_begin && kind != Kind::phase_end)
                    said += std::to_string(event.address / kPage);
            }
            return true;
        });
        return said;
    }
    // "free_unmatched 1"
    std::string tolerated() const {
        const auto analysis = analyse(*capture, {});
        REQUIRE(analysis);
        std::string said;
        for (size_t rule = 0; rule < kRuleCount; ++rule) {
            if (const uint64_t count = analysis->replay.tolerated[rule]; count != 0)
                said += (said.empty() ? "" : ", ") + std::string(name(static_cast<Rule>(rule))) + " " +
                        std::to_string(count);
        }
        return said;
    }
};

}  // namespace

TEST_CASE("events of several threads become one order, and each keeps its size, totals and time") {
    TraceText trace;
    trace.memory("20", 2 * kPage, 1024, 1536, 2097152).memory("30", kPage, -512, 1024, 2097152);
    trace.memory("10.001", kPage, 512, 512, 2097152);  // of another thread, whose events come later

    const Imported imported(trace);

    CHECK(imported.story() == "+1 +2 -1");
    const Event first = imported.events(Kind::block_alloc)[0];
    CHECK(first.size_bytes == 512);
    CHECK(first.allocated_bytes == 512);
    CHECK(first.reserved_bytes == 2097152);
    CHECK(imported.capture->realtime_ns(first.time_counter) == 1000 + 10001);
    CHECK(imported.notes.empty());
}

TEST_CASE("events of one microsecond are put into the order that their totals have") {
    TraceText trace;
    trace.memory("1", 9 * kPage, 512, 512, 4096);
    trace.memory("5", 2 * kPage, 512, 1024, 4096);   // third
    trace.memory("5", 9 * kPage, -512, 512, 4096);   // second
    trace.memory("5", kPage, 512, 1024, 4096);       // first
    trace.memory("5", 3 * kPage, 1024, 2048, 4096);  // last

    CHECK(Imported(trace).story() == "+9 +2 -9 +1 +3");
    TraceText other;
    other.memory("5", 3 * kPage, 1024, 2048, 4096);
    other.memory("1", 9 * kPage, 512, 512, 4096);
    other.memory("5", 2 * kPage, 512, 1024, 4096);
    CHECK(Imported(other).story() == "+9 +2 +3");
}

TEST_CASE(
    "what is freed without having been born was there from the beginning, unless something else was there") {
    TraceText trace;
    trace.memory("1", kPage, -1024, 5000 * 512, 10000 * 512);  // initial
    trace.memory("2", kPage, 512, 5001 * 512, 10000 * 512);
    trace.memory("3", 9 * kPage, -512, 5000 * 512, 10000 * 512);  // initial
    trace.memory("4", 9 * kPage + 512, 512, 5001 * 512, 10000 * 512);
    trace.memory("5", 9 * kPage + 512, -512, 5000 * 512, 10000 * 512);
    trace.memory("6", 9 * kPage, -1024, 4998 * 512, 10000 * 512);  // born in the trace, but not told

    const Imported imported(trace);

    CHECK(imported.story() == "=1 =9 -1 +1 -9 +9 -9 -9");
    CHECK(imported.events(Kind::initial)[0].size_bytes == 1024);
    CHECK(imported.events(Kind::block_free)[0].birth_ticket() == 0);
    CHECK(imported.events(Kind::block_free)[3].birth_ticket() == kNoTicket);
    // The first total: what was there and is not freed in the trace.
    CHECK(imported.tolerated() == "free_unmatched 1, totals_allocated 1");
}

TEST_CASE("blocks that never end and whose place is taken end there, and the totals agree") {
    TraceText trace;
    trace.memory("1", kPage, 1024, 1024, 10000 * 512);
    trace.memory("2", kPage + 1024, 512, 1536, 10000 * 512);
    trace.memory("3", 8 * kPage, 512, 2048, 10000 * 512);
    trace.memory("4", kPage + 512, 1024, 1536, 10000 * 512);  // on both of the first

    const Imported imported(trace);

    CHECK(imported.story() == "+1 +1 +8 -1 -1 +1");
    CHECK(imported.tolerated() == "");
    REQUIRE(imported.notes.size() == 1);
    CHECK(imported.notes[0] == "2 blocks whose end is not in the trace: they end where their place is taken");
}

TEST_CASE("totals of blocks whose end is missing stay within what a record has room for") {
    constexpr int64_t kHuge = int64_t{1} << 48;
    constexpr uint64_t kMost = snapshot::kTotals_bytes_most;
    TraceText trace;
    trace.memory("1", kHuge, kHuge, kHuge, 0);
    trace.memory("2", 2 * kHuge, kHuge, kHuge, 0);
    trace.memory("3", 3 * kHuge, kHuge, kHuge, 0);
    trace.memory("4", 2 * kHuge - 512, kMost, kMost, 0);  // on all three

    const auto freed = Imported(trace).events(Kind::block_free);

    REQUIRE(freed.size() == 3);
    CHECK(freed[0].allocated_bytes == kMost);
    CHECK(freed[1].allocated_bytes == kHuge);
    CHECK(freed[2].allocated_bytes == 0);
}

TEST_CASE("events that are missing altogether are tolerated and counted, not refused") {
    TraceText trace;
    trace.memory("1", kPage, 512, 512, 4096).memory("2", 2 * kPage, 512, 2048, 4096);
    CHECK(Imported(trace).tolerated() == "totals_allocated 1");
}

TEST_CASE("a failure is an incident with its request; one without a size is none, and said") {
    TraceText trace;
    trace.memory("1", kPage, 512, 512, 4096)
        .oom("2", R"(, "Bytes": 1048576)", 512, 4096)
        .oom("3", "", 512, 4096);

    const Imported imported(trace);

    const auto failures = imported.events(Kind::block_oom);
    REQUIRE(failures.size() == 1);
    CHECK(failures[0].size_bytes == 1048576);
    CHECK(failures[0].allocated_bytes == 512);
    CHECK(failures[0].reserved_bytes == 4096);
    REQUIRE(imported.notes.size() == 1);
    CHECK(imported.notes[0] == "1 failures without the size of their request: no incidents");
    const auto analysis = analyse(*imported.capture, {});
    REQUIRE(analysis);
    CHECK(analysis->incident);
}

TEST_CASE("ranges open and close between the events, nested ones inside each other") {
    TraceText trace;
    trace.range("inner", "10", "5").range("ProfilerStep#1", "10", "20").range("ProfilerStep#2", "30", "10");
    trace.range("no time", "12", "0");
    trace.memory("10", kPage, 512, 512, 4096).memory("15", 2 * kPage, 512, 1024, 4096);
    trace.memory("30", 3 * kPage, 512, 1536, 4096);

    const Imported imported(trace);

    CHECK(imported.story() == "( ( +1 ( ) ) +2 ) ( +3 )");
    const auto begins = imported.events(Kind::phase_begin), ends = imported.events(Kind::phase_end);
    CHECK(ends[0].address == begins[2].ticket);
    CHECK(ends[1].address == begins[1].ticket);
    CHECK(ends[2].address == begins[0].ticket);
    CHECK(begins[0].link != begins[1].link);
    // Steps are one name with their numbers folded.
    CHECK((begins[0].link & 0xFFFFFFFF) == (begins[3].link & 0xFFFFFFFF));
    CHECK(imported.capture->boundaries.size() == 4);
}

TEST_CASE("devices are kept apart, and ranges are told on one of them") {
    TraceText trace;
    trace.memory("1", kPage, 512, 512, 4096, 3).memory("2", 9 * kPage, 1024, 1024, 8192, 1);
    trace.memory("3", kPage, -512, 0, 4096, 3).range("step", "0", "9");

    const Imported imported(trace);

    const auto born = imported.events(Kind::block_alloc);
    REQUIRE(born.size() == 2);
    CHECK(int{born[0].device} == 3);
    CHECK(int{born[1].device} == 1);
    CHECK(imported.events(Kind::block_free)[0].birth_ticket() == born[0].ticket);
    CHECK(imported.events(Kind::phase_begin).size() == 1);
    CHECK(int{imported.events(Kind::phase_begin)[0].device} == 1);
    CHECK(imported.tolerated() == "");
}

TEST_CASE("addresses at the end of all addresses do no harm") {
    TraceText trace;
    const uint64_t last = ~uint64_t{0} - 511;
    trace.memory("1", last, 512, 512, 4096).memory("2", last - 512, 1024, 1024, 4096);
    trace.memory("3", last, -1024, 0, 4096);
    CHECK(Imported(trace).story().starts_with("+"));
}
