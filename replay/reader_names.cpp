// SPDX-License-Identifier: Apache-2.0
//
// One copy of the sidecar, taken apart entry by entry.
#include "reader_names.h"

#include <algorithm>
#include <vector>

#include "../interpose/wire_names.h"
#include "reader_decode.h"

namespace memsnap {

namespace {

constexpr uint64_t kSidecar_bytes_most = uint64_t{64} << 20;  // of names that anybody would look at

// Empty: it belongs to the ring.
std::string wrong_header(const wire::NamesHeader& header, const Capture& capture, uint64_t size_bytes) {
    if (!std::ranges::equal(header.magic, wire::kNamesMagic) || header.byte_order != wire::kByteOrder)
        return "is no such file";
    if (header.version_major != wire::kNamesVersionMajor) return "has another version";
    if (!std::ranges::equal(header.ring_id, capture.header.ring_id)) return "belongs to another recording";
    if (header.file_bytes < sizeof header || header.file_bytes > size_bytes) return "is truncated";
    return {};
}

// Entries up to the first that was not finished. False: one of them is damaged.
bool take_entries(std::span<const std::byte> bytes, Names& names) {
    uint64_t at = sizeof(wire::NamesHeader);
    while (bytes.size() - at >= sizeof(wire::NameEntry)) {
        const auto entry = load<wire::NameEntry>(bytes, at);
        if (entry.entry_bytes == 0) return true;
        const uint64_t needed_bytes = sizeof entry + uint64_t{entry.text_bytes};
        if (entry.entry_bytes % 8 != 0 || entry.entry_bytes < needed_bytes ||
            entry.entry_bytes > bytes.size() - at)
            return false;
        if (entry.kind == wire::NameKind::library) {
            const auto* const text = reinterpret_cast<const char*>(bytes.data() + at + sizeof entry);
            const std::string_view whole(text, entry.text_bytes);
            // Without a folder, whoever wrote it.
            names.libraries.try_emplace(entry.id, whole.substr(whole.rfind('/') + 1));
        }
        at += entry.entry_bytes;
    }
    return true;
}

std::string read_into(const Capture& capture, Names& names) {
    const auto file = RingFile::open(capture.path + kNamesSuffix);
    if (!file) return "cannot be read";
    const uint64_t size_bytes = file->size_bytes();
    if (size_bytes < sizeof(wire::NamesHeader)) return "is truncated";
    if (size_bytes > kSidecar_bytes_most) return "is too large";
    std::vector<std::byte> bytes(size_bytes);
    if (!file->read(0, bytes)) return "cannot be read";
    const auto header = load<wire::NamesHeader>(bytes, 0);
    if (std::string wrong = wrong_header(header, capture, size_bytes); !wrong.empty()) return wrong;
    const uint64_t used_bytes = std::clamp<uint64_t>(header.used_bytes, sizeof header, header.file_bytes);
    return take_entries(std::span(bytes).first(used_bytes), names) ? "" : "is damaged";
}

}  // namespace

const std::string* Names::of_library(const Capture& capture, uint16_t library) const {
    if (library >= capture.libraries.size()) return nullptr;
    const auto found = libraries.find(capture.libraries[library].name);
    return found == libraries.end() || found->second.empty() ? nullptr : &found->second;
}

Names read_names(const Capture& capture) {
    Names names;
    if (!capture.header.has_sidecar) return names;
    names.problem = read_into(capture, names);
    if (!names.problem.empty()) names.libraries.clear();
    return names;
}

}  // namespace memsnap
