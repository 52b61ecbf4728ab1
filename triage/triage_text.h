// SPDX-License-Identifier: Apache-2.0
//
// A stretch of a log without what tools put between its letters: white space, line ends, line prefixes,
// colour, markup. The rule: a phrase is looked for letter by letter, so a wrapped line changes nothing; each
// letter keeps the place in the file that it came from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "measure.h"

namespace memsnap {

// What a line prefix says of who wrote the line.
struct LogLabel {
    std::optional<uint64_t> rank;
    std::optional<uint64_t> process_id;

    auto operator<=>(const LogLabel&) const = default;
    bool none() const { return !rank && !process_id; }
};

class TightText {
  public:
    static constexpr uint32_t kNoLabel = 0;

    // Letters of one line, by one writer.
    struct Run {
        size_t begin = 0;
        uint64_t line = 1;  // from 1
        uint32_t label = kNoLabel;
    };

    void begin_run(uint64_t line, const LogLabel& label);
    void add(char letter, uint64_t offset_bytes, bool spaced) {
        letters_.push_back(letter);
        marks_.push_back(offset_bytes << 1 | uint64_t{spaced});
    }
    // Letters that nobody looks at any more.
    void drop_front(size_t count);

    std::string_view letters() const { return letters_; }
    size_t size() const { return letters_.size(); }
    uint64_t offset_bytes(size_t at) const { return marks_[at] >> 1; }
    const std::vector<Run>& runs() const { return runs_; }
    size_t run_index(size_t at) const;
    size_t run_end(size_t run) const {
        return run + 1 < runs_.size() ? runs_[run + 1].begin : letters_.size();
    }
    const Run& run_of(size_t at) const { return runs_[run_index(at)]; }
    const LogLabel& label(uint32_t id) const { return labels_[id]; }

    // [begin, end) with one space where there was white space.
    std::string spaced(size_t begin, size_t end) const;

  private:
    uint32_t label_id(const LogLabel& label);

    std::string letters_;
    std::vector<uint64_t> marks_;  // offset in the file, and whether white space came before
    std::vector<Run> runs_;
    std::vector<LogLabel> labels_ = {{}};  // the first is none
    std::map<LogLabel, uint32_t> label_ids_ = {{{}, kNoLabel}};
};

// How far a cursor and its copies read. Where one met the end, more text may change what was read.
struct LogHorizon {
    size_t end = 0;
    bool met = false;
};

// Reads on from one letter, past lines of other writers: those of several ranks are interleaved.
class LogCursor {
  public:
    // Without a horizon up to the end of the text.
    LogCursor(const TightText& text, size_t at, LogHorizon* horizon = nullptr);

    // '\0': the end.
    char peek() const { return at_ < end_ ? text_->letters()[at_] : '\0'; }
    void next();
    // The words in lower case; the letters may be in either. Nothing is taken when it is not all there.
    bool take(std::string_view words);
    std::optional<uint64_t> integer();
    std::optional<int> device();  // its number
    // A size as it is printed: digits, decimals, unit. What rounds to it; unknown when it is the 2^64 bytes
    // that stand for "none". A size without a unit is none.
    std::optional<Measure> size();
    // The same of a table whose cells are cut off instead of rounded.
    std::optional<Measure> cell();
    size_t at() const { return at_; }

  private:
    struct Number;
    std::optional<Number> number();

    const TightText* text_;
    LogHorizon* horizon_;
    size_t at_;
    size_t end_;
    size_t run_;
    size_t run_end_;
    uint32_t label_;
};

// Whether the letters before `at` end with these words, in lower case.
bool stands_before(const TightText& text, size_t at, std::string_view words);

}  // namespace memsnap
