// SPDX-License-Identifier: Apache-2.0
//
// The rules between members, one function a member.
#include "receipt_rules.h"

#include <algorithm>
#include <set>
#include <vector>

#include "explain.h"
#include "names.h"
#include "receipt_balance.h"
#include "receipt_inequality.h"
#include "receipt_shape.h"
#include "receipt_trail_rules.h"

namespace memsnap {
namespace {

Wide number(const JsonValue& value) {
    return integer_of(value).value_or(-1);
}

// value <= a * b of numbers that anybody may have written.
bool at_most_product(Wide value, Wide a, Wide b) {
    Wide product = 0;
    return __builtin_mul_overflow(a, b, &product) || value <= product;
}

Wide size(const JsonValue& list) {
    return Wide{list.Size()};
}

// Items that are the words of a vocabulary in its order, none twice.
bool in_order(const JsonValue& list, Words order) {
    auto from = order.begin();
    for (const JsonValue& item : list.GetArray()) {
        from = std::find(from, order.end(), text_of(item));
        if (from == order.end()) return false;
        ++from;
    }
    return true;
}

std::vector<std::string_view> sorted(Words list) {
    std::vector<std::string_view> names(list.begin(), list.end());
    std::ranges::sort(names);
    return names;
}

// 1, 2, 3, ... under `key`.
bool counts_up(const JsonValue& list, const char* key) {
    Wide ordinal = 0;
    for (const JsonValue& entry : list.GetArray()) {
        if (number(entry[key]) != ++ordinal) return false;
    }
    return true;
}

class Rules {
  public:
    explicit Rules(const JsonValue& receipt)
        : receipt_(receipt),
          capture_(receipt["capture"]),
          dictionary_(receipt["dictionary"]),
          evidence_(receipt["evidence"]),
          verdict_(receipt["verdict"]),
          incident_(!evidence_["failure"].IsNull()) {}

    std::string run() {
        check_presence();
        if (problem_.empty()) check_lists();
        if (problem_.empty()) check_tickets();
        if (problem_.empty()) check_libraries();
        if (problem_.empty() && incident_) {
            check_extents();
            check_growth();
            check_statuses();
        }
        if (problem_.empty() && incident_) check_inequalities();
        return problem_;
    }

  private:
    void need(bool holds, std::string_view place, std::string_view rule) {
        if (!holds && problem_.empty()) problem_ = std::string(place) + ": " + std::string(rule);
    }

    void check_presence() {
        for (const char* name :
             {"ledgers", "outside", "growth", "extents", "sites", "libraries", "peak", "lifetimes",
              "reconciliation", "categories", "recent", "collections", "dimension_effects"}) {
            need(evidence_[name].IsNull() != incident_, std::string("evidence.") + name,
                 "stands beside a failure and nowhere else");
        }
        need(incident_ || evidence_["site_growth"].IsNull(), "evidence.site_growth",
             "stands beside a failure and nowhere else");
        need(evidence_["shapes"].IsNull() == incident_, "evidence.shapes", "stands without a failure only");
        const auto provenance = evidence_["provenance"].MemberCount();
        need(provenance == (incident_ ? provenance_count() : 0), "evidence.provenance",
             "has a word for each number");
        const bool seen = text_of(capture_["failure_seen_in"]) != "none";
        need(seen == incident_, "capture.failure_seen_in", "names where the failure was seen");
        need(capture_["exit_status"].IsNull() != capture_["exit_seen"].GetBool(), "capture.exit_status",
             "is known when the exit was seen");
        need(verdict_["hypotheses"].IsNull() != incident_, "verdict.hypotheses", "follow from evidence");
        need(incident_ || verdict_["numbers"].IsNull(), "verdict.numbers", "follow from evidence");
        need(incident_ || receipt_["times"]["failure_unix_ns"].IsNull(), "times.failure_unix_ns",
             "is of a failure");
    }

    static rapidjson::SizeType provenance_count() {
        for (const Member& part : receipt_shape().members) {
            if (part.name != "evidence") continue;
            for (const Member& one : part.shape.members) {
                if (one.name == "provenance") return static_cast<rapidjson::SizeType>(one.shape.words.size());
            }
        }
        return 0;
    }

