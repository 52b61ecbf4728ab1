// SPDX-License-Identifier: Apache-2.0
//
// Printed names of the evidence's vocabularies, and the closed set of words that a receipt may contain.
#pragma once

#include <span>
#include <string_view>

#include "evidence.h"
#include "extent.h"
#include "incident.h"

namespace memsnap {

std::string_view name(Provenance provenance);
std::string_view name(FailedAllocator allocator);
std::string_view name(DeviceCall call);
std::string_view name(GrowthBasis basis);
std::string_view name(SizeClass size_class);
std::string_view name(Compatibility compatibility);
std::string_view name(NearMiss::Kind kind);

// Whether a word belongs to one of the vocabularies of a receipt.
bool is_receipt_word(std::string_view word);

// Whether a word names something that the recording holds and a receipt leaves out.
bool is_removed_field(std::string_view field);
std::span<const std::string_view> removed_fields();

}  // namespace memsnap
