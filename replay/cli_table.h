// SPDX-License-Identifier: Apache-2.0
//
// The command line as a table, for manual pages and shell completion. The rule: it is read off the parser
// itself, so nothing that can be typed is missing from it.
#pragma once

#include <CLI/CLI.hpp>

#include "json.h"

namespace memsnap {

// {name, description, footer, options: [{names, positional, type, help, default, required, repeatable}],
// commands: [the same again]}; what is hidden from the help is not in it.
Json command_table(const CLI::App& app);

}  // namespace memsnap
