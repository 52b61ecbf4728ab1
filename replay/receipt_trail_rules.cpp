// SPDX-License-Identifier: Apache-2.0
//
// One function a member, after the ordinals that all of them share.
#include "receipt_trail_rules.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "ledger.h"
#include "names.h"
#include "policy.h"
#include "receipt_text.h"
#include "recent.h"
#include "site_key.h"

namespace memsnap {
namespace {

Wide number(const JsonValue& value) {
    return integer_of(value).value_or(-1);
}

Wide size(const JsonValue& list) {
    return Wide{list.Size()};
}

Wide sum(const JsonValue& list, const char* key) {
    Wide sum = 0;
    for (const JsonValue& row : list.GetArray())
        sum += number(row[key]);
    return sum;
}

// By falling numbers.
bool falls(const JsonValue& list, const char* key) {
    return std::ranges::is_sorted(list.GetArray(), std::greater{},
                                  [&](const JsonValue& row) { return number(row[key]); });
}

class TrailRules {
  public:
    explicit TrailRules(const JsonValue& receipt)
        : receipt_(receipt),
          dictionary_(receipt["dictionary"]),
          evidence_(receipt["evidence"]),
          incident_(!evidence_["failure"].IsNull()),
          end_ticket_(number(receipt["capture"]["recorded_count"]) +
                      std::max(Wide{1}, number(receipt["capture"]["ring_capacity_records"]))) {}

    std::string run() {
        check_sites();
        check_phases();
        check_names();
        for (const JsonValue& peak : evidence_["peak_sites"].GetArray())
            check_peak(peak);
        for (const JsonValue& requests : evidence_["requests"].GetArray())
            check_requests(requests);
        check_request_devices();
        if (incident_) {
            check_categories();
            check_survivors();
            check_incident_peak();
            check_recent();
            check_site_growth();
            check_collections();
            check_dimension_effects();
        } else {
            check_device_peaks();
        }
        return problem_;
    }

  private:
    void need(bool holds, std::string_view place, std::string_view rule) {
        if (!holds && problem_.empty()) problem_ = std::string(place) + ": " + std::string(rule);
    }

    bool is_ticket(const JsonValue& value) const { return number(value) < end_ticket_; }

    // The sites of the failing instant have the first ordinals; those of the lists behind them go on counting
    // as they appear. No list has a site twice, but those by ticket.
    void check_sites() {
        std::set<Wide> with_stack;
        std::vector<Wide> ordinals;
        if (incident_) {
            for (const JsonValue& site : evidence_["sites"].GetArray()) {
                ordinals.push_back(number(site["site"]));
                if (site["has_stack"].GetBool()) with_stack.insert(ordinals.back());
            }
        }
        std::ranges::sort(ordinals);
        for (const Wide ordinal : ordinals)
            need(ordinal == ++site_count_, "evidence.sites[].site", "ordinals count from 1");
        const Wide live_count = site_count_;
        for (const JsonValue& peak : evidence_["peak_sites"].GetArray())
            take_sites(peak["rows"], "evidence.peak_sites[].rows[].site", true);
        if (incident_) {
            take_sites(evidence_["recent"], "evidence.recent[].site", false);
            const JsonValue& growth = evidence_["site_growth"];
            if (!growth.IsNull()) take_sites(growth["rows"], "evidence.site_growth.rows[].site", true);
            take_sites(evidence_["collections"]["rows"], "evidence.collections.rows[].site", true);
        }
        Wide last = 0;
        size_t named_live = 0;
        for (const JsonValue& site : dictionary_["sites"].GetArray()) {
            const Wide ordinal = number(site["site"]);
            need(ordinal > last && ordinal <= site_count_ &&
                     (ordinal > live_count || with_stack.contains(ordinal)),
                 "dictionary.sites", "are the sites with a stack, by ordinal");
            last = ordinal;
            named_live += ordinal <= live_count ? 1 : 0;
        }
        need(named_live == with_stack.size(), "dictionary.sites", "are the sites with a stack, by ordinal");
    }

    void take_sites(const JsonValue& rows, std::string_view place, bool once) {
        std::set<Wide> seen;
        for (const JsonValue& row : rows.GetArray()) {
            const Wide ordinal = number(row["site"]);
            need(ordinal >= 1 && ordinal <= site_count_ + 1, place, "goes on counting");
            need(!once || seen.insert(ordinal).second, place, "is listed once");
            site_count_ = std::max(site_count_, ordinal);
        }
    }

