// SPDX-License-Identifier: Apache-2.0
//
// Who holds the cards, as the receipt tells it.
#pragma once

#include <vector>

#include "balance.h"
#include "json.h"
#include "receipt_dictionary.h"

namespace memsnap {

Json holders_json(const std::vector<Balance>& holders, const Dictionary& dictionary);

}  // namespace memsnap
