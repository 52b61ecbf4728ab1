// SPDX-License-Identifier: Apache-2.0
//
// The split on the screen: what it names, what it sums up, and what it says it cannot see.
#include "report_card.h"

#include "receipt_fixture.h"
#include "report_text.h"

using namespace memsnap;
using namespace memsnap::test;

namespace {

std::string screen(std::string_view events, const Names& names = {}) {
    const Recording recording("memsnap-events 1\n" + std::string(events));
    const std::string text = render_report(*recording.capture, recording.analysis, {}, names);
    for (size_t at = 0, end = 0; (end = text.find('\n', at)) != std::string::npos; at = end + 1)
        CHECK(end - at <= 100);
    return text;
}

bool says(const std::string& text, std::string_view what) {
    INFO(text);
    CHECK(text.find(what) != std::string::npos);
    return text.find(what) != std::string::npos;
}

const std::string kHeld =
    "library_entry 2 role=program name=x\nsegment s1 600MiB\nalloc a s1+0 600MiB\n"
    "call buf cudaMalloc 200MiB library=2\n";
const std::string kFails = "failing 300MiB total=1GiB free=124MiB\n";

}  // namespace

TEST_CASE("a library goes by its file name, or by its number") {
    Names names;
    names.libraries[1] = "libnccl.so.2";  // the encoder's first text
    says(screen(kHeld + kFails, names), "  libnccl.so.2");
    says(screen(kHeld + kFails), "  library 2 ");
    says(screen(kHeld + "fail cudaMalloc 300MiB foreign library=2\n", names), "libnccl.so.2 asked for");
}

TEST_CASE("a name is printed as ASCII, and cut where it is too long") {
    Names names;
    names.libraries[1] = "\x1b[31m\xc2\x9b";
    says(screen(kHeld + kFails, names), "\\x1b[31m\\xc2\\x9b");
    names.libraries[1] = "lib_with_a_very_long_name_indeed.so";
    says(screen(kHeld + kFails, names), "  lib_with_a_very_l.. ");
}

TEST_CASE("of many libraries the largest are named, and the rest is one line") {
    std::string job = "segment s1 600MiB\nalloc a s1+0 600MiB\n";
    for (int library = 2; library < 11; ++library)
        job += "call b" + std::to_string(library) + " cudaMalloc " + std::to_string(library * 4) +
               "MiB library=" + std::to_string(library) + "\n";
    const std::string text = screen(job + "failing 300MiB total=1GiB free=100MiB\n");
    says(text, "  library 10 ");
    says(text, "  library 5 ");
    CHECK(text.find("  library 4 ") == std::string::npos);
    says(text, "  other libraries         0.03 GiB");  // 8 + 12 + 16 MiB
    says(text, "3 of this process");
}

TEST_CASE("what is left over is called a residual, with neighbours where nobody told of them") {
    says(screen(kHeld + kFails), "context, neighbours");
    const std::string told = screen("process_sample own=0 others=50MiB count=2\n" + kHeld + kFails);
    says(told, "context, modules");
    says(told, "residual");
    says(told, "other processes");
    says(told, "2 processes");
}

TEST_CASE("the peak stands beside the failure where it was another") {
    const std::string text = screen(
        "segment s1 600MiB\nalloc a s1+0 300MiB\nalloc b s1+300MiB 300MiB\nfree b\n"
        "failing 700MiB total=1GiB free=300MiB\n");
    says(text, "failure      peak");
    says(text, "peak: by the first answer after it");
    says(text, "  active                  0.29 GiB      0.59");
    CHECK(screen("segment s1 600MiB\nalloc a s1+0 600MiB\n" + kFails).find("failure      peak") ==
          std::string::npos);
}

TEST_CASE("without a failure the card is split at the end and at the peak") {
    const std::string text = screen(kHeld + "mem_info total=1GiB free=124MiB\nfree a\n");
    says(text, "NO FAILURE");
    says(text, "    end      peak");
    says(text, "  free                    0.12 GiB");
}

