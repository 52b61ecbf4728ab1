// SPDX-License-Identifier: Apache-2.0
// The command line of scripts/with_simcuda. Rule: options win over SIMCUDA_* variables, variables over
// defaults; what does not parse is an error with a reason.
#pragma once

#include <string>
#include <vector>

#include "session_settings.h"

namespace simcuda {

struct LauncherOptions {
    SessionSettings settings;
    bool names_settings = false;  // an option (not a variable) said something about the session
    std::vector<char*> command;
};

Parsed<LauncherOptions> parse_launcher_options(int count, char** arguments);

}  // namespace simcuda
