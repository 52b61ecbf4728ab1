// SPDX-License-Identifier: Apache-2.0
//
// What the screen says of birth sites: with names, without, and within its width.
#include "report_sites.h"

#include <cstdlib>

#include "loaded_object.h"
#include "named_recording.h"

using namespace memsnap;
using namespace memsnap::test;

namespace {

using namespace std::string_literals;

std::string screen(NamedRecording& named, const ReportStyle& style = {}) {
    const std::string text =
        render_report(*named.recording.capture, named.recording.analysis, style, named.names);
    for (size_t at = 0, end = 0; (end = text.find('\n', at)) != std::string::npos; at = end + 1) {
        INFO(text.substr(at, end - at));
        CHECK(end - at <= 100);
    }
    return text;
}

bool says(const std::string& text, std::string_view what) {
    INFO(text);
    INFO("wanted: " << what);
    CHECK(text.find(what) != std::string::npos);
    return text.find(what) != std::string::npos;
}

size_t count_of(const std::string& text, std::string_view what) {
    size_t count = 0;
    for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1))
        ++count;
    return count;
}

void phases(SidecarWriter& sidecar) {
    two_functions(sidecar);
    for (uint64_t id = 1; id < 8; ++id)
        sidecar.add(id, "forward", wire::NameKind::name);
}

const std::string kHeld =
    "segment s1 700MiB\nphase begin forward\nalloc a s1+0 100MiB site=7\nphase end\n"
    "alloc b s1+100MiB 50MiB site=8\nalloc d s1+300MiB 50MiB\n";
const std::string kFails = "failing 300MiB total=1GiB free=100MiB\n";

const std::string kFailsInLibrary =
    kHeld + "phase begin forward\nfailing 300MiB total=1GiB free=100MiB site=9\n";

// Site 9 has native frames only.
void phases_and_library(SidecarWriter& sidecar) {
    phases(sidecar);
    const LoadedObject library = loaded("/libc.so.6");
    sidecar.object(library.bias, ~uint64_t{0}, library.bias, 0, library.build_id, library.path);
    sidecar.stack(9, {}, {reinterpret_cast<uint64_t>(&::qsort) + 1});
}

}  // namespace

TEST_CASE("a live site is its function, file and line, with its phase; without names it is a token") {
    NamedRecording named(kHeld + kFails, phases);
    const std::string text = screen(named);
    says(text, "    Net.forward (model.py:12) < main (train.py:41)"s.substr(0, 29));
    says(text, "100.00 MiB       1  forward");
    says(text, "    main (train.py:43)");
    says(text, "25.0% of these bytes have no birth site");
    NamedRecording without(kHeld + kFails, [](SidecarWriter&) {});
    const std::string plain = screen(without);
    says(plain, token("site", uint64_t{7}, without.recording.capture->header.ring_id));
    says(plain, "phase 1");
}

TEST_CASE("the place of the failing request is told, with the phase that was open") {
    NamedRecording named(kHeld + "phase begin forward\n" + "failing 300MiB total=1GiB free=100MiB site=7\n",
                         phases);
    says(screen(named), "\nAT             Net.forward (model.py:12) < main (train.py:41), in forward\n");
    NamedRecording without(kHeld + "phase begin forward\n" + kFails, phases);
    says(screen(without), "\nIN             forward\n");
    NamedRecording hidden(kHeld + "failing 300MiB total=1GiB free=100MiB site=7\n", [](SidecarWriter&) {});
    says(screen(hidden),
         "\nAT             " + token("site", uint64_t{7}, hidden.recording.capture->header.ring_id) + "\n");
}

TEST_CASE("where a thread without Python frames failed, the sites of the forward pass are told too") {
    NamedRecording named("header stack_wish=3 python_stacks=walking\n" + kFailsInLibrary, phases_and_library);
    const std::string text = screen(named);
    says(text,
         "\nAT             qsort (libc.so.6), in forward\n"
         "               a thread without Python frames; the largest sites of the forward pass:\n"
         "                 Net.forward (model.py:12) < main (train.py:41)");
}

