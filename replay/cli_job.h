// SPDX-License-Identifier: Apache-2.0
//
// Folders and several recordings: which job is meant, and what is written of it. The rule: the newest job
// unless another is chosen, and the others are said; recordings named one by one are taken as one job.
#pragma once

#include <string>
#include <vector>

#include "cli_options.h"
#include "report.h"
#include "result.h"

namespace memsnap {

// Whether the command line names a job and not one recording.
bool names_job(const std::vector<std::string>& sources);

// The exit status. Errors: usage, io; those of the first recording where none can be read.
Result<int> run_job(const Options& options, const ReportStyle& style);

// Compares a job's receipt with the recordings; prints one line. Errors: as check_job_file.
Result<int> check_job(const Options& options);

}  // namespace memsnap
