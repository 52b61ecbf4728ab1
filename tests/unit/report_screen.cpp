// SPDX-License-Identifier: Apache-2.0
//
// The screen: what is printed adds up, fits, and is plain ASCII when it has to be.
#include "report.h"

#include "failing_job.h"
#include "named_recording.h"
#include "report_text.h"

using namespace memsnap;
using namespace memsnap::test;

namespace {

std::string report_of(RingWriter& ring, const ReportStyle& style = {}) {
    const Analysed result = analysed(ring);
    INFO(result.error);
    REQUIRE(result.analysis);
    return render_report(*result.capture, *result.analysis, style);
}

std::vector<std::string> lines(const std::string& text) {
    std::vector<std::string> all;
    for (size_t at = 0; at < text.size();) {
        const size_t end = text.find('\n', at);
        all.push_back(text.substr(at, end - at));
        at = end + 1;
    }
    return all;
}

size_t columns(const std::string& line) {
    size_t count = 0;
    for (const char c : line)
        count += (static_cast<unsigned char>(c) & 0xC0) != 0x80 ? 1 : 0;
    return count;
}

RingWriter fragmented() {
    RingWriter ring;
    ring.segment(place(0), 900 * kUnit);
    for (uint64_t at = 0; at < 900; at += 20) {
        ring.site = at % 60 + 1;
        ring.block_alloc(place(at), 10 * kUnit);
    }
    oom(ring, 200, 100);
    ring.exit(1);
    return ring;
}

// The hundredths before " GiB" on the lines of the card's parts.
int64_t sum_of_parts(const std::string& report) {
    int64_t sum = 0;
    for (const std::string& line : lines(report)) {
        if (line.find("  most  events ") != std::string::npos) break;
        const size_t unit = line.find(" GiB  ");
        if (!line.starts_with("  ") || unit == std::string::npos || line.find('=') != std::string::npos)
            continue;
        const std::string number =
            line.substr(line.rfind(' ', unit - 1) + 1, unit - line.rfind(' ', unit - 1) - 1);
        sum += std::stoll(number.substr(0, number.size() - 3)) * 100 +
               std::stoll(number.substr(number.size() - 2));
    }
    return sum;
}

std::string screen_of(std::string_view events) {
    const Recording recording("memsnap-events 1\n" + std::string(events));
    return render_report(*recording.capture, recording.analysis, {});
}

std::string line_with(const std::string& report, std::string_view begin) {
    for (const std::string& line : lines(report)) {
        if (line.starts_with(begin)) return line;
    }
    return {};
}

const std::string kNearlyFull =
    "segment s1 900MiB\nalloc a s1+0 895MiB\nfailing 9MiB segment=20MiB total=1GiB free=11MiB\n";

}  // namespace

TEST_CASE("the verdict comes first, with its cause, four hypotheses, and what to try") {
    RingWriter ring = fragmented();
    const std::string report = report_of(ring);
    const std::vector<std::string> all = lines(report);
    CHECK(all[2] == "OUT OF MEMORY  PyTorch asked for 200.00 MiB");
    CHECK(all[3] ==
          "CAUSE          fragmentation: 0.54 GiB were free, the largest usable hole was 10.00 MiB");
    for (const char* word : {"  primary      fragmentation", "live-set", "retention", "external", "  try    ",
                             "  prove  ", "live at the failure, by birth site"}) {
        CHECK(report.find(word) != std::string::npos);
    }
    CHECK(all.size() <= kReportLines);
}

TEST_CASE("the printed parts of the card add up to the printed card") {
    RingWriter ring = fragmented();
    CHECK(sum_of_parts(report_of(ring)) == 100);
}

TEST_CASE("no line is wider than a hundred columns, and ASCII is ASCII") {
    RingWriter ring = fragmented();
    for (const ReportStyle style : {ReportStyle{false, false}, ReportStyle{false, true}}) {
        for (const std::string& line : lines(report_of(ring, style))) {
            INFO(line);
            CHECK(columns(line) <= 100);
            if (style.utf8) continue;
            for (const char c : line)
                CHECK((c >= 0x20 && c < 0x7F));
        }
    }
}

TEST_CASE("colour appears only when asked for") {
    RingWriter ring = fragmented();
    CHECK(report_of(ring).find('\x1b') == std::string::npos);
    CHECK(report_of(ring, {true, false}).find("\x1b[1;31mOUT OF MEMORY\x1b[0m") != std::string::npos);
}

TEST_CASE("a job that did not fail says so and names shapes, not causes") {
    RingWriter ring;
    ring.segment(place(0), 100 * kUnit);
    ring.block_alloc(place(0), 50 * kUnit);
    ring.mem_info(kCardMiB * kUnit, 900 * kUnit);
    for (uint64_t step = 1; step <= 8; ++step) {
        ring.boundary(ring.step(step)).family = static_cast<uint8_t>(wire::Family::step);
    }
    const std::string report = report_of(ring);
    CHECK(report.find("NO FAILURE") != std::string::npos);
    CHECK(report.find("active    flat") != std::string::npos);
    CHECK(report.find("CAUSE") == std::string::npos);
}

