// SPDX-License-Identifier: Apache-2.0
//
// Writing a result. The rule: a file appears whole or not at all, and an existing one is replaced only on
// demand.
#pragma once

#include <string>
#include <string_view>

#include "result.h"

namespace memsnap {

// `-` is standard output. Errors: io.
Result<void> write_output(const std::string& path, std::string_view content, bool replace);

}  // namespace memsnap