TEST_CASE("managed, pinned and imported memory stand beside the card") {
    const std::string text = screen(kHeld +
                                    "call man cudaMallocManaged 30MiB\ncall pin cudaMallocHost 20MiB\n"
                                    "call imp cudaIpcOpenMemHandle 10MiB imported\n" +
                                    kFails);
    says(text, "  managed                30.00 MiB  beside the card");
    says(text, "  pinned                 20.00 MiB  beside the card");
    says(text, "  imported               10.00 MiB  beside the card: 1 of other processes");
    CHECK(screen(kHeld + kFails).find("beside the card") == std::string::npos);
}

TEST_CASE("what was not hooked and whom NVML did not tell of is said") {
    const std::string text = screen(
        "header sampling=nvml_missing\nblind deepbind\nblind deepbind\nblind dlmopen\n" + kHeld + kFails);
    says(text, "NVML was not found");
    says(text, "not hooked: deepbind (2), dlmopen (1)");
    CHECK(screen("header sampling=nvml\n" + kHeld + kFails).find("NVML was") == std::string::npos);
    says(screen("header sampling=off\n" + kHeld + kFails), "NVML was switched off");
    says(screen("header sampling=nvml_failed\n" + kHeld + kFails), "NVML refused");
}

TEST_CASE("a sidecar that was not read is said once") {
    Names names;
    names.problem = "is damaged";
    says(screen(kHeld + kFails, names), "the file of names beside the recording is damaged");
}

TEST_CASE("negative parts are rounded so that the sum is the card's") {
    constexpr Wide kGiB = Wide{1} << 30;
    const auto rounded = hundredths_of_parts({kGiB / 3, -kGiB / 7, kGiB - kGiB / 3 + kGiB / 7});
    CHECK(rounded[0] + rounded[1] + rounded[2] == 100);
    CHECK(rounded[1] < 0);
}

TEST_CASE("a recording that is not the recorder's says so, and who told the card's size") {
    const std::string fails = "tap_oom 300MiB free=124MiB\noom 300MiB operation=no\n";
    const std::string block = "segment s1 600MiB\nalloc a s1+0 600MiB\n";
    const std::string unknown = screen("header origin=torch_snapshot\n" + block + fails);
    says(unknown,
         "from a memory snapshot of PyTorch's: what other libraries and processes hold is not in it");
    says(unknown, "cuda:0 of unknown size");
    says(unknown, "undecided: the card's size is unknown");
    says(unknown, "  everything else          unknown  the card's size is unknown");
    says(unknown, "  free                    0.12 GiB");
    says(unknown, "outside PyTorch unknown, at least 0.18 GiB were lacking");
    says(unknown, "give it with --card");
    CHECK(unknown.find("context") == std::string::npos);
    const std::string stated = screen("header origin=profiler_trace stated=total\n" + block +
                                      "mem_info total=1GiB free=124MiB\n" + fails);
    says(stated, "from a trace of PyTorch's profiler");
    says(stated, "the card's size was stated by whoever asked, and observed by nobody");
    says(stated, "cuda:0 1.00 GiB");
    says(screen("header origin=9\n" + block + fails), "from a program that is not known here");
    CHECK(screen(block + kFails).find("from a ") == std::string::npos);
    says(screen("header origin=torch_snapshot stated=total\n" + block +
                "mem_info total=700MiB free=124MiB\n" + fails),
         "the numbers and the stated size of the card contradict each other");
}

TEST_CASE("what was requested of the live blocks stands below the card when it is known") {
    const std::string block =
        "segment s1 600MiB\nrecord tap_alloc address=s1+0 size=300MiB-100\nalloc a s1+0 400MiB\n";
    const std::string all = screen(block + kFails);
    says(all, "  requested             300.00 MiB  74.99% of live blocks; rounding 100 B, kept 100.00 MiB");
    const std::string some = screen(block + "alloc b s1+400MiB 100MiB\n" + kFails);
    CHECK(some.find("requested") == std::string::npos);
    says(screen(block + "alloc b s1+400MiB 100MiB\n" +
                "tap_oom 300MiB free=124MiB requested=375MiB\noom 300MiB\n"),
         "  requested             375.00 MiB  75.00% of live blocks\n");
}
