// SPDX-License-Identifier: Apache-2.0
//
// Any bytes as a ring file: read, replayed, judged and rendered. The rule: the reader either refuses with a
// rule and a way out, or what it gives is safe for every later stage. Entry point of libFuzzer;
// mutated_rings.cpp calls it too.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "analysis.h"
#include "capture.h"
#include "check.h"
#include "dump.h"
#include "receipt.h"
#include "report.h"

namespace {

void require(bool holds, const char* what) {
    if (holds) return;
    std::fprintf(stderr, "reader_fuzzer: %s\n", what);
    std::abort();
}

void require_complete(const memsnap::Error& error) {
    require(!error.rule.empty() && !error.detail.empty(), "an error without its rule");
    require(static_cast<int>(error.code) >= 2 && static_cast<int>(error.code) <= 6,
            "an error without its exit status");
}

void run_stages(const std::string& path, std::FILE* sink) {
    const auto capture = memsnap::Capture::read(path);
    if (!capture) return require_complete(capture.error());
    memsnap::dump_records(*capture, {}, sink);
    memsnap::dump_header(*capture, sink);
    if (const auto text = memsnap::check(*capture); !text) require_complete(text.error());
    const auto analysis = memsnap::analyse(*capture, {});
    if (!analysis) return require_complete(analysis.error());
    const auto receipt = memsnap::write_receipt(*capture, *analysis);
    require(receipt.has_value(), "a receipt that its own check refuses");
    require(!memsnap::render_report(*capture, *analysis, {}).empty(), "an empty report");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    static std::FILE* const sink = std::fopen("/dev/null", "w");
    const int file = ::memfd_create("ring", MFD_CLOEXEC);
    require(sink != nullptr && file >= 0, "no file to write to");
    require(::write(file, data, size) == static_cast<ssize_t>(size), "a short write");
    run_stages("/proc/self/fd/" + std::to_string(file), sink);
    ::close(file);
    return 0;
}
