// SPDX-License-Identifier: Apache-2.0
//
// Files of PyTorch's tools as recordings. The rule: what is not a ring becomes one before anything else looks
// at it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "../replay/reference.h"
#include "../replay/result.h"

namespace memsnap::snapshot {

struct ImportOptions {
    std::optional<uint64_t>
        card_bytes;  // what the user says the card has; for failures whose total nobody told
};

enum class Source : uint8_t {
    torch_snapshot,
    profiler_trace,
    other  // a ring among them
};

// By the first bytes; whatever is `other` is left to whoever reads on. Errors: io.
Result<Source> source_of(const std::string& path);

// A ring and its sidecar without a name in any folder; gone with this object.
class ImportedRing {
  public:
    // `source` is not other. Errors: as the readers of the two kinds.
    static Result<ImportedRing> read(const std::string& path, Source source, const ImportOptions& options);
    ImportedRing(ImportedRing&& other) noexcept;
    ImportedRing& operator=(ImportedRing&&) = delete;
    ~ImportedRing();

    std::string ring_path() const;                                    // /proc/self/fd/N
    std::string sidecar_path() const;                                 // /proc/self/fd/M
    const Reference& source() const { return source_; }               // the file it was made of
    const std::vector<std::string>& notes() const { return notes_; }  // what was left out, a sentence each

  private:
    ImportedRing() = default;
    int ring_ = -1, sidecar_ = -1;
    Reference source_;
    std::vector<std::string> notes_;
};

}  // namespace memsnap::snapshot
