// SPDX-License-Identifier: Apache-2.0
//
// The page's part `names` (docs/page.md): what stands for the ordinals of the ledger. The rule: tokens and
// words of closed lists; texts are in it only where names were asked for.
#pragma once

#include <string>

#include "capture.h"
#include "ledger_numbers.h"
#include "receipt_dictionary.h"

namespace memsnap {

// Of a line that tells a site, in columns.
inline constexpr size_t kPageLabelColumns = 96;

std::string page_names(const Capture& capture, const LedgerNumbers& numbers, const Naming& naming);

}  // namespace memsnap
