// SPDX-License-Identifier: Apache-2.0
//
// Counters by name, and what each must reach.
#include "coverage.h"

#include <fmt/format.h>

#include <sstream>

#include "document.h"
#include "inequalities.h"

namespace memsnap::differential {

namespace {

constexpr uint64_t kTracesNeeded = 10'000;
constexpr uint64_t kClassNeeded = 100;
constexpr uint64_t kQualifierNeeded = 20;
constexpr uint64_t kSideNeeded = 20;
constexpr uint64_t kRuleNeeded = 3;
constexpr uint64_t kListNeeded = 10;
constexpr uint64_t kToldNeeded = 20;

// What one damaged number of a lossless ring breaks, named alike by both programs.
constexpr std::string_view kRules[] = {"block_size",      "free_mismatch",    "free_unmatched",
                                       "link_order",      "record_check",     "table_birth",
                                       "table_duplicate", "totals_allocated", "totals_reserved"};

// Lists that only some jobs fill, and how many entries make a list; with two their order is compared too.
struct List {
    std::string_view path;
    size_t entries;
};
constexpr List kLists[] = {
    {"evidence.categories", 2},       {"evidence.collections.rows", 2}, {"evidence.dimension_effects", 2},
    {"evidence.growth.survivors", 1}, {"evidence.recent", 2},           {"evidence.site_growth.rows", 2},
    {"dictionary.phases", 2},         {"environment.dimensions", 2}};

// What a recording tells or does not.
constexpr std::string_view kTold[] = {"origin recorder",
                                      "origin torch_snapshot",
                                      "origin profiler_trace",
                                      "origin unknown",
                                      "total stated",
                                      "card unknown, decided",
                                      "card unknown, open",
                                      "card unknown, answered",
                                      "requests of every block",
                                      "requests by the failure",
                                      "requests of some blocks",
                                      "requests without a failure",
                                      "freed late without calls",
                                      "not freed late without calls"};

constexpr std::string_view kClasses[] = {"live_set", "retention", "fragmentation", "external"};
constexpr std::string_view kStatuses[] = {"primary", "contributing", "rejected", "undecidable"};

// Every qualifier of the closed list but `same_job`: no record of a ring says to which job another process
// belongs, so that neither program ever has a holder that shares the job (it is for evidence joined from
// several rings).
constexpr std::string_view kQualifiers[] = {"corrupt_size",
                                            "inconsistent_numbers",
                                            "larger_than_card",
                                            "deferred_free",
                                            "deferred_free_possible",
                                            "deferred_free_not_excluded",
                                            "fit_ignored",
                                            "fit_unexplained",
                                            "driver_refused",
                                            "cap",
                                            "cap_or_driver_refused",
                                            "cache_hoarding",
                                            "cache_pinned",
                                            "near_capacity",
                                            "growth_unmarked",
                                            "too_few_boundaries",
                                            "boundaries_lapped",
                                            "births_unknown",
                                            "survived",
                                            "fatal",
                                            "blind",
                                            "incomplete",
                                            "strict",
                                            "combined",
                                            "incompatible",
                                            "would_fit_packed",
                                            "jointly",
                                            "inferred",
                                            "holder_unknown",
                                            "in_process",
                                            "transient"};

// A foreign failure's free bytes are never observed (the operation's question is PyTorch's own), and rule 8
// then bounds them by what was refused less one byte: F >= N cannot come of a ring.
constexpr std::string_view kUnreachableSide = "free_segment_foreign at";

}  // namespace

void Coverage::take(const Covered& trace) {
    count("traces");
    count(fmt::format("aim {}", trace.aim));
    count(fmt::format("exit {}", trace.exit_status));
    if (trace.document.empty()) {
        count(fmt::format("rule {}", trace.rule));
        return;
    }
    const Document document(trace.document);
    for (const std::string_view one : kClasses) {
        const auto status = document.word(fmt::format("verdict.hypotheses.{}.status", one));
        if (status) count(fmt::format("status {} {}", one, *status));
        for (const std::string& word : document.words(fmt::format("verdict.hypotheses.{}.qualifiers", one)))
            count(fmt::format("qualifier {}", word));
    }
    count_told(document);
    for (const List& list : kLists) {
        if (document.size(list.path) >= list.entries) count(fmt::format("list {}", list.path));
    }
    for (const std::string& word : document.words("verdict.qualifiers"))
        count(fmt::format("qualifier {}", word));
    for (const Side& side : sides_of(document, trace.aim, trace.side))
        count(fmt::format("side {} {}", side.name, side.where));
}

void Coverage::count_told(const Document& document) {
    const auto origin = document.word("capture.origin").value_or("");
    count("told origin " + origin);
    if (document.truth("capture.total_stated")) count("told total stated");
    const bool incident = !document.is_null("evidence.failure");
    const bool numbers = !document.is_null("verdict.numbers");
    const bool primary = !document.is_null("verdict.primary");
    if (incident && numbers && document.is_null("evidence.ledgers.total_bytes")) {
        const bool answered = !primary && document.number("verdict.exit_status") == 10;
        count(primary    ? "told card unknown, decided"
              : answered ? "told card unknown, answered"
                         : "told card unknown, open");
    }
    for (const std::string& word : document.words("verdict.qualifiers")) {
        if (origin == "recorder") break;
        if (word == "deferred_free") count("told freed late without calls");
        if (word == "fit_ignored") count("told not freed late without calls");
    }
    if (document.size("evidence.requests") == 0) return;
    const std::string row = "evidence.requests.0.";
    const auto all = document.number(row + "requested_bytes");
    const auto told = document.number(row + "told_requested_bytes");
    if (!incident) count("told requests without a failure");
    count(!all          ? "told requests of some blocks"
          : all == told ? "told requests of every block"
                        : "told requests by the failure");
}

void Coverage::fail(const std::string& path) {
    count("differences");
    count("difference " + path);
}

uint64_t Coverage::of(const std::string& what) const {
    const auto found = counts_.find(what);
    return found == counts_.end() ? 0 : found->second;
}

std::string Coverage::lines() const {
    std::string text;
    for (const auto& [what, count] : counts_)
        text += fmt::format("{} {}\n", count, what);
    return text;
}

void Coverage::merge(const std::string& lines) {
    std::istringstream in(lines);
    uint64_t count = 0;
    std::string what;
    while (in >> count && std::getline(in >> std::ws, what))
        counts_[what] += count;
}

std::string Coverage::table() const {
    std::string text;
    for (const auto& [what, count] : counts_)
        text += fmt::format("{:<56} {:>7}\n", what, count);
    return text;
}

std::vector<std::string> Coverage::missing() const {
    std::vector<std::string> all;
    const auto need = [&](const std::string& what, uint64_t least) {
        if (of(what) < least) all.push_back(fmt::format("{}: {} of {}", what, of(what), least));
    };
    need("traces", kTracesNeeded);
    for (const std::string_view one : kClasses) {
        for (const std::string_view status : kStatuses)
            need(fmt::format("status {} {}", one, status), kClassNeeded);
    }
    for (const std::string_view qualifier : kQualifiers)
        need(fmt::format("qualifier {}", qualifier), kQualifierNeeded);
    for (const std::string_view one : kTold)
        need(fmt::format("told {}", one), kToldNeeded);
    for (const List& list : kLists)
        need(fmt::format("list {}", list.path), kListNeeded);
    for (const std::string_view rule : kRules)
        need(fmt::format("rule {}", rule), kRuleNeeded);
    for (const Bound& bound : bounds()) {
        for (const std::string_view where : bound.needed) {
            const std::string side = fmt::format("{} {}", bound.name, where);
            if (side == kUnreachableSide) {
                if (of("side " + side) != 0)
                    all.push_back(side + " was reached: it is no longer unreachable");
                continue;
            }
            need("side " + side, kSideNeeded);
        }
    }
    return all;
}

}  // namespace memsnap::differential
