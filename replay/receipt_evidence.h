// SPDX-License-Identifier: Apache-2.0
//
// The `evidence` member of the receipt: everything that another engineer needs to recompute the verdict, and
// nothing that says where or by whom it was recorded.
#pragma once

#include "analysis.h"
#include "json.h"

namespace memsnap {

Json::Object evidence_json(const Analysis& analysis);
Json::Object verdict_json(const Analysis& analysis);

}  // namespace memsnap
