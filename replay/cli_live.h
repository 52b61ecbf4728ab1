// SPDX-License-Identifier: Apache-2.0
//
// The `live` subcommand: recordings as they are now, for programs that watch them. The rule: one line a
// recording, whatever becomes of the others.
#pragma once

#include <CLI/App.hpp>
#include <string>
#include <vector>

#include "cli_names.h"
#include "live_json.h"

namespace memsnap {

struct LiveTaskOptions {
    std::vector<std::string> paths;  // files and folders; none: the working folder
    NameOptions names;
    LiveOptions live;
};

CLI::App* add_live(CLI::App& app, LiveTaskOptions& options);

// The exit status: 0, or of the first recording that could not be read. Errors: io and usage, about the key.
Result<int> run_live(const LiveTaskOptions& options);

}  // namespace memsnap
