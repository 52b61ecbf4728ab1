// SPDX-License-Identifier: Apache-2.0
//
// The shape of the list `references`. Rule: a kind of the closed list, a SHA-256 in hexadecimal digits, a
// size, and nothing twice.
#include "references.h"

#include <algorithm>
#include <array>

namespace oracle {
namespace {

constexpr std::array<std::string_view, 7> kReferenceKinds{
    "torch_snapshot", "profiler_trace", "log", "memory_stats", "recording", "receipt", "other"};
constexpr std::size_t kHashDigits = 64;
constexpr std::size_t kMostSizeDigits = 20;

bool is_hash(const std::string& text) {
    return text.size() == kHashDigits && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

// A number, or as canonical text has it a string of digits where no number holds it.
bool is_size(const Json& size) {
    if (const auto* number = size.number()) return *number >= 0;
    const auto* text = size.text();
    if (text == nullptr || text->empty() || text->size() > kMostSizeDigits) return false;
    Int value = 0;
    for (char digit : *text) {
        if (digit < '0' || digit > '9') return false;
        value = value * 10 + (digit - '0');
    }
    return value <= kNoTicket && Json(value) == size;
}

bool is_reference(const Json& reference) {
    const auto* members = reference.object();
    if (members == nullptr || members->size() != 3) return false;
    const auto *kind = reference["kind"].text(), *hash = reference["sha256"].text();
    bool known = kind != nullptr &&
                 std::find(kReferenceKinds.begin(), kReferenceKinds.end(), *kind) != kReferenceKinds.end();
    return known && hash != nullptr && is_hash(*hash) && is_size(reference["size_bytes"]);
}

}  // namespace

std::optional<Difference> wrong_reference(const Json& references) {
    const auto* list = references.array();
    if (list == nullptr) return Difference{"references", "a list", references.canonical()};
    for (std::size_t i = 0; i < list->size(); ++i) {
        const auto& reference = (*list)[i];
        auto path = "references[" + std::to_string(i) + ']';
        if (!is_reference(reference))
            return Difference{path, "kind, SHA-256 and size", reference.canonical()};
        auto here = list->begin() + static_cast<std::ptrdiff_t>(i);
        if (std::find(list->begin(), here, reference) != here)
            return Difference{path, "each once", reference.canonical()};
    }
    return std::nullopt;
}

}  // namespace oracle
