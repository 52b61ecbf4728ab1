// SPDX-License-Identifier: Apache-2.0
//
// Settings and observations. The rule: what PyTorch writes for "unset" (-1, 0.0, divisions of 0 or 1) is
// absent here.
#include "read_rest.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

namespace memsnap::snapshot {

namespace {

constexpr int64_t kOwnVersion = 1;
constexpr size_t kObservationsMost = 1'000'000;
constexpr size_t kObservationValuesMost = 32;

Problem wrong(std::string path, const Value& value, const char* wanted) {
    return {std::move(path), fmt::format("is {}, not {}", noun_of(value), wanted), std::nullopt};
}

std::optional<Problem> read_roundup(const Value& value, const Texts& texts, Settings& settings) {
    // Older releases: one number for all sizes.
    if (as_size(value)) {
        if (value.wide > 1) settings.roundup_power2_divisions.emplace_back(0, value.wide);
        return {};
    }
    if (value.kind != Kind::dict) return wrong("roundup_power2_divisions", value, "a dictionary");
    const auto pairs = value.items();
    for (size_t at = 0; at + 1 < pairs.size(); at += 2) {
        uint64_t bound = 0;
        const std::string_view text = pairs[at].kind == Kind::text ? texts.text(pairs[at].low) : "";
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), bound);
        if (text.empty() || error != std::errc() || end != text.data() + text.size())
            return wrong("roundup_power2_divisions", pairs[at], "a number of MiB as a text");
        if (!as_size(pairs[at + 1]))
            return wrong(fmt::format("roundup_power2_divisions[{}]", bound), pairs[at + 1], "a number");
        if (pairs[at + 1].wide > 1) settings.roundup_power2_divisions.emplace_back(bound, pairs[at + 1].wide);
    }
    return {};
}

}  // namespace

std::optional<Value> member_of(const Value& dict, Word word) {
    if (dict.kind != Kind::dict) return std::nullopt;
    const auto pairs = dict.items();
    for (size_t at = pairs.size(); at >= 2; at -= 2)
        if (word_of(pairs[at - 2]) == word) return pairs[at - 1];
    return std::nullopt;
}

std::optional<Problem> read_settings(const Value& value, Snapshot& out) {
    if (value.kind == Kind::none) return {};
    if (value.kind != Kind::dict) return wrong("", value, "a dictionary");
    Settings& settings = out.settings;
    settings.known = !value.items().empty();
    if (const auto expandable = member_of(value, Word::expandable_segments)) {
        if (expandable->kind != Kind::boolean)
            return wrong("expandable_segments", *expandable, "a truth value");
        settings.expandable_segments = expandable->truth();
    }
    if (const auto split = member_of(value, Word::max_split_size)) {
        // The largest size is written as -1 by some releases and as 2^64 - 1 by others.
        if (split->kind != Kind::integer && split->kind != Kind::large)
            return wrong("max_split_size", *split, "a number of bytes");
        if (as_size(*split)) settings.max_split_size_bytes = split->wide;
    }
    if (const auto threshold = member_of(value, Word::garbage_collection_threshold)) {
        const double share = threshold->kind == Kind::real ? threshold->as_real()
                             : as_size(*threshold)         ? static_cast<double>(threshold->wide)
                                                           : -1.0;
        if (!(share >= 0.0 && share <= 1.0))
            return wrong("garbage_collection_threshold", *threshold, "a share");
        if (share > 0.0) settings.gc_threshold_permille = static_cast<uint32_t>(std::lround(share * 1000));
    }
    if (const auto roundup = member_of(value, Word::roundup_power2_divisions))
        return read_roundup(*roundup, out.texts, settings);
    return {};
}

std::optional<Problem> read_own_member(const Value& value, Snapshot& out) {
    if (value.kind == Kind::none) return {};
    const auto version = member_of(value, Word::version);
    if (!version || version->kind != Kind::integer || version->as_integer() != kOwnVersion) {
        out.ignored.emplace_back("memsnap");
        return {};
    }
    if (const auto tap = member_of(value, Word::tap)) {
        if (tap->kind != Kind::boolean) return wrong("tap", *tap, "a truth value");
        out.tap = tap->truth();
    }
    const auto list = member_of(value, Word::observations);
    if (!list) return {};
    if (list->kind != Kind::list || list->items().size() > kObservationsMost)
        return wrong("observations", *list, "a list of observations");
    for (size_t at = 0; at < list->items().size(); ++at) {
        const Value one = list->items()[at];
        if (one.kind != Kind::dict || one.items().size() > kObservationValuesMost)
            return wrong(fmt::format("observations[{}]", at), one, "an observation");
        const auto number = [&](Word word) { return member_of(one, word).value_or(Value{}); };
        for (const Word word : {Word::device, Word::before_entry, Word::total_bytes, Word::free_bytes})
            if (!as_size(number(word)) || (word == Word::device && number(word).wide > INT16_MAX))
                return wrong(fmt::format("observations[{}].{}", at, text_of(word)), number(word), "a number");
        out.observations.push_back({static_cast<int>(number(Word::device).wide),
                                    number(Word::before_entry).wide, number(Word::total_bytes).wide,
                                    number(Word::free_bytes).wide});
    }
    return {};
}

}  // namespace memsnap::snapshot