    void check_lists() {
        need(in_order(capture_["uncertain"], words(Vocabulary::uncertainty)), "capture.uncertain",
             "is in the list's order");
        const Words removed = words(Vocabulary::removed_field);
        need(in_order(receipt_["removed_fields"], removed) &&
                 receipt_["removed_fields"].Size() == removed.size(),
             "removed_fields", "are always the same");
        const auto qualifiers = sorted(words(Vocabulary::verdict_qualifier));
        need(in_order(verdict_["qualifiers"], qualifiers), "verdict.qualifiers", "are sorted");
        need(counts_up(dictionary_["phases"], "phase"), "dictionary.phases", "count from 1");
        need(counts_up(dictionary_["libraries"], "library"), "dictionary.libraries", "count from 1");
        need(counts_up(dictionary_["dimensions"], "dimension"), "dictionary.dimensions", "count from 1");
        const JsonValue& noted = receipt_["environment"]["dimensions"];
        need(counts_up(noted, "dimension") && noted.Size() == dictionary_["dimensions"].Size(),
             "environment.dimensions", "are those of the dictionary");
        if (incident_) return;
        const auto failures = evidence_["failures"].GetArray();
        const bool unplaced =
            !failures.Empty() && std::ranges::all_of(failures, [](const JsonValue& failure) {
                return number(failure["device"]) < 0;
            });
        const bool lost = number(evidence_["lost_failure_count"]) != 0 || unplaced;
        const bool open = verdict_["undecidable"].Size() == (lost ? kHypotheses.size() : 0);
        need(open && in_order(verdict_["undecidable"], sorted(words(Vocabulary::hypothesis))) &&
                 verdict_["contributing"].Empty() && verdict_["rejected"].Empty() &&
                 verdict_["qualifiers"].Empty() && verdict_["primary"].IsNull() &&
                 number(verdict_["exit_status"]) == (lost ? 11 : 0),
             "verdict", "says nothing without evidence");
    }

    // A lap more than the header counted: it may have been read while the job went on. Without a ring the
    // window is empty, at the head.
    void check_tickets() {
        const Wide lap = std::max(Wide{1}, number(capture_["ring_capacity_records"]));
        const Wide end = number(capture_["recorded_count"]) + lap;
        const auto ticket = [&](const JsonValue& value, std::string_view place) {
            need(value.IsNull() || number(value) < end, place, "is no ticket of the recording");
        };
        need(number(capture_["first_ticket"]) <= number(capture_["end_ticket"]) &&
                 number(capture_["end_ticket"]) <= end,
             "capture.end_ticket", "is no ticket of the recording");
        const Wide events = number(capture_["end_ticket"]) - number(capture_["first_ticket"]);
        for (const char* name : {"missing_count", "torn_count", "unknown_kind_count"})
            need(number(capture_[name]) <= events, std::string("capture.") + name, "is more than there are");
        for (const auto& reason : capture_["blind"].GetObject())
            need(number(reason.value) <= events, "capture.blind", "is more than there are");
        for (const JsonValue& failure : evidence_["failures"].GetArray()) {
            ticket(failure["ticket"], "evidence.failures[].ticket");
            need(number(failure["chain"]) < size(evidence_["failures"]), "evidence.failures[].chain",
                 "is no index of a failure");
        }
        for (const JsonValue& balance : evidence_["holders"].GetArray()) {
            ticket(balance["ticket"], "evidence.holders[].ticket");
            need(number(balance["imported_count"]) < end, "evidence.holders[].imported_count",
                 "does not fit the recording");
        }
        for (const JsonValue& miss : evidence_["near_misses"].GetArray())
            ticket(miss["ticket"], "evidence.near_misses[].ticket");
        if (!incident_) return;
        ticket(evidence_["failure"]["ticket"], "evidence.failure.ticket");
        ticket(evidence_["outside"]["baseline_ticket"], "evidence.outside.baseline_ticket");
        ticket(evidence_["peak"]["active_ticket"], "evidence.peak.active_ticket");
        ticket(evidence_["peak"]["reserved_ticket"], "evidence.peak.reserved_ticket");
        ticket(evidence_["growth"]["births_known_from_ticket"], "evidence.growth.births_known_from_ticket");
        for (const JsonValue& row : evidence_["growth"]["points"]["rows"].GetArray())
            ticket(row[0], "evidence.growth.points.rows");
        for (const JsonValue& row : evidence_["extents"]["rows"].GetArray())
            ticket(row[8], "evidence.extents.rows");
        const JsonValue& lifetimes = evidence_["lifetimes"];
        const bool freed = number(lifetimes["freed_count"]) != 0;
        need(number(lifetimes["born_count"]) < end &&
                 number(lifetimes["freed_count"]) <= number(lifetimes["born_count"]) &&
                 lifetimes["longest_ticks"].IsNull() != freed &&
                 number(lifetimes["longest_ticks"]) <= number(lifetimes["total_ticks"]) &&
                 at_most_product(number(lifetimes["total_ticks"]), number(lifetimes["freed_count"]), end),
             "evidence.lifetimes", "does not fit the recording");
        const JsonValue& reconciliation = evidence_["reconciliation"];
        need(number(reconciliation["observation_count"]) < end &&
                 number(reconciliation["mismatch_count"]) <= number(reconciliation["observation_count"]),
             "evidence.reconciliation", "does not fit the recording");
    }

