// SPDX-License-Identifier: Apache-2.0
//
// What the traces reached. The rule: counted from the document that both programs agree on, never from what
// an aim meant to reach; only what no document shows (in how many runs a beat was born, how old an
// observation was) is taken from the aim, and then counted only where its effect shows.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace memsnap::differential {

class Document;

// What is known of one trace.
struct Covered {
    std::string_view aim;
    int side = 0;
    int exit_status = 0;
    std::string rule;      // of an error
    std::string document;  // empty: an error
};

class Coverage {
  public:
    void take(const Covered& trace);
    void fail(const std::string& path);
    uint64_t failures() const { return of("differences"); }
    // Lines that another process's coverage wrote are added up.
    void merge(const std::string& lines);
    std::string lines() const;

    std::string table() const;
    // What is below its least count: one line each.
    std::vector<std::string> missing() const;

  private:
    void count_told(const Document& document);
    void count(const std::string& what) { ++counts_[what]; }
    uint64_t of(const std::string& what) const;

    std::map<std::string, uint64_t> counts_;
};

}  // namespace memsnap::differential
