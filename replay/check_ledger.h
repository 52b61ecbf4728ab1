// SPDX-License-Identifier: Apache-2.0
//
// `memsnap-replay check --csv`: does an event ledger follow from a recording. The rule: columns, words and
// allocations first, then every row is recomputed; both are read as a stream.
#pragma once

#include <string>

#include "analysis.h"
#include "capture.h"
#include "result.h"

namespace memsnap {

// One line that says so. Error disagreed: the first row and column that differ.
Result<std::string> check_ledger_file(const Capture& capture, const Analysis& analysis,
                                      const std::string& ledger_path);

}  // namespace memsnap