    // The unnamed one comes first; a list goes on counting where the lists before it ended.
    void check_libraries() {
        Wide known = 0;
        const auto take = [&](const JsonValue& libraries, std::string_view place) {
            std::vector<Wide> seen;
            for (const JsonValue& library : libraries.GetArray()) {
                const Wide ordinal = number(library["library"]);
                const bool unnamed_first = ordinal != 0 || seen.empty();
                need(unnamed_first && ordinal <= known + 1 && std::ranges::find(seen, ordinal) == seen.end(),
                     place, "ordinals count from 1");
                known = std::max(known, ordinal);
                seen.push_back(ordinal);
            }
        };
        if (incident_) take(evidence_["libraries"], "evidence.libraries[].library");
        for (const JsonValue& balance : evidence_["holders"].GetArray())
            take(balance["libraries"], "evidence.holders[].libraries[].library");
        need(known == size(dictionary_["libraries"]), "dictionary.libraries",
             "are the libraries of the evidence");
    }

    // Rows tile their segments, so segment and offset follow from the sizes.
    void check_extents() {
        Wide segment = -1, end = 0;
        for (const JsonValue& row : evidence_["extents"]["rows"].GetArray()) {
            const Wide offset = number(row[1]);
            const bool begins = offset == 0 && number(row[0]) == segment + 1;
            const bool goes_on = offset == end && offset != 0 && number(row[0]) == segment;
            need(begins || goes_on, "evidence.extents.rows", "do not tile their segments");
            segment = number(row[0]);
            end = offset + number(row[2]);
            const std::string_view state = text_of(row[5]);
            const bool live = state == "live";
            const bool in_use = text_of(row[6]) == kInUse;
            need(in_use == (state != "free") && live != row[8].IsNull() && (number(row[7]) != 0) == live &&
                     number(row[7]) <= size(evidence_["sites"]),
                 "evidence.extents.rows", "a cell contradicts another");
        }
    }

    void check_growth() {
        const JsonValue& growth = evidence_["growth"];
        need(number(growth["boundary_count"]) == size(growth["points"]["rows"]),
             "evidence.growth.boundary_count", "is the number of points");
        need(number(growth["growing_pairs_count"]) <= number(growth["boundary_count"]),
             "evidence.growth.growing_pairs_count", "is more than there are");
    }

