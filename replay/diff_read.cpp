// SPDX-License-Identifier: Apache-2.0
//
// What the members of a receipt come down to, and for a ring what a receipt leaves out.
#include "diff_read.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <set>

#include "boundary.h"
#include "diff_grants.h"
#include "diff_members.h"
#include "diff_source.h"
#include "outside.h"
#include "policy.h"
#include "receipt_text.h"

namespace memsnap {
namespace {

using rapidjson::Value;

// A receipt may claim any number.
std::optional<int> device_of(const Value* value) {
    const auto number = integer(value);
    if (!number || *number < 0 || *number >= kDeviceCapacity) return std::nullopt;
    return static_cast<int>(*number);
}

class SideReader {
  public:
    SideReader(const Source& source, int device)
        : source_(source),
          receipt_(source.receipt),
          failure_(find(receipt_, {"evidence", "failure"})),
          device_(failure_ == nullptr ? device : device_of(find(*failure_, {"device"})).value_or(device)) {
        for_each(find(receipt_, {"evidence", "shapes"}), [&](const Value& shapes) {
            if (integer(find(shapes, {"device"})) == Wide{device_}) shapes_ = &shapes;
        });
    }

    DiffSide run() {
        side_.label = std::filesystem::path(source_.path).filename().string();
        side_.from_ring = source_.capture.has_value();
        side_.evidence_digest = text(find(receipt_, {"digest", "evidence"}));
        side_.receipt_digest = text(find(receipt_, {"digest", "receipt"}));
        side_.verdict = canonical_text(receipt_["verdict"]);
        side_.ended_well = truth(find(receipt_, {"capture", "exit_seen"})) &&
                           integer(find(receipt_, {"capture", "exit_status"})) == Wide{0};
        ending();
        for_each(find(receipt_, {"evidence", "failures"}), [&](const Value& one) {
            side_.failures.push_back({static_cast<int>(integer(find(one, {"device"})).value_or(-1)),
                                      text(find(one, {"allocator"})),
                                      integer(find(one, {"request_bytes"})).value_or(0),
                                      truth(find(one, {"followed"}))});
        });
        if (failure_ != nullptr) incident();
        amounts();
        if (source_.capture) ring(*source_.capture);
        side_.origin = text(find(receipt_, {"capture", "origin"}));
        side_.total_stated = truth(find(receipt_, {"capture", "total_stated"}));
        // What PyTorch's tools keep is the end of a run.
        side_.peak_is_whole &= side_.origin == name(Origin::recorder);
        cohort();
        return std::move(side_);
    }

  private:
    const Value* ledger(const char* name) const { return find(receipt_, {"evidence", "ledgers", name}); }

    Amount ledger_amount(const char* name) const {
        const std::string key = std::string("ledgers.") + name;
        const std::string provenance = text(find(receipt_, {"evidence", "provenance", key.c_str()}));
        return provenance == "observed" ? observed(ledger(name)) : derived(ledger(name));
    }

    void ending() {
        const auto has = [&](const char* qualifier) {
            bool found = false;
            for_each(find(receipt_, {"verdict", "qualifiers"}),
                     [&](const Value& one) { found |= text(&one) == qualifier; });
            return found;
        };
        if (failure_ != nullptr) {
            side_.ending = has("survived") ? Ending::survived : Ending::fatal;
        } else if (count(find(receipt_, {"verdict", "exit_status"})) != 0) {
            side_.ending = Ending::lost;
        }
    }

    void incident() {
        SideIncident& incident = side_.incident.emplace();
        const auto number = [&](const char* name) {
            return derived(find(receipt_, {"verdict", "numbers", name}));
        };
        incident.device = device_;
        incident.allocator = text(find(*failure_, {"allocator"}));
        incident.steps_ended_count = count(find(*failure_, {"steps_ended_count"}));
        incident.request = observed(find(*failure_, {"request_bytes"}));
        incident.segment_request = derived(find(*failure_, {"segment_request_bytes"}));
        incident.device_free = ledger_amount("device_free_bytes");
        incident.largest_free_extent = ledger_amount("largest_free_extent_bytes");
        incident.incompatible_free = ledger_amount("incompatible_free_bytes");
        incident.need = number("need_bytes");
        incident.margin = number("margin_bytes");
        incident.threshold = ledger_amount("threshold_bytes");
        // Of a card whose size nobody told the numbers are those of the smallest.
        if (incident.threshold.known()) incident.deficit = number("deficit_bytes");
        diagnosis(incident);
        side_.steps_ended_count = incident.steps_ended_count;
    }

