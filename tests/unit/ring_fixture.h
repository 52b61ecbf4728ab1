// SPDX-License-Identifier: Apache-2.0
//
// What the tests of the reader and the ledgers share: a file on disk for a ring in memory, and its replay.
#pragma once

#include <unistd.h>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "capture.h"
#include "replay.h"
#include "ring_writer.h"

namespace memsnap::test {

using namespace memsnap::fixture;

inline constexpr uint64_t kBase = 0x7f0000000000;
inline constexpr uint64_t kMiB = uint64_t{1} << 20;

// A folder of the test's own, removed with it.
class Folder {
  public:
    Folder() {
        std::string name = (std::filesystem::temp_directory_path() / "memsnap-unit-XXXXXX").string();
        if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp");
        path_ = name;
    }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    ~Folder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    std::string file(const std::string& name) const { return (path_ / name).string(); }

  private:
    std::filesystem::path path_;
};

inline Result<Capture> read(RingWriter& ring) {
    const Folder folder;
    ring.write(folder.file("ring.bin"));
    return Capture::read(folder.file("ring.bin"));
}

struct Replayed {
    std::unique_ptr<Capture> capture;  // empty: the file was refused
    std::optional<Ledger> ledger;      // at the end
    std::optional<Error> error;
    ReplayOutcome outcome;

    uint64_t tolerated(Rule rule) const { return outcome.tolerated_count(rule); }
    std::string rule() const { return error ? error->rule : ""; }
};

inline Replayed replayed(RingWriter& ring) {
    Replayed result;
    auto capture = read(ring);
    if (!capture) {
        result.error = capture.error();
        return result;
    }
    result.capture = std::make_unique<Capture>(std::move(*capture));
    result.ledger.emplace(result.capture->window);
    auto outcome = replay(*result.capture, result.capture->window, *result.ledger,
                          [](const Event&, const Ledger&, const Change&) {});
    if (outcome) {
        result.outcome = *outcome;
    } else {
        result.error = outcome.error();
    }
    return result;
}

// The blocks of a device as text, so that a failing test shows them.
inline std::string blocks_of(const Ledger& ledger, int device = 0) {
    std::string text;
    ledger.for_each_block(device, [&](const Block& block) {
        text += std::to_string((block.address - kBase) / kMiB) + "+" +
                std::to_string(block.size_bytes / kMiB) + " ";
    });
    return text;
}

}  // namespace memsnap::test