    void check_statuses() {
        const auto order = sorted(words(Vocabulary::hypothesis));
        for (const char* list : {"contributing", "rejected", "undecidable"}) {
            need(in_order(verdict_[list], order), std::string("verdict.") + list, "is sorted");
        }
        std::vector<std::string_view> primary;
        for (const auto& [name, finding] : verdict_["hypotheses"].GetObject()) {
            const std::string_view status = text_of(finding["status"]);
            if (status == "primary") {
                primary.push_back(text_of(name));
                continue;
            }
            const auto& listed = *member(verdict_, status);
            need(std::ranges::any_of(listed.GetArray(), [&](const JsonValue& one) { return one == name; }),
                 "verdict", "lists and statuses differ");
        }
        const bool agree = verdict_["primary"].IsNull()
                               ? primary.empty()
                               : primary.size() == 1 && primary.front() == text_of(verdict_["primary"]);
        const Wide listed = size(verdict_["contributing"]) + size(verdict_["rejected"]) +
                            size(verdict_["undecidable"]) + Wide{primary.size()};
        need(agree && listed == Wide{kHypotheses.size()}, "verdict", "lists and statuses differ");
        const Wide status = number(verdict_["exit_status"]);
        need(status == 10 || status == 11, "verdict.exit_status", "is 10 or 11 with an incident");
    }

    void check_inequalities() {
        const JsonValue& numbers = verdict_["numbers"];
        const auto hypothesis_order = sorted(words(Vocabulary::hypothesis_qualifier));
        const TermValue value_of = [&](std::string_view name) { return term(numbers, name); };
        for (const auto& [name, finding] : verdict_["hypotheses"].GetObject()) {
            const std::string place = "verdict.hypotheses." + std::string(text_of(name));
            const std::string_view text = text_of(finding["inequality"]);
            const bool fits = numbers.IsNull() ? text == kUnsettled : is_inequality(text, value_of);
            need(fits, place + ".inequality", "is not one of this receipt's numbers");
            need(in_order(finding["qualifiers"], hypothesis_order), place + ".qualifiers", "are sorted");
            for (const auto& input : finding["inputs"].GetObject())
                check_input(input.value, place + ".inputs." + std::string(text_of(input.name)));
        }
    }

    // A value, an interval, or nothing.
    void check_input(const JsonValue& input, const std::string& place) {
        const JsonValue* const low = member(input, "low");
        const JsonValue* const high = member(input, "high");
        const bool unknown = text_of(input["provenance"]) == "unknown";
        need((low != nullptr) == (high != nullptr) && (input["value"].IsNull() || low == nullptr) &&
                 unknown == (input["value"].IsNull() && low == nullptr),
             place, "is neither a value nor an interval nor unknown");
        need(low == nullptr || high == nullptr || number(*low) < number(*high), place, "is no interval");
    }

    std::optional<Wide> term(const JsonValue& numbers, std::string_view name) const {
        const JsonValue& failure = evidence_["failure"];
        const bool foreign = text_of(failure["allocator"]) == "foreign";
        if (name == "request")
            return integer_of(failure[foreign ? "segment_request_bytes" : "request_bytes"]);
        const std::string field = std::string(name) + "_bytes";
        for (const std::string_view own : {"active", "largest_free_extent", "fragmented_free"}) {
            if (name == own) return integer_of(*member(evidence_["ledgers"], field));
        }
        const JsonValue* const value = member(numbers, field);
        return value == nullptr ? std::nullopt : integer_of(*value);
    }

    const JsonValue& receipt_;
    const JsonValue& capture_;
    const JsonValue& dictionary_;
    const JsonValue& evidence_;
    const JsonValue& verdict_;
    bool incident_;
    std::string problem_;
};

}  // namespace

std::string repeated_reference(const JsonValue& references) {
    std::set<std::string> seen;
    for (const JsonValue& one : references.GetArray()) {
        if (!seen.insert(canonical_text(one)).second) return "references: are listed once";
    }
    return {};
}

std::string broken_receipt_rule(const JsonValue& receipt) {
    std::string problem = Rules(receipt).run();
    if (problem.empty()) problem = repeated_reference(receipt["references"]);
    if (problem.empty()) problem = broken_trail_rule(receipt);
    return problem.empty() ? broken_balance_rule(receipt) : problem;
}

}  // namespace memsnap
