// SPDX-License-Identifier: Apache-2.0
//
// A comparison on one screen: the result, what differs between the two jobs, the numbers, the contract. The
// rule: at most 100 columns; what AFTER showed stands apart from what was only computed about BEFORE.
#pragma once

#include <string>

#include "diff.h"
#include "report.h"

namespace memsnap {

std::string render_diff(const Diff& diff, const ReportStyle& style);

}  // namespace memsnap