    void diagnosis(SideIncident& incident) const {
        const auto add = [&](const Value& one) { incident.qualifiers.push_back(text(&one)); };
        for_each(find(receipt_, {"verdict", "qualifiers"}), add);
        incident.fix = text(find(receipt_, {"verdict", "fix"}));
        incident.proof = text(find(receipt_, {"verdict", "proof"}));
        incident.primary = text(find(receipt_, {"verdict", "primary"}));
        if (!incident.primary.empty()) {
            const char* const primary = incident.primary.c_str();
            for_each(find(receipt_, {"verdict", "hypotheses", primary, "qualifiers"}), add);
            incident.inequality = text(find(receipt_, {"verdict", "hypotheses", primary, "inequality"}));
            return;
        }
        if (incident.proof.empty()) return;
        constexpr std::array kAnswers = {"deferred_free", "fit_ignored", "driver_refused", "cache_hoarding",
                                         "cache_pinned"};
        for (const char* answer : kAnswers) {
            if (std::ranges::find(incident.qualifiers, answer) == incident.qualifiers.end()) continue;
            incident.answer = answer;
            return;
        }
    }

    void amounts() {
        if (failure_ != nullptr) {
            side_.total = ledger_amount("total_bytes");
            side_.outside = ledger_amount("outside_bytes");
            side_.peak_active = derived(find(receipt_, {"evidence", "peak", "active_bytes"}));
            side_.peak_reserved = observed(find(receipt_, {"evidence", "peak", "reserved_bytes"}));
            side_.peak_is_whole = integer(find(receipt_, {"capture", "first_ticket"})) == Wide{0};
            growth();
        } else if (shapes_ != nullptr) {
            side_.total = observed(find(*shapes_, {"total_bytes"}));
            side_.outside = derived(find(*shapes_, {"outside", "last_bytes"}));
            side_.peak_active = observed(find(*shapes_, {"active", "max_bytes"}));
            side_.peak_reserved = observed(find(*shapes_, {"reserved", "max_bytes"}));
            side_.peak_is_whole = true;
        }
    }

    void growth() {
        const Value* const growth = find(receipt_, {"evidence", "growth"});
        if (growth == nullptr) return;
        const std::string basis = text(find(*growth, {"basis"}));
        const Wide unknown_births = integer(find(*growth, {"unknown_birth_bytes"})).value_or(0);
        if (!truth(find(*growth, {"retained_is_bound"})) && unknown_births == 0) {
            side_.retained = derived(find(*growth, {"retained_bytes"}));
        }
        if (basis != "marked" && basis != "certified") return;
        std::vector<Wide> active;
        for_each(find(*growth, {"points", "rows"}), [&](const Value& row) {
            const bool has_active = row.IsArray() && row.Size() > 1;
            if (has_active) active.push_back(integer(&row[1]).value_or(0));
        });
        set_growth(active, count(find(*growth, {"growing_pairs_count"})));
    }

    void set_growth(const std::vector<Wide>& active, uint64_t growing_pairs_count) {
        if (active.empty()) return;
        const size_t pairs = std::min<size_t>(policy::kComparedPairs_count, active.size() - 1);
        const size_t spacing = pair_spacing(active.size());
        const size_t spaced = std::min<size_t>(policy::kComparedPairs_count * spacing, active.size() - 1);
        const auto rise = [&](size_t back) { return active.back() - active[active.size() - 1 - back]; };
        side_.growth = {active.size(), growing_pairs_count, rise(pairs), rise(spaced),
                        spaced * count(find(receipt_, {"capture", "boundary_stride"}))};
    }

    // ---- what only a ring knows

    void ring(const Capture& capture) {
        const EventStream& events = capture.window.events;
        const PinnedDevice& pinned = capture.pinned[static_cast<size_t>(device_)];
        if (pinned.peak_allocated) {
            side_.peak_active = Amount::observed(pinned.peak_allocated->allocated_bytes);
            side_.peak_is_whole = true;
        }
        if (pinned.peak_reserved) {
            side_.peak_reserved = Amount::observed(pinned.peak_reserved->reserved_bytes);
        }
        const bool whole = failure_ == nullptr;
        const uint64_t until = whole ? events.end_ticket() : count(find(*failure_, {"ticket"}));
        if (whole) {
            const auto outside = told_outside_bytes(pinned.last_observation, capture.late_start());
            if (outside) side_.outside = Amount::derived(Wide{*outside});
            side_.steps_ended_count = steps_ended(capture.window);
        }
        const Matched matched = marked_boundaries(capture.boundaries, device_, until);
        family_ = matched.family;
        throughput(capture, matched);
        if (!whole || matched.basis != GrowthBasis::marked) return;
        std::vector<Wide> active;
        for (const MatchedPoint& point : matched.points)
            active.push_back(Wide{point.active_bytes});
        set_growth(active, growing_pairs(matched.points));
    }

    static uint64_t steps_ended(const Window& window) {
        uint64_t steps = window.steps_at_begin;
        window.events.for_each([&](const Event& event) {
            if (event.kind == Kind::step) steps = event.size_bytes;
            return true;
        });
        return steps;
    }

