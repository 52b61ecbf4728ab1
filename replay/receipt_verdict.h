// SPDX-License-Identifier: Apache-2.0
//
// The `verdict` member of the receipt: what was decided, with the inequality, the inputs and the advice of
// each hypothesis.
#pragma once

#include "analysis.h"
#include "json.h"

namespace memsnap {

Json::Object verdict_json(const Analysis& analysis);

}  // namespace memsnap
