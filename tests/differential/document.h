// SPDX-License-Identifier: Apache-2.0
//
// A receipt as numbers and words by path. The rule: `null` and a missing field are told apart from 0.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "measure.h"

namespace memsnap::differential {

using Integer = Wide;

class Document {
  public:
    explicit Document(std::string_view text);
    ~Document();
    Document(const Document&) = delete;
    Document& operator=(const Document&) = delete;

    bool valid() const;
    std::optional<Integer> number(std::string_view path) const;
    std::optional<std::string> word(std::string_view path) const;
    bool truth(std::string_view path) const;
    std::vector<std::string> words(std::string_view path) const;
    bool is_null(std::string_view path) const;  // or missing
    size_t size(std::string_view path) const;

    // The member of a document, as its canonical text.
    std::string text(std::string_view path) const;

  private:
    struct Parsed;
    std::unique_ptr<Parsed> parsed_;
    friend std::string first_difference(const Document&, const Document&,
                                        const std::vector<std::string_view>&);
};

// The first path in which two documents differ below one of these members, with both values; empty: none.
std::string first_difference(const Document& left, const Document& right,
                             const std::vector<std::string_view>& members);

}  // namespace memsnap::differential
