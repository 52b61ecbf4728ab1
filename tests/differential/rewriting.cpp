// SPDX-License-Identifier: Apache-2.0
//
// Words of lines, and what is done to them.
#include "rewriting.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>
#include <set>
#include <string_view>

#include "event_lines.h"

namespace memsnap::differential {

namespace {

constexpr unsigned kRegionShift = 40;  // a trace's addresses lie in regions of a TiB, an idea each

uint64_t parsed(std::string_view digits, int base) {
    uint64_t value = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
    return value;
}

bool all_digits(std::string_view word) {
    return !word.empty() && std::ranges::all_of(word, [](char c) { return c >= '0' && c <= '9'; });
}

// Calls f(verb, key or "", value) for each word behind the verb; what it returns takes the value's place.
std::string rewrite(const std::string& line,
                    const std::function<std::string(std::string_view, std::string_view, std::string)>& f) {
    const size_t verb_end = std::min(line.find(' '), line.size());
    const std::string verb = line.substr(0, verb_end);
    std::string out = verb;
    for (size_t at = verb_end; at < line.size();) {
        const size_t begin = at + 1;
        const size_t end = std::min(line.find(' ', begin), line.size());
        const std::string word = line.substr(begin, end - begin);
        const size_t equals = word.find('=');
        const std::string key = equals == std::string::npos ? "" : word.substr(0, equals);
        const std::string value = equals == std::string::npos ? word : word.substr(equals + 1);
        out += ' ' + (key.empty() ? "" : key + '=') + f(verb, key, value);
        at = end;
    }
    return out;
}

bool is_address(std::string_view value) {
    return value.starts_with("0x");
}

uint64_t address(std::string_view value) {
    return parsed(value.substr(2), 16);
}

Lines names_after(const Lines& lines, std::string_view verb) {
    Lines names;
    for (const std::string& line : lines) {
        if (!line.starts_with(verb)) continue;
        const size_t begin = verb.size() + 1;
        names.push_back(line.substr(begin, line.find(' ', begin) - begin));
    }
    return names;
}

}  // namespace

Lines live_blocks(const Lines& lines) {
    Lines blocks = names_after(lines, "alloc");
    const Lines freed = names_after(lines, "free");
    std::erase_if(blocks,
                  [&](const std::string& name) { return std::ranges::find(freed, name) != freed.end(); });
    return blocks;
}

size_t first_of(const Lines& lines, const std::vector<std::string_view>& verbs) {
    const auto found = std::ranges::find_if(lines, [&](const std::string& line) {
        const std::string_view verb = std::string_view(line).substr(0, line.find(' '));
        return std::ranges::find(verbs, verb) != verbs.end();
    });
    return static_cast<size_t>(found - lines.begin());
}

Lines rename_everything(const Lines& lines, Random& random) {
    constexpr std::array<unsigned, 4> kThreads = {0, 7, 3, 12};  // for 1, 2, 3; a line without one means 1
    const uint64_t shift = random.between(1, 5000) * 2 * kMiB;
    Lines renamed = {lines.front()};
    bool begun = false;
    for (size_t i = 1; i < lines.size(); ++i) {
        if (!begun && !lines[i].starts_with("header")) {
            renamed.push_back(fmt::format("thread {}", kThreads[1]));
            begun = true;
        }
        renamed.push_back(
            rewrite(lines[i], [&](std::string_view verb, std::string_view key, std::string value) {
                // Each region moves by a distance of its own.
                if (is_address(value))
                    return fmt::format("{:#x}", address(value) + shift * (address(value) >> kRegionShift));
                const bool library = key == "library" || (verb == "library_entry" && key.empty());
                if (library && value != "0") return std::to_string(2 * parsed(value, 10) + 1);
                if (key == "thread") return std::to_string(kThreads.at(parsed(value, 10)));
                return value;
            }));
    }
    return renamed;
}

Lines scale_bytes(const Lines& lines, unsigned shift) {
    const std::set<std::string_view> kSized = {"segment", "alloc",   "call", "fail",
                                               "oom",     "tap_oom", "cap",  "create"};
    const std::set<std::string_view> kKeys = {"total", "free", "own", "others", "requested", "size"};
    Lines scaled;
    for (const std::string& line : lines) {
        scaled.push_back(rewrite(line, [&](std::string_view verb, std::string_view key, std::string value) {
            if (is_address(value)) {
                const uint64_t region = address(value) >> kRegionShift << kRegionShift;
                return fmt::format("{:#x}", region + ((address(value) - region) << shift));
            }
            const bool bytes = key.empty() ? kSized.contains(verb) && all_digits(value)
                                           : kKeys.contains(key) && all_digits(value);
            return bytes ? std::to_string(parsed(value, 10) << shift) : value;
        }));
    }
    return scaled;
}

Lines spread_device(const Lines& lines, int device, size_t end, Random& random) {
    const std::string mark = fmt::format(" device={}", device);
    const size_t begin = first_of(lines, {"segment", "create", "alloc", "mem_info"});
    Lines moved;
    Lines stay;
    for (size_t i = begin; i < end; ++i)
        (lines[i].contains(mark) ? moved : stay).push_back(lines[i]);
    Lines spread(lines.begin(), lines.begin() + static_cast<ptrdiff_t>(begin));
    for (size_t m = 0, s = 0; m < moved.size() || s < stay.size();) {
        const bool take_moved = s == stay.size() || (m < moved.size() && random.one_in(3));
        spread.push_back(take_moved ? moved[m++] : stay[s++]);
    }
    spread.insert(spread.end(), lines.begin() + static_cast<ptrdiff_t>(end), lines.end());
    return spread;
}

Lines insert_balanced_pair(const Lines& lines, size_t at, int device, uint64_t bytes, unsigned number) {
    const uint64_t place = (uint64_t{0x7d} << kRegionShift) + number * 2 * kGiB;
    Lines longer(lines.begin(), lines.begin() + static_cast<ptrdiff_t>(at));
    longer.push_back(fmt::format("segment zs{} {} at={:#x} device={}", number, bytes, place, device));
    longer.push_back(fmt::format("alloc zb{} {:#x} {} site=999 device={}", number, place, bytes, device));
    longer.push_back(fmt::format("free zb{} device={}", number, device));
    longer.push_back(fmt::format("free zs{} device={}", number, device));
    longer.insert(longer.end(), lines.begin() + static_cast<ptrdiff_t>(at), lines.end());
    return longer;
}

Lines with_request(const Lines& lines, int64_t more_bytes) {
    Lines changed;
    for (const std::string& line : lines) {
        changed.push_back(rewrite(line, [&](std::string_view verb, std::string_view key, std::string value) {
            const bool request = (verb == "oom" || verb == "tap_oom") && key.empty() && all_digits(value);
            return request ? std::to_string(parsed(value, 10) + static_cast<uint64_t>(more_bytes)) : value;
        }));
    }
    return changed;
}

}  // namespace memsnap::differential
