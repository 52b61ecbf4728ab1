// SPDX-License-Identifier: Apache-2.0
//
// The event ledger as CSV: one row an event of the window, with the state after it. The rule: no address,
// name or time, only tickets, ordinals, bytes and words; rows are handed on as they are made, so memory does
// not grow with their number.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "analysis.h"
#include "capture.h"
#include "result.h"

namespace memsnap {

// Takes whole lines; false ends the writing.
using LineSink = std::function<bool(std::string_view lines)>;

std::string csv_header();

// The header and every row. Ordinals of the analysis's receipt are kept. False: the sink had enough.
Result<bool> write_rows(const Capture& capture, const Analysis& analysis, const LineSink& sink);

}  // namespace memsnap
