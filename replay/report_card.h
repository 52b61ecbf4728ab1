// SPDX-License-Identifier: Apache-2.0
//
// The split of a card: who holds it, in one column or two. The rule: each column adds up to the card as it is
// printed; what was not observed says so.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "balance.h"
#include "capture.h"
#include "reader_names.h"
#include "report.h"
#include "requests.h"
#include "shown_text.h"

namespace memsnap {

inline constexpr size_t kCardLabelColumns = 19;

struct CardView {
    const Balance& now;   // at the failure, or at the end
    const Balance& peak;  // shown where it looks different
    std::optional<uint64_t> request_bytes;
    uint64_t waiting_bytes = 0;  // of active, now
    std::optional<uint64_t> other_process_count;
};

// By its file name, else by its number.
std::string library_label(const Capture& capture, const Names& names, uint16_t library, Letters letters);

// Nothing where nobody told what is free; where the card's size alone is unknown, the last row says so.
std::vector<std::string> card_lines(const Capture& capture, const Names& names, const ReportStyle& style,
                                    const CardView& view);

// What stands beside the card, and what the recorder could not see; nothing where all is well.
std::vector<std::string> beside_lines(const Balance& balance);
std::vector<std::string> blind_lines(const Capture& capture, const ReplayOutcome& outcome,
                                     const Names& names);

// Who told the events, where it was not the recorder, and what a person stated.
std::vector<std::string_view> source_sentences(const HeaderFacts& header);
// What became of a recording that others arm and disarm; empty where nobody did.
std::vector<std::string_view> arming_sentences(const Capture& capture);

// What was requested of all live blocks; empty where that is not known.
std::string requested_line(const Requests& requests);

}  // namespace memsnap
