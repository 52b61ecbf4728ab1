// SPDX-License-Identifier: Apache-2.0
//
// The `evidence` member of the receipt: everything that another engineer needs to recompute the verdict, and
// nothing that says where or by whom it was recorded.
#pragma once

#include "analysis.h"
#include "json.h"
#include "receipt_dictionary.h"

namespace memsnap {

Json::Object evidence_json(const Capture& capture, const Analysis& analysis, const Dictionary& dictionary);

}  // namespace memsnap
