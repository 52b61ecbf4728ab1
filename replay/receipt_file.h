// SPDX-License-Identifier: Apache-2.0
//
// A file that may be a receipt, in memory. The rule: the first byte and the size are looked at before the
// content is, since the file may be anybody's and of any size.
#pragma once

#include <string>

#include "result.h"
#include "ring_file.h"

namespace memsnap {

// A receipt begins with a brace, a ring never does. Errors: io.
Result<bool> begins_with_brace(const RingFile& file);

// Errors: not_memsnap for what no receipt can be, io.
Result<std::string> read_receipt_file(const RingFile& file);

}  // namespace memsnap
