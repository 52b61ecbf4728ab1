// SPDX-License-Identifier: Apache-2.0
//
// Writes what was asked for of one recording. The rule: each result is tried, whatever became of the others;
// the first error decides the exit status.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "analysis.h"
#include "cli_options.h"
#include "output_file.h"
#include "recording.h"
#include "report.h"

namespace memsnap {

int report_error(const Error& error);

// Whether the names of results can be had, before the first is written.
Result<void> can_write_all(const std::vector<std::string>& paths, bool force, const Inputs& inputs);

// A result: where it goes (empty: it was not asked for), and what writes it.
using Writer = std::pair<std::string, std::function<Result<void>()>>;
// The exit status; 0: all were written.
int write_each(const std::vector<Writer>& results);

// What an import was made of comes first; the user may have named it too.
References references_of(const Recording& recording, const Options& options);

// The exit status; the report goes to standard output when no result does.
int write_results(const Recording& recording, const Options& options, const ReportStyle& style);

}  // namespace memsnap
