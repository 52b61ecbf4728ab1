// SPDX-License-Identifier: Apache-2.0
//
// The receipt: the whole case as canonical JSON that may leave the company. The rule: integers and words of
// closed vocabularies only, but for the names that were asked for; what was written is parsed again and
// checked before anybody sees it.
#pragma once

#include <string>

#include "analysis.h"
#include "capture.h"
#include "receipt_dictionary.h"
#include "reference.h"
#include "result.h"

namespace memsnap {

// The checked canonical text. Error io: the self-check refused it, which is a defect of this program.
Result<std::string> write_receipt(const Capture& capture, const Analysis& analysis, const Naming& naming = {},
                                  const References& references = {});

}  // namespace memsnap
