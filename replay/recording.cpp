// SPDX-License-Identifier: Apache-2.0
//
// By the first bytes, a ring or what becomes one.
#include "recording.h"

#include <memory>
#include <utility>

namespace memsnap {

namespace {

Error card_with_ring(const std::string& path) {
    return {.code = ErrorCode::usage,
            .file = path,
            .offset_bytes = std::nullopt,
            .ticket = std::nullopt,
            .rule = "card",
            .detail = "was recorded with the device's own answers: --card is for memory snapshots",
            .way_out = "leave --card out"};
}

}  // namespace

Result<Recording> open_recording(const std::string& path, const ImportOptions& options) {
    const auto source = snapshot::source_of(path);
    if (!source) return failure(source.error());
    if (*source == snapshot::Source::other) {
        auto capture = Capture::read(path);
        if (!capture) return failure(std::move(capture.error()));
        if (options.card_bytes) return failure(card_with_ring(path));
        return Recording{std::move(*capture), std::nullopt, {}};
    }
    auto made = snapshot::ImportedRing::read(path, *source, options);
    if (!made) return failure(std::move(made.error()));
    const auto ring = std::make_shared<const snapshot::ImportedRing>(std::move(*made));
    auto capture = Capture::read({path, ring->ring_path(), ring->sidecar_path(), ring});
    if (!capture) return failure(std::move(capture.error()));
    return Recording{std::move(*capture), ring->source(), ring->notes()};
}

}  // namespace memsnap
