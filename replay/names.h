// SPDX-License-Identifier: Apache-2.0
//
// The closed vocabularies of a receipt, and the printed names of the evidence's own. The rule: a field may
// hold a word of its vocabulary and no other; each list is here or where its enumerators are made, once.
#pragma once

#include <span>
#include <string_view>

#include "balance.h"
#include "evidence.h"
#include "extent.h"
#include "incident.h"
#include "vocabulary.h"

namespace memsnap {

std::string_view name(Provenance provenance);
std::string_view name(FailedAllocator allocator);
std::string_view name(DeviceCall call);
std::string_view name(GrowthBasis basis);
std::string_view name(SizeClass size_class);
std::string_view name(Compatibility compatibility);
std::string_view name(SegmentKind kind);
std::string_view name(NearMiss::Kind kind);
std::string_view name(BalanceInstant instant);
std::string_view name(BalanceSource source);
std::string_view use_name(Category category);  // none: unknown

inline constexpr std::string_view kReceiptSchema = "memsnap.receipt.v1";
// What stands for the compatibility of an extent that is live or deferred.
inline constexpr std::string_view kInUse = "in_use";
std::string_view state_name(const Extent& extent);

enum class Vocabulary : uint8_t {
    schema,
    digest_algorithm,
    removed_field,
    start_mode,
    arm_state,
    origin,
    reference_kind,
    failure_seen,
    uncertainty,
    rule,
    backend,
    phase_word,
    provenance,
    allocator,
    device_call,
    operation,
    near_miss,
    basis,
    family,
    point_column,
    extent_column,
    size_class,
    segment_kind,
    extent_state,
    compatibility,
    library_role,
    shape,
    sampling,
    stack_wish,
    python_stacks,
    native_stacks,
    token_scope,
    category,
    blind,
    balance_instant,
    balance_source,
    hypothesis,
    status,
    verdict_qualifier,
    hypothesis_qualifier,
    fix,
    proof,
    probe,
};

using Words = std::span<const std::string_view>;
Words words(Vocabulary vocabulary);
bool is_word(Vocabulary vocabulary, std::string_view word);

}  // namespace memsnap