    void check_phases() {
        Wide known = 0;
        const auto take = [&](const JsonValue& rows, std::string_view place) {
            for (const JsonValue& row : rows.GetArray()) {
                need(number(row["phase"]) <= known + 1, place, "goes on counting");
                known = std::max(known, number(row["phase"]));
            }
        };
        if (incident_) take(evidence_["sites"], "evidence.sites[].phase");
        for (const JsonValue& peak : evidence_["peak_sites"].GetArray())
            take(peak["rows"], "evidence.peak_sites[].rows[].phase");
        need(known == size(dictionary_["phases"]), "dictionary.phases", "are the phases of the evidence");
    }

    // Of ordinals that the dictionary has, each once.
    void check_names() {
        const JsonValue* const names = member(receipt_, "names");
        if (names == nullptr) return;
        const std::pair<const char*, const char*> kLists[] = {
            {"sites", "site"}, {"phases", "phase"}, {"libraries", "library"}, {"dimensions", "dimension"}};
        for (const auto& [list, kind] : kLists) {
            std::set<Wide> known;
            for (const JsonValue& entry : dictionary_[list].GetArray())
                known.insert(number(entry[kind]));
            for (const JsonValue& named : (*names)[list].GetArray())
                need(known.erase(number(named[kind])) == 1, std::string("names.") + list,
                     "are of the dictionary");
        }
    }

    void check_peak(const JsonValue& peak) {
        constexpr std::string_view kPlace = "evidence.peak_sites";
        const JsonValue& rows = peak["rows"];
        const Wide listed = sum(rows, "bytes"), all = number(peak["bytes"]);
        const bool complete = size(rows) == number(peak["site_count"]);
        need(size(rows) == std::min(number(peak["site_count"]), Wide{kListedSites_most}), kPlace,
             "lists the largest sites");
        need(complete ? listed == all : listed < all, kPlace, "rows add up to the bytes");
        need(falls(rows, "bytes"), kPlace, "the largest comes first");
        need(is_ticket(peak["ticket"]), "evidence.peak_sites[].ticket", "is no ticket of the recording");
    }

    void check_requests(const JsonValue& requests) {
        constexpr std::string_view kPlace = "evidence.requests";
        const Wide granted = number(requests["granted_bytes"]), told = number(requests["told_granted_bytes"]);
        const Wide blocks = number(requests["told_block_count"]);
        const Wide asked = integer_of(requests["told_requested_bytes"]).value_or(-1);
        const Wide rounding = integer_of(requests["told_rounding_bytes"]).value_or(-1);
        need(told <= granted && told >= blocks && (told == 0) == (blocks == 0) && blocks < end_ticket_ &&
                 asked >= 0 && rounding >= 0 && rounding <= blocks * Wide{kGranule_bytes} &&
                 (blocks != 0 || asked == 0) &&
                 integer_of(requests["told_kept_bytes"]) == told - asked - rounding,
             kPlace, "a number contradicts another");
        const JsonValue& requested = requests["requested_bytes"];
        const bool all_told = told == granted;
        need(!all_told || !requested.IsNull(), kPlace, "are known where each block was told of");
        need(incident_ || requested.IsNull() || (all_told && number(requested) == asked), kPlace,
             "are known where each block was told of");
        need(number(requested) >= 0 || requested.IsNull(), kPlace, "are no difference");
    }

    // With a failure of its device, else of devices of the shapes in their order.
    void check_request_devices() {
        constexpr std::string_view kPlace = "evidence.requests";
        const JsonValue& list = evidence_["requests"];
        if (incident_) {
            const JsonValue& failure = evidence_["failure"];
            need(list.Size() <= 1 &&
                     (list.Empty() || (number(list[0]["device"]) == number(failure["device"]) &&
                                       number(list[0]["ticket"]) == number(failure["ticket"]) &&
                                       number(list[0]["granted_bytes"]) == sum(evidence_["sites"], "bytes"))),
                 kPlace, "are of the failing instant");
            return;
        }
        const auto shapes = evidence_["shapes"].GetArray();
        const Wide last = number(receipt_["capture"]["end_ticket"]) - 1;
        auto from = shapes.Begin();
        for (const JsonValue& requests : list.GetArray()) {
            from = std::find_if(from, shapes.End(), [&](const JsonValue& shape) {
                return number(shape["device"]) == number(requests["device"]);
            });
            need(from != shapes.End() && number(requests["ticket"]) == last, kPlace,
                 "are of the window's end and of the devices of the shapes");
            if (from != shapes.End()) ++from;
        }
    }