TEST_CASE("what GiB would print as next to nothing is printed in a unit that tells") {
    const ReportSymbols ascii(false), utf8(true);
    CHECK(amount_text(0, ascii) == "0 B");
    CHECK(amount_text(512, ascii) == "512 B");
    CHECK(amount_text(97 * kUnit, ascii) == "97.00 MiB");
    CHECK(amount_text(98 * kUnit, ascii) == "0.10 GiB");
    CHECK(amount_text(-Wide{3 * kUnit}, utf8) == "−3.00 MiB");
    CHECK(amount_text(-Wide{300 * kUnit}, ascii) == "-0.29 GiB");
    const std::string report = screen_of(kNearlyFull);
    const std::string cause = line_with(report, "CAUSE");
    CHECK(cause ==
          "CAUSE          live-set pressure: 0.87 GiB in use and 9.00 MiB more asked, 0.89 GiB available");
    for (const char* status : {"  primary", "  undecidable", "  rejected"}) {
        INFO(line_with(report, status));
        CHECK(line_with(report, status).find(" 0.0") == std::string::npos);
    }
}

TEST_CASE("a small margin is what its printed parts come to, and is the same wherever it stands") {
    const std::string report = screen_of(kNearlyFull);
    INFO(report);
    CHECK(line_with(report, "  margin") ==
          "  margin 7.00 MiB = 911.00 available - 895.00 active - 9.00 asked; tau 15.36 MiB (1.5% of the "
          "card)");
    CHECK(report.find("fragmentation margin 7.00 MiB < tau 15.36 MiB") != std::string::npos);
}

TEST_CASE("the segment that PyTorch needed is told where it is larger than the request") {
    const auto asked = [](std::string_view job) { return line_with(screen_of(job), "OUT OF MEMORY"); };
    CHECK(asked(kNearlyFull) == "OUT OF MEMORY  PyTorch asked for 9.00 MiB, in a segment of 20.00 MiB");
    CHECK(asked("segment s1 900MiB\nfailing 300MiB total=1GiB free=100MiB\n") ==
          "OUT OF MEMORY  PyTorch asked for 300.00 MiB");
    CHECK(asked("header expandable\n" + kNearlyFull) == "OUT OF MEMORY  PyTorch asked for 9.00 MiB");
}

TEST_CASE("what contributed is advised on too, behind the advice for the primary cause") {
    NamedRecording named(retaining(), two_functions);
    Incident& incident = *named.recording.analysis.incident;
    const auto decide = [&](Hypothesis one, Status status, std::string_view fix, std::string_view proof) {
        incident.verdict.of(one).status = status;
        incident.explanations[static_cast<unsigned>(one)].fix = fix;
        incident.explanations[static_cast<unsigned>(one)].proof = proof;
    };
    decide(Hypothesis::fragmentation, Status::primary, "mend holes", "holes are mended");
    decide(Hypothesis::live_set, Status::rejected, "", "");
    decide(Hypothesis::retention, Status::contributing, "let go", "nothing rises");
    decide(Hypothesis::external, Status::contributing, "move it", "outside falls");
    const std::string report =
        render_report(*named.recording.capture, named.recording.analysis, {}, named.names);
    INFO(report);
    CHECK(report.find("  try    mend holes\n  prove  holes are mended\n"
                      "  try    let go\n  prove  nothing rises\n"
                      "  try    move it\n  prove  outside falls\n"
                      "         compared by: memsnap-replay diff THIS AFTER\n") != std::string::npos);
}

TEST_CASE("a first line and a title that do not fit are continued below") {
    RingWriter ring = fragmented();
    Analysed result = analysed(ring);
    result.capture->path = "/tmp/" + std::string(60, 'r') + ".bin";
    const std::string report = render_report(*result.capture, *result.analysis, {});
    CHECK(lines(report)[0].ends_with(" lost"));
    for (const std::string& line : lines(report))
        CHECK(columns(line) <= 100);
}

TEST_CASE("parts are rounded so that they add up") {
    constexpr uint64_t kThird = (uint64_t{1} << 30) / 3;
    const std::vector<int64_t> rounded =
        hundredths_of_parts({kThird, kThird, (uint64_t{1} << 30) - 2 * kThird});
    CHECK(rounded[0] + rounded[1] + rounded[2] == 100);
    CHECK(hundredths_text(-5) == "-0.05");
    CHECK(size_text(512) == "512 B");
    CHECK(size_text(20 * kUnit) == "20.00 MiB");
    CHECK(size_text(UINT64_MAX) == "17179869184.00 GiB");
    CHECK(grouped(1048576) == "1,048,576");
    CHECK(grouped(999) == "999");
    CHECK(bar(1, 1000, 36, false) == "#");
    CHECK(columns(bar(UINT64_MAX, UINT64_MAX, 36, true)) == 36);
}
