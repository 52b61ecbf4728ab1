// SPDX-License-Identifier: Apache-2.0
//
// The receipt that memsnap-replay makes of a recording, as docs/receipt.md describes it. Rule: what nobody
// stated is not in it: no references, no names, tokens of the ring.
#pragma once

#include "examine.h"

namespace oracle {

/// What a ring holds and a receipt never does.
Json removed_fields();
/// Without `references`, `digest` and `names`.
Json::Object receipt_members(const Result& result);
/// Of a whole receipt: `digest.receipt`.
std::string receipt_digest(const Json& receipt);

}  // namespace oracle
