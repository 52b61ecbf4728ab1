// SPDX-License-Identifier: Apache-2.0
//
// Walks the sidecar's entries. Rule: the walk ends at the first entry that is not finished or does not fit.
#include "sidecar.h"

#include <algorithm>
#include <cstring>

namespace oracle {
namespace {

constexpr std::array<u8, 8> kMagic{0x89, 0x4D, 0x45, 0x4D, 0x4E, 0x41, 0x4D, 0x45};
constexpr u64 kHeaderBytes = 64;
constexpr u64 kEntryHeadBytes = 16;
constexpr std::array<std::string_view, 8> kPhaseWords{"warmup",     "forward",    "backward",   "optimizer",
                                                      "checkpoint", "evaluation", "generation", "data"};

bool belongs_to(Bytes sidecar, const Header& ring) {
    return ring.sidecar == 1 && sidecar.size() >= kHeaderBytes &&
           std::memcmp(sidecar.data(), kMagic.data(), kMagic.size()) == 0 && integer16(sidecar, 8) == 1 &&
           integer32(sidecar, 12) == 0x01020304U &&
           std::memcmp(sidecar.data() + 16, ring.ring_id.data(), ring.ring_id.size()) == 0;
}

}  // namespace

std::optional<Names> Names::read(Bytes sidecar, const Header& ring) {
    if (!belongs_to(sidecar, ring)) return std::nullopt;
    Names names;
    u64 used = std::min({integer64(sidecar, 32), integer64(sidecar, 40), u64{sidecar.size()}});
    names.take_entries(sidecar.first(used));
    return names;
}

void Names::take_entries(Bytes sidecar) {
    for (u64 at = kHeaderBytes; part(sidecar, at, kEntryHeadBytes);) {
        u64 entry_bytes = integer32(sidecar, at);
        u64 payload_bytes = integer16(sidecar, at + 6);
        auto payload = part(sidecar, at + kEntryHeadBytes, payload_bytes);
        bool fits = entry_bytes % 8 == 0 && entry_bytes >= kEntryHeadBytes + payload_bytes &&
                    part(sidecar, at, entry_bytes) && payload;
        if (!fits) return;
        u16 kind = integer16(sidecar, at + 4);
        if (kind == kLibrary || kind == kName || kind == kStack)
            payloads_.try_emplace({kind, integer64(sidecar, at + 8)},
                                  reinterpret_cast<const char*>(payload->data()), payload->size());
        at += entry_bytes;
    }
}

std::optional<std::string_view> Names::word_of(u64 name) const {
    auto found = payloads_.find({kName, name});
    if (found == payloads_.end() || !is_phase_word(found->second)) return std::nullopt;
    return found->second;
}

bool is_phase_word(std::string_view text) {
    return std::find(kPhaseWords.begin(), kPhaseWords.end(), text) != kPhaseWords.end();
}

}  // namespace oracle
