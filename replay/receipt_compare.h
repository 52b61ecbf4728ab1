// SPDX-License-Identifier: Apache-2.0
//
// Two receipts, field by field. The rule: canonical order, so that the first difference is always the same
// one; a member that only one has is a difference; the digests, which follow from the rest, come last.
#pragma once

#include <optional>
#include <string>

#include "receipt_text.h"

namespace memsnap {

struct ReceiptDifference {
    std::string path;    // evidence.extents.rows[3][2]
    std::string stated;  // in the receipt; "nothing" without it
    std::string found;   // in the recording
};

std::optional<ReceiptDifference> first_difference(const JsonValue& receipt, const JsonValue& recomputed);

}  // namespace memsnap
