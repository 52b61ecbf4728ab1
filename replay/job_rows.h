// SPDX-License-Identifier: Apache-2.0
//
// The table of ranks. The rule: a row a process; where there are many, those that a reader looks for have
// their own rows, and the others are folded by what became of them, with the medians of their ledgers.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "job.h"
#include "report_text.h"

namespace memsnap {

std::vector<std::string> job_rows(const Job& job, const ReportSymbols& symbols);

// "rank 3", or "process 2" of a job that knows no ranks.
std::string rank_text(const Job& job, size_t process);
// "ranks 0-2, 7": by number, cut to the columns.
std::string ranks_text(const Job& job, const std::vector<size_t>& processes, size_t columns_most);

// "+1.20 s", "-350 ms"; a dash where either is not known.
std::string apart_text(std::optional<uint64_t> time_ns, std::optional<uint64_t> base_ns);

// "live-set" for the hypothesis, or the answer, of a process that ran out of memory.
std::string_view cause_word(const JobProcess& process);

}  // namespace memsnap
