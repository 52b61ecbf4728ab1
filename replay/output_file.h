// SPDX-License-Identifier: Apache-2.0
//
// Writing a result. The rule: a file appears whole or not at all, and an existing one is replaced only on
// demand.
#pragma once

#include <string>
#include <string_view>

#include "result.h"

namespace memsnap {

// `-` is standard output. Only a regular file that is not `input` is ever replaced. Errors: io.
Result<void> write_output(const std::string& path, std::string_view content, bool replace,
                          const std::string& input);

}  // namespace memsnap
