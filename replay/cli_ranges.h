// SPDX-License-Identifier: Apache-2.0
//
// The `ranges` subcommand. The rule: like each other result, its JSON overwrites nothing unasked, and holds
// names only by `--with-names`.
#pragma once

#include <CLI/App.hpp>
#include <string>

#include "cli_names.h"
#include "shown_text.h"

namespace memsnap {

struct RangesOptions {
    std::string ring;
    std::string json_path;  // empty: the table
    bool force = false;
    NameOptions names;
};

CLI::App* add_ranges(CLI::App& app, RangesOptions& options);

// The exit status.
Result<int> run_ranges(const RangesOptions& options, Letters letters);

}  // namespace memsnap
