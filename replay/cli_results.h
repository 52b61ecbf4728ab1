// SPDX-License-Identifier: Apache-2.0
//
// Writes what was asked for of one recording. The rule: each result is tried, whatever became of the others;
// the first error decides the exit status.
#pragma once

#include "analysis.h"
#include "cli_options.h"
#include "recording.h"
#include "report.h"

namespace memsnap {

int report_error(const Error& error);

// What an import was made of comes first; the user may have named it too.
References references_of(const Recording& recording, const Options& options);

// The exit status; the report goes to standard output when no result does.
int write_results(const Recording& recording, const Options& options, const ReportStyle& style);

}  // namespace memsnap
