// SPDX-License-Identifier: Apache-2.0
//
// A job on one screen: who failed first and why, what became of each rank, how the ledgers differ. The rule:
// at most 50 lines of 100 columns (but for the command with a path) however many ranks there are; no number
// stands here that is not in the job's receipt; what is not known is a dash, never 0.
#pragma once

#include <string>

#include "job.h"
#include "report.h"

namespace memsnap {

struct JobLabel {
    std::string source;  // the folder, or how many files
    std::string job;     // its key; may be empty
    std::string choice;  // why this job, and what others there are; may be empty
};

std::string render_job(const Job& job, const JobLabel& label, const ReportStyle& style);

}  // namespace memsnap
