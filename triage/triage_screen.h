// SPDX-License-Identifier: Apache-2.0
//
// The triage of a log for a terminal. The rule: what is said of a verdict is what the report of a recording
// says; a message is quoted, made harmless, and nothing else of the log is.
#pragma once

#include <string>

#include "report.h"
#include "triage.h"

namespace memsnap {

// `log_name`: as the user named it; empty: standard input.
std::string render_triage(const Triage& triage, const std::string& log_name, const ReportStyle& style);

}  // namespace memsnap
