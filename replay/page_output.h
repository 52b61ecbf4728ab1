// SPDX-License-Identifier: Apache-2.0
//
// Writes the page of an incident, or of two. The rule: made of what the other results are made of, and taken
// apart and compared before it is handed out.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analysis.h"
#include "capture.h"
#include "output_file.h"
#include "page_check.h"
#include "page_events.h"
#include "page_part.h"
#include "receipt_dictionary.h"
#include "result.h"

namespace memsnap {

struct PageIncident {
    const Capture& capture;
    const Analysis& analysis;
    const Naming& naming;  // `with_names`: the texts, too
    std::string receipt;   // of the same command, without names
    std::string_view memsnap_version;
    std::vector<std::string> command;
    uint64_t events_most = kPageEvents_most;
};

class Page {
  public:
    // Errors: corrupt, as replay() finds it; io, where the keyframe cannot be read.
    Result<void> add(const PageIncident& incident, PageSide side);
    // A side of which no recording is at hand.
    void add_receipt(const std::string& receipt, PageSide side);
    // As `diff --json` writes it.
    void add_comparison(const std::string& json);

    // Error io also where the check refused the page, which is a defect of this program.
    Result<void> write(const std::string& path, bool replace, const Inputs& inputs) const;

  private:
    void add_text(std::string_view name, PageSide side, std::string text);
    void add_table(std::string_view name, PageSide side, const MadeTable& table);

    std::string parts_;
    std::vector<MeantPart> meant_;
    bool with_names_ = false;   // they were not hidden
    bool tells_names_ = false;  // and there are some
};

}  // namespace memsnap
