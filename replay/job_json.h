// SPDX-License-Identifier: Apache-2.0
//
// The job's receipt (docs/job.md): who failed first, who followed, how the ledgers differ, and the digest of
// each process's own receipt. The rule: canonical, integers and words of closed lists; processes and hosts
// are ordinals; what was written is parsed again and checked before anybody sees it.
#pragma once

#include <string>
#include <string_view>

#include "job.h"
#include "receipt_shape.h"
#include "result.h"

namespace memsnap {

inline constexpr std::string_view kJobSchema = "memsnap.job.v1";

// The checked canonical text. Error io: the self-check refused it, which is a defect of this program.
Result<std::string> write_job_receipt(const Job& job);

// Empty when a text is a job's receipt and nothing but that, else the place and what is wrong there.
std::string check_job_receipt(std::string_view text);

const ReceiptShape& job_shape();

}  // namespace memsnap
