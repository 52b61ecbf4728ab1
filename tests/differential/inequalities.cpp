// SPDX-License-Identifier: Apache-2.0
//
// Left side less right side, computed from the receipt alone.
#include "inequalities.h"

#include <algorithm>
#include <optional>
#include <string>

#include "event_lines.h"

namespace memsnap::differential {

namespace {

constexpr std::array<std::string_view, 2> kReaches = {"below", "at"};  // left >= right
constexpr std::array<std::string_view, 2> kExceeds = {"at", "above"};  // left > right
constexpr auto kGranule = Integer{kGranule_bytes};

constexpr Bound kBounds[] = {
    {"margin_threshold", kReaches},
    {"largest_extent_request", kReaches},
    {"compatible_extent_request", kReaches},
    {"retained_deficit", kReaches},
    {"retained_floor", kReaches},
    {"retained_slow", kReaches},
    {"removable_low_deficit", kReaches},
    {"removable_high_deficit", kReaches},
    {"removable_floor", kReaches},
    {"jointly_deficit", kReaches},
    {"fragmented_threshold", kReaches},
    {"margin_zero", kReaches},
    {"compatible_request", kReaches},
    {"combined_request", kReaches},
    {"spare_threshold", kReaches},
    {"spare_zero", kReaches},
    {"free_segment_foreign", kReaches},
    {"releasable_segment", kReaches},
    {"slack_segment", kReaches},
    {"request_card", kExceeds},
    {"total_told", kExceeds},
    {"margin_greatest_card", kReaches},
    {"request_corrupt", kReaches},
    {"cap_available", kReaches},
    {"free_segment_implied", kReaches},
    {"in_process", kReaches},
    {"transient", kReaches},
    {"growing_pairs", kReaches},
    {"spaced_pairs", kReaches},
    {"survivor_steps", kReaches},
    {"boundary_count", kReaches},
    {"regular_runs", kReaches},
    {"alternating_runs", kReaches},
    {"transient_age", kReaches},
};

class Reading {
  public:
    Reading(const Document& document, std::string_view aim, int side)
        : document_(document), aim_(aim), side_(side) {}

    std::vector<Side> run() {
        if (document_.is_null("evidence.failure")) return {};
        read_request();
        read_total();
        read_history();
        if (!document_.is_null("verdict.numbers")) read_numbers();
        return std::move(sides_);
    }

  private:
    Integer value(std::string_view path) const { return document_.number(path).value_or(0); }
    Integer of_numbers(std::string_view name) const { return value("verdict.numbers." + std::string(name)); }
    Integer of_ledgers(std::string_view name) const { return value("evidence.ledgers." + std::string(name)); }
    bool known(std::string_view path) const { return document_.number(path).has_value(); }
    bool has(std::string_view qualifier) const {
        return std::ranges::find(qualifiers_, qualifier) != qualifiers_.end();
    }

    // One unit is a byte; where granules decide, both count.
    void place(std::string_view name, Integer difference, Integer unit = 1) {
        if (difference == 0) sides_.push_back({name, "at"});
        if (difference == -1 || difference == -unit) sides_.push_back({name, "below"});
        if (difference == 1 || difference == unit) sides_.push_back({name, "above"});
    }

    void read_request() {
        const auto request = document_.number("evidence.failure.request_bytes");
        if (request) place("request_corrupt", *request - (Integer{1} << 60), kGranule);
    }

    // What PyTorch holds and what is free, against the card.
    void read_total() {
        const auto total = document_.number("evidence.ledgers.total_bytes");
        if (!total || !known("evidence.ledgers.device_free_bytes")) return;
        place("total_told", of_ledgers("device_free_bytes") + of_ledgers("reserved_bytes") - *total -
                                of_ledgers("uncertainty_bytes"));
    }

    // What no number of the document shows is what the aim set, with the effect that it must have.
    void read_history() {
        const std::string basis = document_.word("evidence.growth.basis").value_or("");
        const Integer pairs = value("evidence.growth.growing_pairs_count");
        const Integer retained = value("evidence.growth.retained_bytes");
        const Integer boundaries = value("evidence.growth.boundary_count");
        if (aim_ == "growing_pairs" && basis == "marked") place("growing_pairs", pairs - 4);
        if (aim_ == "spaced_pairs" && (boundaries >= 21) == (pairs >= 4))
            place("spaced_pairs", boundaries - 21);
        if (aim_ == "boundary_count") {
            if ((boundaries >= 6) == (basis == "marked")) place("boundary_count", boundaries - 6);
        }
        if (aim_ == "survivor_steps" && pairs >= 4 && (retained > 0) == (side_ >= 0))
            place("survivor_steps", side_);
        const bool inferred = basis == "certified" || basis == "uncertified";
        if (aim_ == "regular_runs" && inferred == (side_ >= 0)) place("regular_runs", side_);
        if (aim_ == "alternating_runs" && (basis == "certified") == (side_ >= 0))
            place("alternating_runs", side_);
        if (aim_ == "transient_age" && known("evidence.outside.earlier_outside_bytes") == (side_ >= 0))
            place("transient_age", side_);
    }

