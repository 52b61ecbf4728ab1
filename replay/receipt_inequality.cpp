// SPDX-License-Identifier: Apache-2.0
//
// A descent over words: clauses joined by `and`, sides around a relation, terms of a name and a number.
#include "receipt_inequality.h"

#include <algorithm>
#include <iterator>
#include <string>

namespace memsnap {
namespace {

class Parser {
  public:
    Parser(std::string_view text, const TermValue& value_of) : rest_(text), value_of_(value_of) {}

    bool holds() {
        for (;;) {
            const auto left = side();
            const std::string_view relation = next();
            const auto right = side();
            if (!left || !right || !relates(*left, relation, *right)) return false;
            if (rest_.empty()) return !dangling_;
            if (next() != "and") return false;
        }
    }

  private:
    // One space between words, none at the end.
    std::string_view next() {
        const size_t end = std::min(rest_.find(' '), rest_.size());
        const std::string_view word = rest_.substr(0, end);
        dangling_ = end + 1 == rest_.size();
        rest_.remove_prefix(std::min(end + 1, rest_.size()));
        return word;
    }

    bool follows(std::string_view word) const {
        return rest_.starts_with(word) && rest_.substr(word.size()).starts_with(' ');
    }

    std::optional<Wide> term() {
        const std::string_view name = next();
        if (std::ranges::find(kTermNames, name) == std::end(kTermNames)) return std::nullopt;
        const auto value = value_of_(name);
        return value && next() == to_decimal(*value) ? value : std::nullopt;
    }

    std::optional<Wide> side() {
        std::optional<Wide> sum = term();
        bool several = false;
        while (sum && (follows("+") || follows("-"))) {
            const bool subtracted = next() == "-";
            const auto more = term();
            if (!more) return std::nullopt;
            sum = subtracted ? *sum - *more : *sum + *more;
            several = true;
        }
        if (sum && several && (next() != "=" || next() != to_decimal(*sum))) return std::nullopt;
        return sum;
    }

    static bool relates(Wide left, std::string_view relation, Wide right) {
        if (relation == ">=") return left >= right;
        if (relation == "<") return left < right;
        if (relation == ">") return left > right;
        return relation == "<=" && left <= right;
    }

    std::string_view rest_;
    const TermValue& value_of_;
    bool dangling_ = false;
};

}  // namespace

bool is_inequality(std::string_view text, const TermValue& value_of) {
    return Parser(text, value_of).holds();
}

}  // namespace memsnap
