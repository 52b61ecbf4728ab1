// SPDX-License-Identifier: Apache-2.0
//
// Drops lines, halves first, and with what a line makes everything that is said of it; then makes numbers
// smaller.
#include "shrink.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <set>
#include <string_view>

namespace memsnap::differential {

namespace {

std::vector<std::string> words_of(const std::string& line) {
    std::vector<std::string> words;
    for (size_t at = 0; at < line.size();) {
        const size_t end = std::min(line.find(' ', at), line.size());
        if (end > at) words.push_back(line.substr(at, end - at));
        at = end + 1;
    }
    return words;
}

// The name that a line gives to something; empty: none.
std::string made_by(const std::vector<std::string>& words) {
    const std::set<std::string_view> kMakers = {"segment", "alloc",   "create",         "map",
                                                "call",    "initial", "initial_segment"};
    return words.size() > 1 && kMakers.contains(words[0]) ? words[1] : "";
}

Lines without(const Lines& lines, size_t begin, size_t end) {
    Lines left;
    std::set<std::string> gone;
    for (size_t i = 0; i < lines.size(); ++i) {
        const std::vector<std::string> words = words_of(lines[i]);
        const bool speaks_of_gone =
            std::ranges::any_of(words, [&](const std::string& word) { return gone.contains(word); });
        if ((i >= begin && i < end) || speaks_of_gone) {
            if (const std::string name = made_by(words); !name.empty()) gone.insert(name);
            continue;
        }
        left.push_back(lines[i]);
    }
    return left;
}

bool drop_lines(Lines& lines, const std::function<bool(const Lines&)>& fails) {
    bool dropped = false;
    for (size_t chunk = lines.size() / 2; chunk > 0; chunk /= 2) {
        for (size_t at = 1; at < lines.size();) {
            Lines fewer = without(lines, at, std::min(at + chunk, lines.size()));
            if (fewer.size() < lines.size() && fails(fewer)) {
                lines = std::move(fewer);
                dropped = true;
            } else {
                at += chunk;
            }
        }
    }
    return dropped;
}

// Where a number may begin: behind a space or an equals sign.
std::vector<std::pair<size_t, size_t>> numbers_of(const std::string& line) {
    std::vector<std::pair<size_t, size_t>> found;
    for (size_t at = 1; at < line.size(); ++at) {
        const bool begins =
            (line[at - 1] == ' ' || line[at - 1] == '=') && line[at] >= '1' && line[at] <= '9';
        if (!begins) continue;
        size_t end = at;
        while (end < line.size() && line[end] >= '0' && line[end] <= '9')
            ++end;
        if (end == line.size() || line[end] == ' ') found.emplace_back(at, end);
        at = end;
    }
    return found;
}

bool smaller_numbers(Lines& lines, const std::function<bool(const Lines&)>& fails) {
    bool changed = false;
    for (size_t i = 1; i < lines.size(); ++i) {
        for (size_t n = 0; n < numbers_of(lines[i]).size(); ++n) {
            const auto [begin, end] = numbers_of(lines[i])[n];
            uint64_t value = 0;
            std::from_chars(lines[i].data() + begin, lines[i].data() + end, value);
            constexpr uint64_t kRound = uint64_t{1} << 20;
            for (const uint64_t smaller : {uint64_t{0}, uint64_t{1}, value / 2, value / kRound * kRound}) {
                if (smaller >= value) continue;
                Lines tried = lines;
                tried[i].replace(begin, end - begin, std::to_string(smaller));
                if (!fails(tried)) continue;
                lines = std::move(tried);
                changed = true;
                break;
            }
        }
    }
    return changed;
}

}  // namespace

Lines shrink(Lines lines, const std::function<bool(const Lines&)>& fails) {
    while (drop_lines(lines, fails)) {
    }
    for (int round = 0; round < 3 && smaller_numbers(lines, fails); ++round) {
    }
    while (drop_lines(lines, fails)) {
    }
    return lines;
}

}  // namespace memsnap::differential