    void check_incident_peak() {
        const JsonValue& peaks = evidence_["peak_sites"];
        const JsonValue& peak = evidence_["peak"];
        need(size(peaks) == 1 && number(peaks[0]["device"]) == number(evidence_["failure"]["device"]) &&
                 number(peaks[0]["ticket"]) == number(peak["active_ticket"]) &&
                 number(peaks[0]["bytes"]) == number(peak["active_bytes"]),
             "evidence.peak_sites", "is of the peak");
    }

    void check_device_peaks() {
        const JsonValue& peaks = evidence_["peak_sites"];
        const JsonValue& shapes = evidence_["shapes"];
        need(size(peaks) == size(shapes), "evidence.peak_sites", "are of the devices of the shapes");
        if (!problem_.empty()) return;
        for (rapidjson::SizeType at = 0; at < peaks.Size(); ++at)
            need(number(peaks[at]["device"]) == number(shapes[at]["device"]), "evidence.peak_sites",
                 "are of the devices of the shapes");
    }

    // They are another way to add up what the sites add up to.
    void check_categories() {
        const JsonValue& categories = evidence_["categories"];
        const Words order = words(Vocabulary::category);
        auto from = order.begin();
        for (const JsonValue& share : categories.GetArray()) {
            from = std::find(from, order.end(), text_of(share["category"]));
            need(from != order.end() && number(share["block_count"]) > 0, "evidence.categories",
                 "are in the list's order, those with blocks");
            if (from != order.end()) ++from;
        }
        const JsonValue& sites = evidence_["sites"];
        need(sum(categories, "bytes") == sum(sites, "bytes") &&
                 sum(categories, "block_count") == sum(sites, "block_count"),
             "evidence.categories", "add up to the sites");
    }

    void check_survivors() {
        constexpr std::string_view kPlace = "evidence.growth.survivors";
        const JsonValue& growth = evidence_["growth"];
        const JsonValue& survivors = growth["survivors"];
        const std::string_view basis = text_of(growth["basis"]);
        const bool judged = basis == "marked" || basis == "certified" || basis == "uncertified";
        need(judged || survivors.Empty(), kPlace, "are those of judged steps");
        const Wide judged_count = number(growth["boundary_count"]) - 3;
        std::map<Wide, Wide> live_bytes;  // by site
        for (const JsonValue& site : evidence_["sites"].GetArray())
            live_bytes.emplace(number(site["site"]), number(site["bytes"]));
        std::pair<Wide, Wide> before = {};
        for (const JsonValue& survivor : survivors.GetArray()) {
            const Wide bytes = number(survivor["bytes"]), steps = number(survivor["step_count"]);
            need(steps >= Wide{policy::kSurvivorStepsNeeded_count} &&
                     steps + number(survivor["clean_step_count"]) == judged_count &&
                     number(survivor["block_count"]) >= steps,
                 kPlace, "are of three steps or more");
            need(steps > 0 && number(survivor["bytes_per_step"]) == bytes / steps &&
                     number(survivor["least_block_bytes"]) <= number(survivor["greatest_block_bytes"]) &&
                     number(survivor["greatest_block_bytes"]) <= bytes &&
                     bytes <= number(survivor["live_bytes"]) && is_ticket(survivor["oldest_ticket"]),
                 kPlace, "a number contradicts another");
            const auto live = live_bytes.find(number(survivor["site"]));
            need(live != live_bytes.end() && live->second == number(survivor["live_bytes"]), kPlace,
                 "are sites of the failing instant");
            const std::pair place = {-bytes, number(survivor["site"])};
            need(&survivor == survivors.Begin() || before < place, kPlace, "the largest comes first");
            before = place;
        }
        const Wide retained = number(growth["retained_bytes"]);
        need(!judged || retained == 0 || retained == sum(survivors, "bytes"), kPlace,
             "add up to what is retained");
    }

