// SPDX-License-Identifier: Apache-2.0
//
// One list a vocabulary. Those with enumerators elsewhere are made from them.
#include "names.h"

#include <algorithm>
#include <array>
#include <vector>

#include "advice.h"
#include "qualifier.h"
#include "reference.h"
#include "rules.h"
#include "shapes.h"
#include "verdict.h"
#include "vocabulary.h"
#include "window.h"

namespace memsnap {
namespace {

constexpr std::string_view kProvenances[] = {"unknown", "observed", "derived"};
constexpr std::string_view kAllocators[] = {"pytorch", "pytorch_uncached", "foreign"};
constexpr std::string_view kDeviceCalls[] = {"unknown", "none_made", "failed"};
constexpr std::string_view kBases[] = {"too_few", "marked", "certified", "uncertified", "lapped"};
constexpr std::string_view kSizeClasses[] = {"small", "large", "unknown"};
constexpr std::string_view kSegmentKinds[] = {"native", "expandable"};
constexpr std::string_view kCompatibilities[] = {"compatible", "incompatible", "unknown", kInUse};
constexpr std::string_view kExtentStates[] = {"live", "deferred", "free"};
constexpr std::string_view kNearMisses[] = {"recovered", "probe"};
constexpr std::string_view kBalanceInstants[] = {"peak", "failure", "end"};
constexpr std::string_view kBalanceSources[] = {"observed", "carried", "carried_back", "unknown"};
constexpr std::string_view kSchemas[] = {kReceiptSchema};
constexpr std::string_view kAlgorithms[] = {"sha256"};
constexpr std::string_view kFailureSeen[] = {"window", "keyframe", "none"};
constexpr std::string_view kBackends[] = {"native", "async"};
constexpr std::string_view kPhaseWords[] = {"warmup",     "forward",    "backward",   "optimizer",
                                            "checkpoint", "evaluation", "generation", "data"};
constexpr std::string_view kTokenScopes[] = {"ring", "key"};
constexpr std::string_view kPointColumns[] = {"ticket", "active_bytes", "reserved_bytes",
                                              "device_free_bytes"};
constexpr std::string_view kExtentColumns[] = {"segment", "offset_bytes",  "size_bytes", "class",     "kind",
                                               "state",   "compatibility", "site",       "allocation"};
constexpr std::string_view kRemovedFields[] = {"addresses",    "file_names",  "host_name",   "job_key",
                                               "module_names", "phase_names", "process_ids", "ring_id",
                                               "stack_tokens", "thread_ids",  "user_name"};

#define MEMSNAP_WORD(name, ...) #name,
constexpr std::string_view kStartModes[] = {MEMSNAP_START_MODES(MEMSNAP_WORD)};
constexpr std::string_view kArmStates[] = {MEMSNAP_ARM_STATES(MEMSNAP_WORD)};
constexpr std::string_view kOrigins[] = {MEMSNAP_ORIGINS(MEMSNAP_WORD) "unknown"};
constexpr std::string_view kSamplings[] = {MEMSNAP_SAMPLINGS(MEMSNAP_WORD)};
constexpr std::string_view kBlinds[] = {MEMSNAP_BLINDS(MEMSNAP_WORD)};
constexpr std::string_view kStackWishes[] = {MEMSNAP_STACK_WISHES(MEMSNAP_WORD)};
constexpr std::string_view kPythonStacks[] = {MEMSNAP_PYTHON_STACKS(MEMSNAP_WORD)};
constexpr std::string_view kNativeStacks[] = {MEMSNAP_NATIVE_STACKS(MEMSNAP_WORD)};
constexpr std::string_view kFamilies[] = {MEMSNAP_BOUNDARY_FAMILIES(MEMSNAP_WORD)};
constexpr std::string_view kRoles[] = {MEMSNAP_LIBRARY_ROLES(MEMSNAP_WORD)};
constexpr std::string_view kOperations[] = {MEMSNAP_OPS(MEMSNAP_WORD)};
constexpr std::string_view kRules[] = {MEMSNAP_RULES(MEMSNAP_WORD)};
constexpr std::string_view kVerdictQualifiers[] = {MEMSNAP_VERDICT_QUALIFIERS(MEMSNAP_WORD)};
constexpr std::string_view kHypothesisQualifiers[] = {MEMSNAP_HYPOTHESIS_QUALIFIERS(MEMSNAP_WORD)};
#undef MEMSNAP_WORD

template <class Enum, size_t N>
std::vector<std::string_view> names_of(const std::array<Enum, N>& values) {
    std::vector<std::string_view> names;
    for (const Enum value : values)
        names.push_back(name(value));
    return names;
}

Words uncertainties() {
    static const std::vector<std::string_view> names = [] {
        std::vector<std::string_view> list;
        for (size_t i = 0; i < kUncertaintyCount; ++i)
            list.push_back(name(static_cast<Uncertainty>(i)));
        return list;
    }();
    return names;
}

Words categories() {
    static const std::vector<std::string_view> names = [] {
        std::vector<std::string_view> list;
        for (size_t i = 0; i < kCategoryCount; ++i)
            list.push_back(use_name(static_cast<Category>(i)));
        return list;
    }();
    return names;
}

Words shape_names() {
    static const auto names = names_of(std::array{Shape::unknown, Shape::flat, Shape::peak, Shape::staircase,
                                                  Shape::reserved_growth, Shape::device_rise});
    return names;
}

Words hypotheses() {
    static const auto names = names_of(kHypotheses);
    return names;
}

Words statuses() {
    static const auto names =
        names_of(std::array{Status::primary, Status::contributing, Status::rejected, Status::undecidable});
    return names;
}

template <class Enum>
std::string_view pick(Words list, Enum value) {
    return list[static_cast<size_t>(value)];
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
std::string_view use_name(Category category) {
    return category == Category::none ? "unknown" : name(category);
}
std::string_view name(SegmentKind kind) {
    return pick(kSegmentKinds, kind);
}
std::string_view name(NearMiss::Kind kind) {
    return pick(kNearMisses, kind);
}

std::string_view name(BalanceInstant instant) {
    return pick(kBalanceInstants, instant);
}
std::string_view name(BalanceSource source) {
    return pick(kBalanceSources, source);
}

std::string_view state_name(const Extent& extent) {
    return extent.live ? kExtentStates[0] : (extent.deferred ? kExtentStates[1] : kExtentStates[2]);
}

Words words(Vocabulary vocabulary) {
    switch (vocabulary) {
        case Vocabulary::schema:
            return kSchemas;
        case Vocabulary::digest_algorithm:
            return kAlgorithms;
        case Vocabulary::removed_field:
            return kRemovedFields;
        case Vocabulary::start_mode:
            return kStartModes;
        case Vocabulary::arm_state:
            return kArmStates;
        case Vocabulary::origin:
            return kOrigins;
        case Vocabulary::reference_kind:
            return kReferenceKinds;
        case Vocabulary::failure_seen:
            return kFailureSeen;
        case Vocabulary::uncertainty:
            return uncertainties();
        case Vocabulary::rule:
            return kRules;
        case Vocabulary::backend:
            return kBackends;
        case Vocabulary::phase_word:
            return kPhaseWords;
        case Vocabulary::provenance:
            return kProvenances;
        case Vocabulary::allocator:
            return kAllocators;
        case Vocabulary::device_call:
            return kDeviceCalls;
        case Vocabulary::operation:
            return kOperations;
        case Vocabulary::near_miss:
            return kNearMisses;
        case Vocabulary::basis:
            return kBases;
        case Vocabulary::family:
            return kFamilies;
        case Vocabulary::point_column:
            return kPointColumns;
        case Vocabulary::extent_column:
            return kExtentColumns;
        case Vocabulary::size_class:
            return kSizeClasses;
        case Vocabulary::segment_kind:
            return kSegmentKinds;
        case Vocabulary::extent_state:
            return kExtentStates;
        case Vocabulary::compatibility:
            return kCompatibilities;
        case Vocabulary::library_role:
            return kRoles;
        case Vocabulary::shape:
            return shape_names();
        case Vocabulary::sampling:
            return kSamplings;
        case Vocabulary::stack_wish:
            return kStackWishes;
        case Vocabulary::python_stacks:
            return kPythonStacks;
        case Vocabulary::native_stacks:
            return kNativeStacks;
        case Vocabulary::token_scope:
            return kTokenScopes;
        case Vocabulary::category:
            return categories();
        case Vocabulary::blind:
            return Words(kBlinds).subspan(1);  // `none` is no reason
        case Vocabulary::balance_instant:
            return kBalanceInstants;
        case Vocabulary::balance_source:
            return kBalanceSources;
        case Vocabulary::hypothesis:
            return hypotheses();
        case Vocabulary::status:
            return statuses();
        case Vocabulary::verdict_qualifier:
            return kVerdictQualifiers;
        case Vocabulary::hypothesis_qualifier:
            return kHypothesisQualifiers;
        case Vocabulary::fix:
            return fixes();
        case Vocabulary::proof:
            return proofs();
        case Vocabulary::probe:
            return probes();
    }
    return {};
}

bool is_word(Vocabulary vocabulary, std::string_view word) {
    return std::ranges::find(words(vocabulary), word) != words(vocabulary).end();
}

}  // namespace memsnap
