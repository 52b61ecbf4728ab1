// SPDX-License-Identifier: Apache-2.0
//
// The recordings of a job, by folder or by name (VERDICT.md §17). Rule: only heads are read here; what
// cannot be looked into is counted and ends nothing.
#pragma once

#include <string>
#include <vector>

#include "job.h"

namespace oracle {

/// Several sources, or a folder.
bool names_job(const std::vector<std::string>& sources);

/// `wish`: of the jobs in a folder this one, by its number or key; empty: the newest. Errors: usage, and
/// that of the first unread file where there is no recording.
Expected<JobFiles> find_job(const std::vector<std::string>& sources, const std::string& wish);

}  // namespace oracle
