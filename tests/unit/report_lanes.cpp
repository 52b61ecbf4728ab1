// SPDX-License-Identifier: Apache-2.0
//
// The screen's lanes: glyphs by hand, what must not vanish, gaps, marks, and the bounds of the screen.
#include "report_lanes.h"

#include "named_recording.h"
#include "report_text.h"

using namespace memsnap;
using namespace memsnap::test;

namespace {

LaneRange range(int64_t least, int64_t greatest) {
    return {least, greatest, greatest, true};
}
LaneRange level(int64_t value) {
    return range(value, value);
}

std::string drawn(const std::vector<LaneRange>& columns, int64_t top, bool utf8 = false) {
    return sparkline(shown_heights(columns, top), utf8);
}

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> all;
    for (size_t at = 0; at < text.size();) {
        const size_t end = text.find('\n', at);
        all.push_back(text.substr(at, end - at));
        at = end + 1;
    }
    return all;
}

std::vector<std::string> screen(const std::string& events, const ReportStyle& style = {}) {
    const Recording recording("memsnap-events 1\n" + events);
    return lines_of(render_report(*recording.capture, recording.analysis, style));
}

// What stands in the columns of a lane.
std::string lane(const std::vector<std::string>& screen, std::string_view label, size_t which = 0) {
    const std::string begin = "  " + std::string(label) + " ";
    for (size_t at = 0, heading = SIZE_MAX; at < screen.size(); ++at) {
        if (screen[at].find("  most  events ") != std::string::npos) heading = at;
        if (at <= heading || !screen[at].starts_with(begin) || which-- != 0) continue;
        return screen[at].size() > 36 ? screen[at].substr(36) : "";
    }
    return "none";
}

std::string marks(const std::vector<std::string>& screen) {
    for (const std::string& line : screen) {
        if (line.find('^') != std::string::npos) return line;
    }
    return {};
}

const std::string kFull = "segment s1 900MiB\nalloc a s1+0 895MiB\nfailing 9MiB total=1GiB free=11MiB\n";

}  // namespace

TEST_CASE("heights are eighths of the top, what is there at all is seen, nothing is a base line") {
    CHECK(drawn({level(0), level(1), level(100), level(150), level(800)}, 800) == "_..:@");
    CHECK(drawn({level(0), level(1), level(100), level(150), level(800)}, 800, true) == "_▁▁▂█");
    CHECK(drawn({level(-5), level(300), level(400), level(500), level(600), level(700)}, 800) == "_-=+*#");
    CHECK(drawn({level(INT64_MAX), level(INT64_MAX / 2)}, INT64_MAX) == "@=");
}

TEST_CASE("what is not known is a gap") {
    CHECK(drawn({{}, level(800), {}, level(0), {}}, 800) == " @ _ ");
}

TEST_CASE("a column shows its greatest, a lane begins and ends with what its neighbour leaves to be shown") {
    CHECK(drawn({level(100), range(0, 800), level(100)}, 800) == ".@.");
    CHECK(drawn({range(0, 400), level(800), range(0, 800)}, 800) == "_@_");
    CHECK(drawn({range(0, 800), level(400), range(0, 800)}, 800) == "@=@");
}

TEST_CASE("a least that no column shows is hidden, one that a neighbour shows is not") {
    const auto hides = [](const std::vector<LaneRange>& columns) {
        return hides_a_least(shown_heights(columns, 800), least_heights(columns, 800));
    };
    CHECK(hides({level(800), range(100, 800), level(800)}));
    CHECK_FALSE(hides({level(100), range(100, 800), level(800)}));
    CHECK_FALSE(hides({level(800), range(700, 800), level(800)}));
    CHECK(hides({level(800), range(600, 800), level(800)}));
    CHECK_FALSE(hides({{}, level(800), {}}));
    CHECK(hides({{}, range(0, 800), {}}));
}

