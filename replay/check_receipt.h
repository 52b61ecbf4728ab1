// SPDX-License-Identifier: Apache-2.0
//
// `memsnap-replay check --receipt`: does a receipt follow from a recording. The rule: everything is
// recomputed and every field compared; nothing of the receipt is believed but which failure it is about.
#pragma once

#include <string>

#include "capture.h"
#include "receipt_dictionary.h"
#include "result.h"

namespace memsnap {

// One line that says so. Errors: not_memsnap for what is no receipt, disagreed with the first field that
// differs.
Result<std::string> check_receipt_file(const Capture& capture, const std::string& receipt_path,
                                       const Naming& naming = {});

// Whether a file is a receipt by its own words.
bool is_receipt_file(const std::string& path);

}  // namespace memsnap
