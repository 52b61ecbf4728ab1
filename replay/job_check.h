// SPDX-License-Identifier: Apache-2.0
//
// `memsnap-replay check --receipt` of a job's receipt: does it follow from the recordings. The rule:
// everything is recomputed and every field compared; nothing is believed but how far the clocks of two hosts
// were taken to be apart, and whether a process without an exit ran, was gone, or was out of sight.
#pragma once

#include <string>

#include "job.h"
#include "result.h"

namespace memsnap {

// Whether a file is a job's receipt by its own words.
bool is_job_receipt_file(const std::string& path);

// What the receipt says of the clocks. Errors: not_memsnap for what is no job's receipt.
Result<JobClocks> stated_clocks(const std::string& path);

// One line that says so. `job` was read with the digests of receipts. Errors: disagreed, with the first field
// that differs.
Result<std::string> check_job_file(const Job& job, const std::string& path);

}  // namespace memsnap