TEST_CASE("lanes stand under one heading with their greatest value, in one scale") {
    const std::vector<std::string> all = screen(kFull);
    CHECK(lane(all, "active") == "__######");
    CHECK(lane(all, "reserved") == "_#######");
    CHECK(lane(all, "device used") == "     @@@");
    CHECK(std::ranges::count_if(all, [](const std::string& line) {
              return line == "                              most  events 0 to 7, 7 ns; full height 0.99 GiB";
          }) == 1);
    CHECK(std::ranges::count_if(all, [](const std::string& line) {
              return line.starts_with("  device used             0.99 GiB");
          }) == 1);
}

TEST_CASE("valleys between peaks that every column has get a line of their own") {
    std::string job = "segment s1 900MiB\n";
    for (int turn = 0; turn < 200; ++turn)
        job += "alloc t s1+0 800MiB\nfree t\nmark turn\n";
    const std::vector<std::string> all = screen(job + "failing 950MiB total=1GiB free=100MiB\n");
    CHECK(lane(all, "active").find("######") != std::string::npos);
    CHECK(lane(all, "  least").find("______") != std::string::npos);
    CHECK(lane(all, "  least", 1) == "none");
}

TEST_CASE("a lane of which nobody told is called unknown") {
    const std::vector<std::string> all = screen("segment s1 900MiB\nalloc a s1+0 895MiB\noom 300MiB\n");
    CHECK(lane(all, "device used") == "");
    CHECK(std::ranges::count(all, "  device used              unknown") == 1);
}

TEST_CASE("a recording without a history has no lanes") {
    CHECK(lane(screen("header origin=torch_snapshot\ninitial_segment s1 100MiB\ninitial a s1+0 50MiB\n"),
               "active") == "none");
    CHECK(lane(screen("step\n"), "active") == "none");
}

TEST_CASE("peak and failure are marked at their columns") {
    // Tickets: 0 and 1 the segment, 2 to 4 the blocks, then marks and the failing operation's records.
    const std::string job = "segment s1 900MiB\nalloc a s1+0 800MiB\nfree a\nalloc b s1+0 10MiB\n";
    const auto padded = [&](int count) {
        return marks(screen(job + "mark pad count=" + std::to_string(count) +
                            "\nfailing 950MiB total=1GiB free=100MiB\n"));
    };
    const std::string apart = padded(40);
    CHECK(apart.find("^ peak at 2") == 36 + 2);
    CHECK(apart.rfind('^') == 36 + 49);
    CHECK(apart.ends_with("failure at 49, 49 ns ^"));
    CHECK(padded(1) == std::string(28, ' ') + "peak at 2 ^       ^ failure at 10, 10 ns");
    const std::string late = marks(screen("mark pad count=50\n" + kFull));
    CHECK(late.ends_with("  peak at 52, failure at 57, 57 ns ^    ^"));
    CHECK(late.size() == 36 + 58);
}

TEST_CASE("marks of any tickets at any column are told in full and keep to the screen") {
    for (const std::string start : {"0", "1234567890", "123456789012", "4611686018427387904"}) {
        for (const std::string peak :
             {"alloc p s1+0 512MiB\nfree p\nalloc q s1+0 500MiB", "alloc p s1+0 512MiB"}) {
            for (int later = 10; later <= 910; later += 20) {
                const std::vector<std::string> all = screen(
                    "header start=" + start + " ring_records=1024\nsegment s1 600MiB\n" + peak +
                    "\nfailing 700MiB total=1GiB free=300MiB\nmark later count=" + std::to_string(later) +
                    "\n");
                std::string text;
                for (const std::string& line : all) {
                    INFO(line);
                    CHECK(columns_of(line) <= kReportColumns);
                    text += line + "\n";
                }
                INFO(text);
                CHECK(text.contains('^'));
                CHECK(text.contains("failure at " + start.substr(0, start.size() / 2)));
                CHECK(text.contains("peak "));
            }
        }
    }
}

TEST_CASE("words of marks that have no room beside their signs stand below them") {
    const std::vector<std::string> all = screen(
        "header start=4611686018427387904 ring_records=1024\nsegment s1 600MiB\nalloc p s1+0 512MiB\nfree p\n"
        "failing 700MiB total=1GiB free=300MiB\nmark later count=910\n");
    const auto signs = std::ranges::find_if(all, [](const std::string& line) { return line.contains('^'); });
    REQUIRE(signs != all.end());
    CHECK(signs->find_first_not_of(" ^") == std::string::npos);
    CHECK((signs + 1)->contains("peak at 4611686018427387906, failure at 46116860184273879"));
}

