// SPDX-License-Identifier: Apache-2.0
//
// The rules of `holders`: which balances there are, and that each adds up to its card.
#pragma once

#include <string>

#include "receipt_text.h"

namespace memsnap {

// Empty, or the member and the rule that it breaks. The receipt has a receipt's shape.
std::string broken_balance_rule(const JsonValue& receipt);

}  // namespace memsnap
