// SPDX-License-Identifier: Apache-2.0
//
// What the screen says of what goes on from step to step: steps, calls, guesses, intervals, dimensions.
#include "named_recording.h"
#include "report.h"
#include "shown_text.h"

using namespace memsnap;
using namespace memsnap::test;

namespace {

using namespace std::string_literals;

std::string screen(const NamedRecording& named, const ReportStyle& style = {}) {
    const std::string text =
        render_report(*named.recording.capture, named.recording.analysis, style, named.names);
    for (size_t at = 0, end = 0; (end = text.find('\n', at)) != std::string::npos; at = end + 1) {
        INFO(text.substr(at, end - at));
        CHECK(columns_of(std::string_view(text).substr(at, end - at)) <= 100);
    }
    return text;
}

void says(const std::string& text, std::string_view what) {
    INFO(text);
    INFO("wanted: " << what);
    CHECK(text.find(what) != std::string::npos);
}

void says_not(const std::string& text, std::string_view what) {
    INFO(text);
    INFO("not wanted: " << what);
    CHECK(text.find(what) == std::string::npos);
}

// A step of each of these lengths, then a failing one.
std::string sequences(const std::vector<int>& lengths, int failing) {
    std::string job = "segment s1 900MiB\nmem_info total=1GiB free=100MiB\n";
    for (const int length : lengths) {
        job += "note sequence " + std::to_string(length) + "\nalloc t s1+0 " + std::to_string(length) +
               "MiB site=8\nfree t\nstep\n";
    }
    return job + "note sequence " + std::to_string(failing) + "\nfailing 800MiB total=1GiB free=100MiB\n";
}

void with_dimension(SidecarWriter& sidecar) {
    two_functions(sidecar);
    sidecar.add(1, "sequence", wire::NameKind::name);
}

}  // namespace

TEST_CASE("what earlier steps left behind is told by its site, as allocated there") {
    NamedRecording named(retaining(), two_functions);
    const std::string text = screen(named);
    says(text, "left behind by earlier steps, allocated at\n");
    says(text, "    Net.forward (model.py:12) < main (train.py:41)             10.00 MiB a step,");
    says(text, "in 17 of 17 steps, oldest from step 3; 17 blocks of 10.00 MiB; 200.00 MiB of the site live");
    says(text, " of earlier steps were still live");
    says_not(text, "held by");
}

TEST_CASE("where only every so many boundaries were kept, bytes and counts are of so many steps") {
    NamedRecording named(retaining(), two_functions);
    named.recording.capture->header.boundary_stride = 4;
    const std::string text = screen(named);
    says(text, " 10.00 MiB every 4 steps,");
    says(text, "in 17 of 17 intervals of 4 steps, oldest from step 3;");
    says_not(text, "a step,");
    says_not(text, "17 steps");
    says(screen(named, {.sites_count = 1}), "grown over 19 intervals of 4 steps between");
}

TEST_CASE("where steps of other sizes lie between two points, bytes and counts are of so many steps") {
    NamedRecording named(retaining(), two_functions);
    std::vector<MatchedPoint>& points = named.recording.analysis.incident->boundaries.points;
    REQUIRE(points.size() == 20);
    for (size_t index = 0; index * 3 < points.size(); ++index)
        points[index] = points[index * 3];
    points.resize(7);
    const std::string text = screen(named);
    says(text, " 10.00 MiB every 3 steps,");
    says(text, " intervals of 3 steps, oldest from step 3;");
    says_not(text, "a step,");
    points.erase(points.begin() + 2);
    const std::string uneven = screen(named);
    says(uneven, " 10.00 MiB from point to point,");
    says(uneven, "in 17 of 17 intervals, oldest from step 3;");
}

TEST_CASE("steps that were guessed are said to be guessed, whatever boundaries were kept") {
    for (const GrowthBasis basis : {GrowthBasis::certified, GrowthBasis::uncertified}) {
        NamedRecording named(retaining(), two_functions);
        named.recording.capture->header.boundary_stride = 4;
        named.recording.analysis.incident->evidence.growth.basis = basis;
        named.recording.analysis.incident->boundaries.family = BoundaryFamily::none;
        const std::string text = screen(named);
        says(text, "left behind by earlier steps (guessed from allocations), allocated at\n");
        says(text, " 10.00 MiB a step,");
    }
}

TEST_CASE("calls of a module are not called steps") {
    NamedRecording named(retaining(), two_functions);
    Incident& incident = *named.recording.analysis.incident;
    incident.boundaries.family = BoundaryFamily::module;
    incident.scene.step_count = 0;
    const std::string text = screen(named);
    says(text, "left behind by earlier calls of the same module, allocated at\n");
    says(text, " 10.00 MiB a call,");
    says(text, "in 17 of 17 calls; 17 blocks");
    says(text, " of earlier calls were still live");
    says_not(text, " of earlier steps");
    says(screen(named, {.sites_count = 1}), "grown over 19 calls between");
}

TEST_CASE("where labels have no room for the line that called the model, the list's title has it") {
    NamedRecording named(retaining(), [](SidecarWriter& s) {
        add_function(s, 1, 10, "/home/someone/" + std::string(20, 'm') + ".py", "Net.forward");
        add_function(s, 2, 40, "/home/someone/train.py", "main");
        add_function(s, 3, 1, "/v/site-packages/torch/nn/modules/module.py", "Module._call_impl");
        add_function(s, 4, 10, "/home/someone/model.py", "Outer.forward");
        s.stack(7, {frame_at(1, 2), frame_at(4, 0), frame_at(3, 1), frame_at(2, 1)});
    });
    says(screen(named), "left behind by earlier steps, allocated at  (all under main (train.py:41))\n");
    NamedRecording told(retaining(), [](SidecarWriter& s) {
        two_functions(s);
        add_function(s, 3, 1, "/v/site-packages/torch/nn/modules/module.py", "Module._call_impl");
        s.stack(7, {frame_at(1, 2), frame_at(3, 1), frame_at(2, 1)});
    });
    says(screen(told), "left behind by earlier steps, allocated at\n");
}

TEST_CASE("what was noted of the failing step is told beside what was noted before") {
    NamedRecording named(sequences({64, 128, 64, 256, 64, 128, 64}, 512), with_dimension);
    const std::string text = screen(named);
    says(text,
         "\n  sequence: 512 at the failure, 64 to 256 before\n"
         "  sequence: the peak moved with it in 5 of 5 changes; highest, 256.00 MiB, at 256\n");
}

TEST_CASE("a dimension that changed for the first time in the failing step is told") {
    NamedRecording named(sequences({64, 64, 64}, 512), with_dimension);
    const std::string text = screen(named);
    says(text, "\n  sequence: 512 at the failure, 64 before\n");
    says_not(text, "the peak moved");
    NamedRecording same(sequences({64, 64, 64}, 64), with_dimension);
    says_not(screen(same), "at the failure, 64");
}

TEST_CASE("names of phases and dimensions keep their letters in UTF-8 and are escaped in ASCII") {
    NamedRecording named(sequences({64, 128, 64}, 128), [](SidecarWriter& s) {
        two_functions(s);
        s.add(1, "l\xc3\xa4nge\x1b", wire::NameKind::name);
    });
    says(screen(named, {.utf8 = true}), "  länge\\x1b: 128 at the failure");
    says(screen(named), "  l\\xc3\\xa4nge\\x1b: 128 at the failure");
}
