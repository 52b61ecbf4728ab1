// SPDX-License-Identifier: Apache-2.0
//
// Each text and each stack once. The rule: bytes are copied once, into pieces that never move.
#include <algorithm>
#include <cstring>

#include "seeded_hash.h"
#include "snapshot.h"

namespace memsnap::snapshot {

namespace {

constexpr size_t kPiece_bytes = 65536;

}  // namespace

void HashIndex::grow() {
    std::vector<Slot> old(std::max<size_t>(64, slots_.size() * 2));
    old.swap(slots_);
    for (const Slot& slot : old) {
        if (slot.number == 0) continue;
        size_t at = slot.hash & (slots_.size() - 1);
        while (slots_[at].number != 0)
            at = (at + 1) & (slots_.size() - 1);
        slots_[at] = slot;
    }
}

TextId Texts::add(std::string_view text) {
    if (text.empty()) return 0;
    const auto next = static_cast<TextId>(texts_.size() + 1);
    const TextId id =
        ids_.find_or_add(seeded_hash(text), next, [&](TextId known) { return texts_[known - 1] == text; });
    if (id != next) return id;
    if (piece_left_bytes_ < text.size()) {
        piece_left_bytes_ = std::max(kPiece_bytes, text.size());
        pieces_.push_back(std::make_unique_for_overwrite<char[]>(piece_left_bytes_));
        piece_bytes_ = piece_left_bytes_;
    }
    char* const copy = pieces_.back().get() + (piece_bytes_ - piece_left_bytes_);
    std::memcpy(copy, text.data(), text.size());
    piece_left_bytes_ -= text.size();
    texts_.push_back({copy, text.size()});
    return id;
}

StackId Stacks::add(const std::vector<Frame>& frames) {
    const auto next = static_cast<StackId>(stacks_.size() + 1);
    const uint64_t hash =
        seeded_hash({reinterpret_cast<const char*>(frames.data()), frames.size() * sizeof(Frame)});
    const StackId id =
        ids_.find_or_add(hash, next, [&](StackId known) { return stacks_[known - 1] == frames; });
    if (id == next) stacks_.push_back(frames);
    return id;
}

const std::vector<Frame>& Stacks::frames(StackId id) const {
    static const std::vector<Frame> none;
    return id == 0 ? none : stacks_[id - 1];
}

}  // namespace memsnap::snapshot
