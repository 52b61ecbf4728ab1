// SPDX-License-Identifier: Apache-2.0
//
// The members of a receipt about the recording itself: `capture`, `environment` and `times`. The rule: what
// the header does not know is null.
#pragma once

#include "analysis.h"
#include "capture.h"
#include "json.h"
#include "receipt_dictionary.h"

namespace memsnap {

Json::Object capture_json(const Capture& capture, const Analysis& analysis);
Json::Object environment_json(const HeaderFacts& header, const Analysis& analysis,
                              const Dictionary& dictionary);
Json::Object times_json(const Capture& capture, const Analysis& analysis);

}  // namespace memsnap