    void check_recent() {
        constexpr std::string_view kPlace = "evidence.recent";
        const JsonValue& recent = evidence_["recent"];
        need(size(recent) <= Wide{RecentLog::kKept_count}, kPlace, "are the last ones");
        Wide last = -1, threads = 0;
        for (const JsonValue& birth : recent.GetArray()) {
            const Wide ticket = number(birth["ticket"]), thread = number(birth["thread"]);
            need(ticket > last && ticket < number(evidence_["failure"]["ticket"]), kPlace,
                 "are before the failure, by ticket");
            need(thread >= 1 && thread <= threads + 1, "evidence.recent[].thread", "ordinals count from 1");
            last = ticket;
            threads = std::max(threads, thread);
        }
    }

    void check_site_growth() {
        constexpr std::string_view kPlace = "evidence.site_growth";
        const JsonValue& growth = evidence_["site_growth"];
        if (growth.IsNull()) return;
        const JsonValue& points = evidence_["growth"]["points"]["rows"];
        const Wide pairs = number(growth["pair_count"]);
        need(text_of(evidence_["growth"]["basis"]) == "marked" && pairs >= 1 && pairs < size(points), kPlace,
             "is between marked points");
        if (!problem_.empty()) return;
        const auto first = points.Size() - 1 - static_cast<rapidjson::SizeType>(pairs);
        need(number(growth["from_ticket"]) == number(points[first][0]) &&
                 number(growth["to_ticket"]) == number(points[points.Size() - 1][0]),
             kPlace, "is between marked points");
        need(size(growth["rows"]) <= Wide{kListedSites_most}, kPlace, "lists the greatest differences");
        std::pair<Wide, bool> before = {};
        for (const JsonValue& row : growth["rows"].GetArray()) {
            const Wide difference = number(row["to_bytes"]) - number(row["from_bytes"]);
            need(difference != 0, kPlace, "is of sites that differ");
            const std::pair place = {difference < 0 ? difference : -difference, difference < 0};
            need(&row == growth["rows"].Begin() || before <= place, kPlace, "the greatest comes first");
            before = place;
        }
    }

    void check_collections() {
        constexpr std::string_view kPlace = "evidence.collections";
        const JsonValue& collections = evidence_["collections"];
        const JsonValue& rows = collections["rows"];
        const Wide bytes = number(collections["freed_bytes"]);
        const Wide blocks = number(collections["freed_block_count"]);
        need(falls(rows, "bytes") && size(rows) <= Wide{kListedSites_most}, kPlace,
             "lists the largest sites");
        const bool complete = size(rows) < Wide{kListedSites_most};
        const Wide listed_bytes = sum(rows, "bytes"), listed_blocks = sum(rows, "block_count");
        need(complete ? listed_bytes == bytes && listed_blocks == blocks
                      : listed_bytes <= bytes && listed_blocks <= blocks,
             kPlace, "rows add up to what was freed");
        need(number(collections["pass_count"]) < end_ticket_ && blocks < end_ticket_, kPlace,
             "does not fit the recording");
    }

    void check_dimension_effects() {
        constexpr std::string_view kPlace = "evidence.dimension_effects";
        Wide last = 0;
        for (const JsonValue& effect : evidence_["dimension_effects"].GetArray()) {
            const Wide dimension = number(effect["dimension"]);
            const Wide intervals = number(effect["interval_count"]);
            const Wide changed = number(effect["changed_count"]);
            const Wide value = integer_of(effect["value_at_peak"]).value_or(0);
            need(dimension > last && dimension <= size(dictionary_["dimensions"]), kPlace,
                 "are of the dictionary, by ordinal");
            need(intervals >= 2 && intervals < end_ticket_ && changed < intervals &&
                     number(effect["together_count"]) <= changed &&
                     integer_of(effect["least_value"]).value_or(0) <= value &&
                     value <= integer_of(effect["greatest_value"]).value_or(0),
                 kPlace, "a number contradicts another");
            last = dimension;
        }
    }

    const JsonValue& receipt_;
    const JsonValue& dictionary_;
    const JsonValue& evidence_;
    bool incident_;
    Wide end_ticket_;
    Wide site_count_ = 0;
    std::string problem_;
};

}  // namespace

std::string broken_trail_rule(const JsonValue& receipt) {
    return TrailRules(receipt).run();
}

}  // namespace memsnap