TEST_CASE("a peak of the failing instant is one mark, without a failure there is no other") {
    CHECK(marks(screen("segment s1 900MiB\nmem_info total=1GiB free=100MiB\nalloc a s1+0 895MiB\n")) ==
          std::string(36 + 3, ' ') + "^ peak at 3");
}

TEST_CASE("the time of the lanes is told where the clock is known") {
    const std::vector<std::string> all = screen(
        "segment s1 900MiB\nalloc a s1+0 895MiB time=+700000000\n"
        "failing 9MiB total=1GiB free=11MiB\n");
    CHECK(std::ranges::any_of(all, [](const std::string& line) {
        return line.find("events 0 to 7, 700.00 ms; full height") != std::string::npos;
    }));
    CHECK(marks(all).find("failure at 7, 700.00 ms") != std::string::npos);
}

TEST_CASE("durations are told in the units that suit them") {
    CHECK(duration_text(0) == "0 ns");
    CHECK(duration_text(999'999) == "999.99 us");
    CHECK(duration_text(1'005'000) == "1.00 ms");
    CHECK(duration_text(2'310'000'000) == "2.31 s");
    CHECK(duration_text(59'999'999'999) == "59.99 s");
    CHECK(duration_text(192'000'000'000) == "3 min 12 s");
    CHECK(duration_text(11'520'000'000'000) == "3 h 12 min");
}

TEST_CASE(
    "lists of sites give way until the report is one screen, and not where more of them were asked for") {
    NamedRecording named(
        [] {
            std::string job = "segment s1 900MiB\nmem_info total=1GiB free=100MiB\n";
            for (int library = 2; library < 5; ++library)
                job += "call l" + std::to_string(library) +
                       " cudaMalloc 11MiB library=" + std::to_string(library) + "\n";
            for (int step = 0; step < 20; ++step) {
                for (int site = 3; site < 12; ++site)
                    job += "alloc k" + std::to_string(step * 20 + site) + " s1+" +
                           std::to_string(step * 40 + site) + "MiB 1MiB site=" + std::to_string(site) + "\n";
                job += "alloc t s1+" + std::to_string(step * 40 + 20) + "MiB 5MiB site=8\nfree t\nstep\n";
            }
            return job + "failing 800MiB total=1GiB free=4MiB\n";
        }(),
        two_functions);
    const auto report = [&](const ReportStyle& style) {
        return render_report(*named.recording.capture, named.recording.analysis, style, named.names);
    };
    const std::string text = report({});
    INFO(text);
    CHECK(lines_of(text).size() <= kReportLines);
    CHECK(lines_of(text).size() > kReportLines - 6);
    CHECK(text.find("  most  events ") != std::string::npos);
    CHECK(lines_of(report({.sites_count = 9})).size() > kReportLines);
}

TEST_CASE("no name of a job moves the cursor or turns the text of the screen") {
    const auto hostile = [](SidecarWriter& sidecar) {
        add_function(sidecar, 1, 10, "/x/\x1b[2J\u202e\r\n.py", "f\x1b]0;x\x07\u2028g");
        add_function(sidecar, 2, 40, "/x/train\x9b.py", "\x7f");
        sidecar.stack(7, {frame_at(1, 2), frame_at(2, 1)});
        sidecar.stack(8, {frame_at(2, 3)});
    };
    NamedRecording named(retaining(), hostile);
    named.recording.capture->path = "/tmp/ring\x1b[31m\u202e\n.bin";
    for (const bool utf8 : {false, true}) {
        const std::string text =
            render_report(*named.recording.capture, named.recording.analysis, {.utf8 = utf8}, named.names);
        for (const std::string& line : lines_of(text)) {
            INFO(line);
            CHECK(shown_text(line, letters(utf8)) == line);
            CHECK(columns_of(line) <= kReportColumns);
        }
    }
}
