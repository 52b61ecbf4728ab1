// SPDX-License-Identifier: Apache-2.0
//
// The screen: what is printed adds up, fits, and is plain ASCII when it has to be.
#include "report.h"

#include "failing_job.h"
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
    CHECK(all.size() <= 40);
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
