// SPDX-License-Identifier: Apache-2.0
//
// The options of the command line, for the manual page and shell completion. Rule: read off the parser
// itself.
#pragma once

#include <CLI/CLI.hpp>

#include "json.h"

namespace oracle {

// {name, description, footer, options: [{names, positional, type, help, default, required, repeatable}],
// commands: []}
Json command_table(const CLI::App& app);

}  // namespace oracle