    void read_numbers() {
        allocator_ = document_.word("evidence.failure.allocator").value_or("");
        qualifiers_ = document_.words("verdict.qualifiers");
        margin_ = of_numbers("margin_bytes");
        threshold_ = of_numbers("threshold_bytes");
        deficit_ = of_numbers("deficit_bytes");
        request_ = allocator_ == "foreign" ? value("evidence.failure.segment_request_bytes")
                                           : value("evidence.failure.request_bytes");
        free_known_ = known("evidence.ledgers.device_free_bytes");
        if (!known("evidence.ledgers.total_bytes")) {
            constexpr Integer kGreatestThreshold_bytes = (Integer{1} << 40) * 15 / 1000;
            place("margin_threshold", margin_ - threshold_);
            place("margin_greatest_card", margin_ - kGreatestThreshold_bytes);
            return;
        }
        place("request_card", request_ - of_ledgers("total_bytes"));
        if (request_ > of_ledgers("total_bytes")) return;
        allocator_ == "foreign" ? read_foreign_answers() : read_answers();
        const bool answered = value("verdict.exit_status") == 10 && document_.is_null("verdict.primary");
        if (answered) return;
        place("margin_threshold", margin_ - threshold_);
        margin_ >= threshold_ ? read_with_room() : read_without_room();
        read_external_qualifiers();
    }

    void read_answers() {
        const Integer largest = of_ledgers("largest_free_extent_bytes");
        const Integer compatible = of_ledgers("largest_compatible_extent_bytes");
        place("largest_extent_request", largest - request_, kGranule);
        place("compatible_extent_request", compatible - request_, kGranule);
        if (!free_known_) return;
        const Integer free = of_ledgers("device_free_bytes");
        const Integer spare = free - value("evidence.failure.segment_request_bytes");
        const bool failed = document_.word("evidence.failure.device_call") == "failed";
        if (failed && document_.truth("evidence.failure.free_observed_at_failure")) {
            place("spare_threshold", spare - threshold_);
            place("spare_zero", spare);
        }
        const auto cap = document_.number("evidence.ledgers.cap_bytes");
        if (cap) place("cap_available", *cap - free - of_ledgers("reserved_bytes"));
        if (!cap && !failed) place("free_segment_implied", spare);
    }

    // Free bytes at both ends of what rule 8 leaves open: 0, and the refused size less one.
    void read_foreign_answers() {
        const Integer beside_cache = of_ledgers("total_bytes") - of_ledgers("reserved_bytes");
        place("free_segment_foreign", std::min(beside_cache, request_ - 1) - request_);
        place("releasable_segment", of_ledgers("releasable_bytes") - request_);
        place("slack_segment", of_ledgers("slack_bytes") - request_);
    }

    void read_with_room() {
        const Integer compatible = of_ledgers("slack_bytes") - of_ledgers("incompatible_free_bytes");
        place("compatible_request", compatible - request_, kGranule);
        if (compatible >= request_) return;
        const Integer room = of_numbers("available_bytes") - of_ledgers("reserved_bytes");
        place("combined_request", compatible + room - request_);
    }

    void read_without_room() {
        const Integer retained = of_numbers("retained_bytes");
        const Integer removable = of_numbers("removable_outside_bytes");
        const Integer removable_high = of_numbers("removable_outside_upper_bytes");
        const Integer floor = of_numbers("contribution_floor_bytes");
        place("margin_zero", margin_);
        place("fragmented_threshold", of_ledgers("fragmented_free_bytes") - threshold_);
        if (retained > 0) {
            place("retained_deficit", retained - deficit_);
            if (retained < deficit_) {
                const Integer slow = std::max(-margin_, threshold_ / 4);
                const bool repeated = document_.truth("evidence.growth.request_repeated");
                if (repeated) place("retained_slow", retained - slow);
                if (!repeated) place("retained_floor", retained - floor);
            }
        }
        place("removable_low_deficit", removable - deficit_);
        if (removable < deficit_) place("removable_floor", removable - floor);
        // It decides only where the lower end contributes already.
        if (removable_high != removable && removable >= floor && removable < deficit_)
            place("removable_high_deficit", removable_high - deficit_);
        if (retained > 0 && retained < deficit_ && removable < deficit_)
            place("jointly_deficit", retained + removable - deficit_);
    }

    void read_external_qualifiers() {
        const auto status = document_.word("verdict.hypotheses.external.status");
        if (status == "rejected") return;
        const Integer low = of_numbers("removable_outside_bytes");
        const Integer relief = low > 0 ? low : of_numbers("removable_outside_upper_bytes");
        if (relief <= 0) return;
        // Twice a number: the bound itself may lie between two of them.
        place("in_process", 2 * value("evidence.outside.named_growth_bytes") - relief, 2);
        const auto earlier = document_.number("evidence.outside.earlier_outside_bytes");
        if (earlier && free_known_)
            place("transient", 2 * (of_ledgers("outside_bytes") - *earlier) - relief, 2);
    }

    const Document& document_;
    std::string_view aim_;
    int side_;
    std::vector<Side> sides_;
    std::string allocator_;
    std::vector<std::string> qualifiers_;
    Integer margin_ = 0, threshold_ = 0, deficit_ = 0, request_ = 0;
    bool free_known_ = false;
};

}  // namespace

std::span<const Bound> bounds() {
    return kBounds;
}

std::vector<Side> sides_of(const Document& document, std::string_view aim, int side) {
    return Reading(document, aim, side).run();
}

}  // namespace memsnap::differential
