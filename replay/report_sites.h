// SPDX-License-Identifier: Apache-2.0
//
// Where memory was allocated: live bytes by birth site, what earlier steps left behind, what was asked for
// last, what the garbage collector freed. The rule: a site is where a block was allocated, never who holds
// it; without names it is a token.
#pragma once

#include <string>
#include <vector>

#include "analysis.h"
#include "capture.h"
#include "receipt_dictionary.h"
#include "report.h"

namespace memsnap {

inline constexpr size_t kSentenceLabelColumns = 56;
inline constexpr size_t kDetailsShown_count = 3;

template <class Sites>
std::vector<SiteKey> keys_of(const Sites& sites) {
    std::vector<SiteKey> keys;
    for (const auto& site : sites)
        keys.push_back(site.key);
    return keys;
}

class SiteReport {
  public:
    // `naming` is what tokens are made by.
    SiteReport(const Capture& capture, const Analysis& analysis, SiteNames& names, const ReportStyle& style,
               const Naming& naming);

    // So many sites less in each list, of which one stays.
    void leave_out(size_t count) { left_out_count_ = count; }

    // Each is a block of lines, empty where there is nothing to tell.
    std::vector<std::string> failing_place() const;
    // In one line: the site, and the phase behind it; empty: neither is known.
    std::string place(size_t columns_most) const;
    std::vector<std::string> live_at_failure() const;
    std::vector<std::string> live_at_peak(int device) const;
    std::vector<std::string> survivors() const;
    std::vector<std::string> growth() const;
    std::vector<std::string> recent() const;
    std::vector<std::string> collections() const;
    std::vector<std::string> dimensions() const;
    // What sites could not be told of, and why.
    std::vector<std::string> blind() const;

  private:
    // Of one list.
    std::vector<std::string> labels(const std::vector<SiteKey>& keys, size_t columns_most) const;
    std::string name_text(const std::string& name, size_t columns_most) const;
    std::string phase_label(uint16_t folded_name) const;
    std::vector<std::string> born_in(const SiteShare& share) const;
    std::vector<std::string> table(std::string title, const std::vector<SiteShare>& sites,
                                   uint64_t site_count, Wide bytes, uint64_t block_count) const;
    std::vector<std::string> forward_sites() const;
    std::string kept_title(const std::vector<SiteKey>& keys, const std::vector<std::string>& names) const;
    size_t shown_count(size_t at_most, size_t there_are) const;

    const Capture& capture_;
    const Analysis& analysis_;
    SiteNames& names_;
    const ReportStyle& style_;
    const Naming& naming_;
    const Dictionary dictionary_;
    size_t left_out_count_ = 0;  // of each list
};

}  // namespace memsnap
