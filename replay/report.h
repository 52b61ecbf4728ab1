// SPDX-License-Identifier: Apache-2.0
//
// The one screen: verdict first, then the parts of the card, the four hypotheses, who holds the memory, what
// to try. The rule: at most 100 columns, every printed part adds up to the printed whole, and no number
// stands here that is not in the receipt.
#pragma once

#include <optional>
#include <string>

#include "analysis.h"
#include "capture.h"
#include "reader_names.h"
#include "receipt_dictionary.h"

namespace memsnap {

struct ReportStyle {
    bool colour = false;
    bool utf8 = false;                       // false: ASCII only
    std::optional<size_t> sites_count = {};  // most sites of each list; unset: as many as fit the screen
};

// Names are shown here, and nowhere else unless they were asked for. Without them tokens are those of
// `naming`.
std::string render_report(const Capture& capture, const Analysis& analysis, const ReportStyle& style,
                          const Names& names = {}, const Naming& naming = {});

}  // namespace memsnap
