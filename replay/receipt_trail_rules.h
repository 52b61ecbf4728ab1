// SPDX-License-Identifier: Apache-2.0
//
// The rules of what a receipt says by birth site, by use and by step: ordinals that go on counting from list
// to list, sums that other members state, orders, and lists that are as long as they may be.
#pragma once

#include <string>

#include "receipt_text.h"

namespace memsnap {

// Empty, or the member and the rule that it breaks. The receipt has a receipt's shape.
std::string broken_trail_rule(const JsonValue& receipt);

}  // namespace memsnap