TEST_CASE("where Python frames were not recorded that is said, not that a thread has none") {
    for (const char* stacks : {"none", "waiting", "unknown", "threaded"}) {
        NamedRecording named("header stack_wish=4 python_stacks="s + stacks + "\n" + kFailsInLibrary,
                             phases_and_library);
        const std::string text = screen(named);
        says(text,
             "\nAT             qsort (libc.so.6), in forward\n               Python frames were not "
             "recorded\n\n");
        CHECK(text.find("a thread without") == std::string::npos);
    }
}

TEST_CASE("the last allocations before the failure are told, those that were freed too") {
    NamedRecording named(retaining(), two_functions);
    const std::string text = screen(named);
    says(text, "allocated right before the failure, newest last");
    says(text, "5.00 MiB, freed again");
    NamedRecording again(
        "segment s1 900MiB\nalloc a s1+0 2MiB site=7\nfree a\nalloc b s1+0 2MiB site=7\nfree b\n"
        "alloc c s1+0 2MiB site=7\n" +
            kFails,
        two_functions);
    says(screen(again), "   2.00 MiB, 2 times, freed again\n");
}

TEST_CASE("bytes that only the garbage collector freed are told by site, and that it is switched off") {
    NamedRecording named(
        "segment s1 700MiB\nalloc a s1+0 100MiB site=7\nalloc b s1+100MiB 50MiB site=8\n"
        "phase begin collect family=collection\nfree a\nphase end\nstep collection_off\n" +
            kFails,
        two_functions);
    const std::string text = screen(named);
    says(text,
         "kept by reference cycles until gc ran: 100.00 MiB in 1 block, allocated at\n"
         "    Net.forward (model.py:12) < main (train.py:41)");
    says(text, "warning: Python's cyclic garbage collection is switched off");
}

TEST_CASE("without a failure the sites at the peak are told") {
    NamedRecording named(kHeld + "free a\nfree b\nmem_info total=1GiB free=100MiB\n", two_functions);
    const std::string text = screen(named);
    says(text, "live at the peak, by birth site");
    says(text, "    Net.forward (model.py:12)");
}

TEST_CASE("as many sites are listed as are asked for, and the rest is one line") {
    std::string job = "segment s1 900MiB\n";
    for (int site = 1; site <= 12; ++site)
        job += "alloc a" + std::to_string(site) + " s1+" + std::to_string(site * 40) + "MiB " +
               std::to_string(site) + "MiB site=" + std::to_string(site) + "\n";
    NamedRecording named(job + kFails, [](SidecarWriter&) {});
    says(screen(named), "    7 other sites");
    says(screen(named, {.sites_count = 2}), "    10 other sites");
    CHECK(screen(named, {.sites_count = 50}).find("other site") == std::string::npos);
}

TEST_CASE("long names are cut, so that the columns stay") {
    NamedRecording named(kHeld + kFails, [](SidecarWriter& s) {
        add_function(s, 1, 10, "/home/" + std::string(300, 'p') + ".py", std::string(300, 'f'));
        s.stack(7, {frame_at(1, 0)});
        for (uint64_t id = 1; id < 8; ++id)
            s.add(id, std::string(200, 'n'), wire::NameKind::name);
    });
    CHECK(count_of(screen(named), "ff..") + count_of(screen(named), "pp..") >= 1);
}

TEST_CASE("why frames are missing is said") {
    NamedRecording named("header stack_wish=1 python_stacks=3 native_stacks=2 no_stack=5\n" + kHeld + kFails,
                         two_functions);
    const std::string text = screen(named);
    says(text, "no Python frames: this interpreter is not known well enough");
    says(text, "no native frames: libunwind was not found");
    says(text, "5 births of the recording have no site");
}
