// SPDX-License-Identifier: Apache-2.0
//
// A page of a recording with names: what it holds with them, and that nothing of them is left without.
#include "page_output.h"

#include <iterator>

#include "named_recording.h"

using namespace memsnap;
using namespace memsnap::test;

namespace {

constexpr std::string_view kTexts[] = {"someone", "model.py", "train.py", "Net", "ring.bin"};

struct PageFile {
    std::string text;

    PageFile(NamedRecording& named, bool with_names, uint64_t events_most = kPageEvents_most) {
        const Recording& recording = named.recording;
        const Naming naming = named.naming({}, with_names);
        Page page;
        const auto added = page.add({.capture = *recording.capture,
                                     .analysis = recording.analysis,
                                     .naming = naming,
                                     .receipt = recording.receipt(),
                                     .memsnap_version = "1.2.3",
                                     .command = {},
                                     .events_most = events_most},
                                    PageSide::only);
        if (!added) FAIL(added.error().detail);
        const std::string path = recording.folder.file("page.html");
        const auto written = page.write(path, true, {recording.path()});
        if (!written) FAIL(written.error().detail);
        std::ifstream file(path, std::ios::binary);
        text.assign(std::istreambuf_iterator<char>(file), {});
    }

    std::string part(std::string_view name) const {
        size_t at = 0;
        while (const auto packed = next_part(text, at)) {
            if (packed->name == name) return unpacked(packed->base64, size_t{1} << 24).value_or("");
        }
        return {};
    }
    std::string parts() const {
        std::string all;
        for (const char* const name : {"outline", "receipt", "names", "levels", "begin", "events", "derived"})
            all += part(name);
        return all;
    }
};

}  // namespace

TEST_CASE("a page with names tells functions and files, and its receipt does not") {
    NamedRecording named(retaining(), two_functions);
    const PageFile page(named, true);
    CHECK(page.part("names").contains("Net.forward"));
    CHECK(page.part("names").contains("model.py"));
    CHECK(page.part("outline").contains("\"with_names\":true"));
    CHECK(page.part("receipt") == named.recording.receipt());
}

TEST_CASE("a page without names holds nothing of the file of names, and frames by token") {
    NamedRecording named(retaining(), two_functions);
    const PageFile page(named, false);
    const std::string all = page.parts();
    for (const std::string_view text : kTexts) {
        INFO(text);
        CHECK_FALSE(all.contains(text));
    }
    CHECK(page.part("names").contains("\"token\":\"frame-"));
    CHECK(page.part("outline").contains("\"file\":null"));
}

TEST_CASE("a page of few events is told as exactly as one of all, and with the same names") {
    NamedRecording named(retaining(), two_functions);
    const PageFile whole(named, true), few(named, true, 20);
    CHECK(few.part("names") == whole.part("names"));
    CHECK(few.part("levels") == whole.part("levels"));
    CHECK(few.part("events").size() < whole.part("events").size());
}
