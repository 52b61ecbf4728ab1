// SPDX-License-Identifier: Apache-2.0
//
// What the members of a receipt owe to each other: ordinals that exist, rows that tile their segments,
// tickets of the recording, lists that follow from each other. The rule: a number that others determine can
// carry nothing of its own. What bytes and counts are right only the recording can tell.
#pragma once

#include <string>

#include "receipt_text.h"

namespace memsnap {

// `receipt` has the shape of one. Empty, or the place and the rule.
std::string broken_receipt_rule(const JsonValue& receipt);

// A reference that is listed twice.
std::string repeated_reference(const JsonValue& references);

}  // namespace memsnap
