// SPDX-License-Identifier: Apache-2.0
//
// The report's sentences about a verdict, in GiB or in a unit
// that tells. The rule: they restate the inequalities of the
// explanations; none adds a fact.
#pragma once

#include <string>
#include <string_view>

#include "analysis.h"
#include "report_text.h"

namespace memsnap {

// "live-set" for live_set.
std::string_view spoken(Hypothesis hypothesis);

// What the points that growth was measured between end: a step, or with a module's calls "call".
std::string_view step_word(const Incident& incident);

// What was asked for, and what PyTorch asked the device for where that is more.
std::string asked_sentence(const Incident& incident);

std::string cause_sentence(const Incident& incident, const ReportSymbols& symbols);
std::string finding_sentence(const Incident& incident, Hypothesis one, const ReportSymbols& symbols);
// What a live-set verdict could not rule out; empty when nothing.
std::string unexcluded_sentence(const Incident& incident, const ReportSymbols& symbols);

// Why the deficit is what it is; empty where there was room.
std::string deficit_sentence(const Incident& incident, const ReportSymbols& symbols);

// M and tau, spelt out.
std::string margin_sentence(const Incident& incident, const ReportSymbols& symbols);

}  // namespace memsnap
