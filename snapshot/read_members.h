// SPDX-License-Identifier: Apache-2.0
//
// Members of one dictionary, and their values as what they must be. The rule: the first value that is not
// what it must be is a problem with its path; what is missing and may be is absent.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "read_words.h"

namespace memsnap::snapshot {

// Why a part of the file cannot be what it stands for.
struct Problem {
    std::string path;  // from the part on, such as `frames[2].line`; empty: the part itself
    std::string detail;
    std::optional<uint64_t> offset_bytes;  // of the opcode that filled the part
};

// What a value is, for a message: `a text`, `a number with a fraction`.
const char* noun_of(const Value& value);
// Integers below 2^63 that are not negative.
std::optional<uint64_t> as_size(const Value& value);
// Addresses and streams: older releases wrote those from 2^63 on as negative numbers.
std::optional<uint64_t> as_address(const Value& value);
std::optional<uint16_t> as_pool(const Value& value);

class Members {
  public:
    // Of the members that `read_words.h` knows; the last one of a name counts, as in Python.
    void take(std::span<const Value> pairs);

    bool has(Word word) const { return present_ >> static_cast<unsigned>(word) & 1; }
    uint64_t present() const { return present_; }
    // kind none when it is missing.
    Value at(Word word) const { return has(word) ? values_[static_cast<size_t>(word)] : Value{}; }

    uint64_t size(Word word);
    std::optional<uint64_t> optional_size(Word word);
    uint64_t address(Word word);
    std::optional<uint64_t> optional_address(Word word);
    uint16_t pool(Word word);  // missing: kPoolUnknown
    bool truth(Word word);     // missing: false
    int device();              // -1: host memory
    std::optional<int64_t> time(Word word);
    TextId text(Word word);  // missing or None: 0
    uint32_t line();         // missing, None or negative: 0

    void wrong(Word word, const char* wanted);
    void wrong_within(Problem problem) {
        if (!problem_) problem_ = std::move(problem);
    }
    const std::optional<Problem>& problem() const { return problem_; }

  private:
    std::array<Value, kMembersEnd> values_;
    uint64_t present_ = 0;
    std::optional<Problem> problem_;
};

constexpr uint64_t mask_of(std::initializer_list<Word> words) {
    uint64_t mask = 0;
    for (const Word word : words)
        mask |= uint64_t{1} << static_cast<unsigned>(word);
    return mask;
}

}  // namespace memsnap::snapshot
