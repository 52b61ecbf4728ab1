// SPDX-License-Identifier: Apache-2.0
//
// One table a vocabulary; the closed set of words is their union.
#include "names.h"

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "qualifier.h"
#include "shapes.h"
#include "verdict.h"
#include "vocabulary.h"

namespace memsnap {
namespace {

using Words = std::span<const std::string_view>;

constexpr std::array<std::string_view, 3> kProvenances = {"unknown", "observed", "derived"};
constexpr std::array<std::string_view, 3> kAllocators = {"pytorch", "pytorch_uncached", "foreign"};
constexpr std::array<std::string_view, 3> kDeviceCalls = {"unknown", "none_made", "failed"};
constexpr std::array<std::string_view, 5> kBases = {"too_few", "marked", "certified", "uncertified",
                                                    "lapped"};
constexpr std::array<std::string_view, 3> kSizeClasses = {"small", "large", "unknown"};
constexpr std::array<std::string_view, 3> kCompatibilities = {"compatible", "incompatible", "unknown"};
constexpr std::array<std::string_view, 2> kNearMisses = {"recovered", "probe"};
constexpr std::array<std::string_view, 18> kOthers = {
    "live",       "free",   "deferred", "in_use", "sha256",        "memsnap.receipt.v1",
    "segment",    "site",   "class",    "state",  "compatibility", "offset_bytes",
    "size_bytes", "window", "keyframe", "none",   "native",        "async"};

constexpr std::string_view kRemovedFields[] = {"addresses",   "file_names",     "job_key", "module_names",
                                               "phase_names", "process_ids",    "ring_id", "stack_tokens",
                                               "thread_ids",  "wall_clock_time"};

template <class Enum>
std::string_view pick(Words words, Enum value) {
    return words[static_cast<size_t>(value)];
}

template <class Enum, size_t N>
void add_enum(std::vector<std::string_view>& words, const std::array<Enum, N>& values) {
    for (const Enum value : values)
        words.push_back(name(value));
}

std::vector<std::string_view> all_words() {
    std::vector<std::string_view> words;
    for (const Words list :
         {Words(kProvenances), Words(kAllocators), Words(kDeviceCalls), Words(kBases), Words(kSizeClasses),
          Words(kCompatibilities), Words(kNearMisses), Words(kOthers)}) {
        words.insert(words.end(), list.begin(), list.end());
    }
    add_enum(words, kHypotheses);
    add_enum(words, std::array{Status::primary, Status::contributing, Status::rejected, Status::undecidable});
    add_enum(words, std::array{Shape::unknown, Shape::flat, Shape::peak, Shape::staircase,
                               Shape::reserved_growth, Shape::device_rise});
    add_enum(words, std::array{StartMode::from_birth, StartMode::late});
    add_enum(words, std::array{ArmState::recording, ArmState::cold, ArmState::standby});
    for (unsigned index = 0; index < kQualifierCount; ++index) {
        words.push_back(name(static_cast<Qualifier>(index)));
    }
    for (unsigned number = 0; number < 256; ++number) {
        if (const auto op = op_of_number(static_cast<uint8_t>(number))) words.push_back(name(*op));
    }
    std::ranges::sort(words);
    return words;
}

}  // namespace

std::string_view name(Provenance provenance) {
    return pick(kProvenances, provenance);
}
std::string_view name(FailedAllocator allocator) {
    return pick(kAllocators, allocator);
}
std::string_view name(DeviceCall call) {
    return pick(kDeviceCalls, call);
}
std::string_view name(GrowthBasis basis) {
    return pick(kBases, basis);
}
std::string_view name(SizeClass size_class) {
    return pick(kSizeClasses, size_class);
}
std::string_view name(Compatibility compatibility) {
    return pick(kCompatibilities, compatibility);
}
std::string_view name(NearMiss::Kind kind) {
    return pick(kNearMisses, kind);
}

bool is_receipt_word(std::string_view word) {
    static const std::vector<std::string_view> words = all_words();
    return std::ranges::binary_search(words, word);
}

std::span<const std::string_view> removed_fields() {
    return kRemovedFields;
}

bool is_removed_field(std::string_view field) {
    return std::ranges::find(kRemovedFields, field) != std::end(kRemovedFields);
}

}  // namespace memsnap