    // Every `boundary_stride`th boundary of a family is kept.
    void throughput(const Capture& capture, const Matched& matched) {
        if (matched.points.size() < 2) return;
        const auto time_ns = [&](uint64_t ticket) -> std::optional<uint64_t> {
            const auto found = std::ranges::find(capture.boundaries, ticket, &Boundary::ticket);
            if (found == capture.boundaries.end()) return std::nullopt;
            return capture.monotonic_ns(found->time_counter);
        };
        const auto first = time_ns(matched.points.front().ticket);
        const auto last = time_ns(matched.points.back().ticket);
        if (!first || !last || *last <= *first) return;
        constexpr Wide kKilosecond_ns = 1'000'000'000'000;
        const Wide passed = Wide{matched.points.size() - 1} * Wide{capture.header.boundary_stride};
        side_.boundaries_per_kilosecond = Amount::derived(passed * kKilosecond_ns / Wide{*last - *first});
    }

    // ---- cohort

    void add(std::string field, Json value, bool known = true) {
        side_.cohort.push_back({std::move(field), std::move(value), known});
    }

    void add_known(std::string field, const Value* value) {
        add(std::move(field), scalar(value), value != nullptr);
    }

    void cohort() {
        add("device.ordinal", device_, failure_ != nullptr || shapes_ != nullptr);
        add("device.total_bytes", side_.total.value ? Json(*side_.total.value) : Json(), side_.total.known());
        for (const char* name : {"torch_version", "cuda_runtime_version", "cuda_driver_version"})
            add_known(name, find(receipt_, {"environment", name}));
        for (const char* name : {"world_size", "rank"})
            add(name, scalar(find(receipt_, {"environment", name})));
        const bool known = truth(find(receipt_, {"environment", "allocator", "known"}));
        for (const char* name :
             {"backend", "expandable_segments", "caching_disabled", "max_split_size_bytes",
              "gc_threshold_permille", "roundup_power2_divisions", "unknown_option_count"}) {
            add(std::string("allocator.") + name, scalar(find(receipt_, {"environment", "allocator", name})),
                known);
        }
        phases();
        for_each(find(receipt_, {"environment", "dimensions"}), [&](const Value& one) {
            add("dimensions." + std::to_string(count(find(one, {"dimension"}))),
                scalar(find(one, {"value"})));
        });
    }

    void phases() {
        std::string family = text(find(receipt_, {"evidence", "growth", "family"}));
        if (family.empty()) family = name(family_);
        add("phases.family", family, family != name(BoundaryFamily::none));
        std::set<std::string> words;
        for_each(find(receipt_, {"dictionary", "phases"}), [&](const Value& phase) {
            if (std::string word = text(find(phase, {"word"})); !word.empty()) words.insert(std::move(word));
        });
        add("phases.words", Json::Array(words.begin(), words.end()), !words.empty());
    }

    const Source& source_;
    const Value& receipt_;
    const Value* failure_;
    int device_;
    const Value* shapes_ = nullptr;
    BoundaryFamily family_ = BoundaryFamily::none;
    DiffSide side_;
};

// The device to compare: one that failed, of BEFORE when both did.
int compared_device(const Source& before, const Source& after) {
    for (const Source* source : {&before, &after}) {
        const auto failed = device_of(find(source->receipt, {"evidence", "failure", "device"}));
        if (failed) return *failed;
    }
    std::optional<int> first;
    for_each(find(before.receipt, {"evidence", "shapes"}), [&](const Value& shapes) {
        if (!first) first = device_of(find(shapes, {"device"}));
    });
    return first.value_or(0);
}

}  // namespace

Result<std::pair<DiffSide, DiffSide>> read_sides(const std::string& before_path,
                                                 const std::string& after_path,
                                                 const std::optional<TokenKey>& key) {
    const auto before = open_source(before_path, key);
    if (!before) return failure(before.error());
    const auto after = open_source(after_path, key);
    if (!after) return failure(after.error());
    const int device = compared_device(*before, *after);
    std::pair<DiffSide, DiffSide> sides{SideReader(*before, device).run(), SideReader(*after, device).run()};
    const auto want = sides.first.incident ? want_of(*sides.first.incident) : std::nullopt;
    if (!want) return sides;
    uint64_t needed = 1;
    if (before->capture) {
        const uint64_t failed_at = count(find(before->receipt, {"evidence", "failure", "ticket"}));
        sides.first.grants = count_grants(*before->capture, *want, failed_at, 0);
        if (sides.first.grants->exact) needed = sides.first.grants->count + 1;
    }
    if (after->capture) {
        const uint64_t end = after->capture->window.events.end_ticket();
        sides.second.grants = count_grants(*after->capture, *want, end, needed);
    }
    return sides;
}

}  // namespace memsnap
