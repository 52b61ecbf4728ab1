// SPDX-License-Identifier: Apache-2.0
//
// The export check: whether a text is a receipt and nothing but a receipt. The rule: what is not known to be
// harmless is refused; nothing in here knows the recording.
#pragma once

#include <string>
#include <string_view>

#include "receipt_shape.h"
#include "receipt_text.h"

namespace memsnap {

// Empty when all is well, else the place and what is wrong there.
std::string check_receipt(std::string_view text);

// The same of any export that is described as a receipt is: names, types, words and bounds alone.
std::string check_shape(const JsonValue& value, const ReceiptShape& shape);

// The same of the list of references alone.
std::string check_references(const JsonValue& references);

}  // namespace memsnap
