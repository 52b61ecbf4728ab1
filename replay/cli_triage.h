// SPDX-License-Identifier: Apache-2.0
//
// The `triage` subcommand. The rule: the log is read in pieces; it may be a pipe, and of any length.
#pragma once

#include <string>

#include "report.h"
#include "result.h"

namespace memsnap {

struct TriageOptions {
    std::string log;  // empty or `-`: standard input
    std::string json_path;
    bool force = false;
};

// The exit status. Errors: io.
Result<int> run_triage(const TriageOptions& options, const ReportStyle& style);

}  // namespace memsnap
