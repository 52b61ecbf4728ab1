// SPDX-License-Identifier: Apache-2.0
//
// The page without an incident: the built workbench. The rule: part of the program, so that nothing has to be
// found or loaded.
#pragma once

#include <string_view>

namespace memsnap {

// What stands before the parts of an incident and behind them.
struct PageTemplate {
    std::string_view head, tail;
};

PageTemplate page_template();

}  // namespace memsnap
