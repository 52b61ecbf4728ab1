// SPDX-License-Identifier: Apache-2.0
//
// Files of PyTorch's tools as recordings: what is not a ring becomes one before anything else looks at it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "../replay/result.h"

namespace memsnap::snapshot {

struct ImportOptions {
    std::optional<uint64_t>
        card_bytes;  // what the user says the card has; for failures whose total nobody told
};

enum class Source : uint8_t {
    ring,
    torch_snapshot,
    profiler_trace,
    other
};

// By the first bytes; not_memsnap is left to whoever reads on. Errors: io.
Result<Source> source_of(const std::string& path);

// A ring and its sidecar without a name in any folder; gone with this object.
class ImportedRing {
  public:
    // Errors: as the readers of the two kinds.
    static Result<ImportedRing> read(const std::string& path, Source source, const ImportOptions& options);
    ImportedRing(ImportedRing&& other) noexcept;
    ImportedRing& operator=(ImportedRing&&) = delete;
    ~ImportedRing();

    std::string ring_path() const;     // /proc/self/fd/N
    std::string sidecar_path() const;  // /proc/self/fd/M

  private:
    ImportedRing() = default;
    int ring_ = -1, sidecar_ = -1;
};

}  // namespace memsnap::snapshot
