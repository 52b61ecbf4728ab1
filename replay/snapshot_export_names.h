// SPDX-License-Identifier: Apache-2.0
//
// The texts of an exported snapshot or trace: frames of sites, names of ranges. The rule: tokens unless names
// were asked for; a text that is such a token already, as that of an export read in again, stays as it is.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "../snapshot/write_snapshot.h"
#include "capture.h"
#include "receipt_dictionary.h"

namespace memsnap {

// Whether a text says nothing of the job: a token, a phase word of the receipts, or `step` and a number.
bool is_exported_text(std::string_view text);

class ExportNames {
  public:
    ExportNames(const Capture& capture, const Naming& naming) : capture_(capture), naming_(naming) {}

    // Innermost first; of a site of unknown frames its token alone.
    std::vector<snapshot::NamedFrame> frames(uint64_t site) const;
    // Of a range or a mark, by the local id of its text.
    const std::string& of_range(uint32_t name);
    bool are_readable() const { return naming_.with_names; }

  private:
    std::string range_text(uint32_t name) const;

    const Capture& capture_;
    const Naming& naming_;
    std::unordered_map<uint32_t, std::string> ranges_;
};

}  // namespace memsnap
