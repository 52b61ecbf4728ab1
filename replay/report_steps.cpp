// SPDX-License-Identifier: Apache-2.0
//
// Lines of the screen about what goes on from step to step: what is left behind, what grew, what the garbage
// collector freed, what the noted dimensions did.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>
#include <vector>

#include "report_sentence.h"
#include "report_sites.h"
#include "report_text.h"
#include "site_label.h"

namespace memsnap {
namespace {

constexpr size_t kCausesShown_count = 2;

// How many steps end from each point to the next: points are alike, and steps between them may be of other
// sizes. 0: not always as many.
uint64_t steps_between_points(const std::vector<Boundary>& boundaries, int device, const Matched& matched) {
    std::vector<uint64_t> tickets;
    for (const Boundary& boundary : boundaries) {
        if (boundary.family == matched.family && boundary.device == device)
            tickets.push_back(boundary.ticket);
    }
    std::ranges::sort(tickets);
    const auto place = [&](const MatchedPoint& point) {
        return std::ranges::lower_bound(tickets, point.ticket) - tickets.begin();
    };
    std::optional<uint64_t> spacing;
    for (size_t index = 1; index < matched.points.size(); ++index) {
        const auto apart =
            static_cast<uint64_t>(place(matched.points[index]) - place(matched.points[index - 1]));
        if (spacing && *spacing != apart) return 0;
        spacing = apart;
    }
    return spacing.value_or(1);
}

// How one speaks of what lies between two of the points that growth was measured between.
class Intervals {
  public:
    Intervals(const Capture& capture, const Incident& incident) : word_(step_word(incident)) {
        const Matched& matched = incident.boundaries;
        // Of what was marked only every so many were kept.
        const bool marked = matched.family != BoundaryFamily::none;
        if (marked && capture.header.boundary_stride > 1) stride_count_ = capture.header.boundary_stride;
        if (matched.family == BoundaryFamily::step)
            stride_count_ *= steps_between_points(capture.boundaries, incident.failure.event.device, matched);
    }

    // "a step", "every 2 steps", "from point to point"
    std::string each() const {
        if (stride_count_ == 0) return "from point to point";
        return stride_count_ == 1 ? fmt::format("a {}", word_) : "every " + counted(stride_count_, word_);
    }
    // "17 steps", "17 intervals of 2 steps", "17 intervals"
    std::string of(uint64_t count) const {
        if (stride_count_ == 0) return counted(count, "interval");
        if (stride_count_ == 1) return counted(count, word_);
        return fmt::format("{} of {}", counted(count, "interval"), counted(stride_count_, word_));
    }

  private:
    const std::string_view word_;
    uint64_t stride_count_ = 1;  // 0: not always as many
};

Wide difference(const SiteGrowthRow& row) {
    return Wide{row.to_bytes} - row.from_bytes;
}

void add_parts(std::vector<std::string>& lines, const std::vector<std::string>& parts) {
    constexpr std::string_view kIndent = "      ";
    std::string text(kIndent);
    for (size_t index = 0; index < parts.size(); ++index) {
        const std::string part = parts[index] + (index + 1 < parts.size() ? ";" : "");
        const bool first = text.size() == kIndent.size();
        if (!first && text.size() + 1 + part.size() > kReportColumns) {
            lines.push_back(std::move(text));
            text = kIndent;
        } else if (!first) {
            text += ' ';
        }
        text += part;
    }
    lines.push_back(std::move(text));
}

std::string kept_words(const Incident& incident) {
    if (incident.boundaries.family == BoundaryFamily::module) return "calls of the same module";
    const GrowthBasis basis = incident.evidence.growth.basis;
    const bool guessed = basis == GrowthBasis::certified || basis == GrowthBasis::uncertified;
    return guessed ? "steps (guessed from allocations)" : "steps";
}

}  // namespace

std::string SiteReport::kept_title(const std::vector<SiteKey>& keys,
                                   const std::vector<std::string>& names) const {
    std::string title = "  left behind by earlier " + kept_words(*analysis_.incident) + ", allocated at";
    const auto loop = [&](const SiteKey& key) { return loop_label(names_, key.site, letters(style_.utf8)); };
    const std::string first = loop(keys.front());
    const bool all = std::ranges::all_of(keys, [&](const SiteKey& key) { return loop(key) == first; });
    // Where labels had no room for it.
    const bool told =
        std::ranges::all_of(names, [&](const std::string& one) { return one.ends_with(first); });
    if (all && !told) title += fmt::format("  (all under {})", first);
    return cut_to_columns(title, kReportColumns);
}

std::vector<std::string> SiteReport::survivors() const {
    const Incident& incident = *analysis_.incident;
    const std::vector<SurvivorSite>& sites = incident.scene.survivors;
    if (sites.empty() || incident.verdict.of(Hypothesis::retention).status == Status::rejected) return {};
    const Intervals intervals(capture_, incident);
    const std::string each = intervals.each();
    constexpr size_t kBesideLabel_columns = 38;  // what stands around `each`
    const size_t label_columns =
        std::min(kSentenceLabelColumns, kReportColumns - kBesideLabel_columns - each.size());
    const size_t shown = shown_count(kDetailsShown_count, sites.size());
    const std::vector<SiteKey> keys = keys_of(std::span(sites).first(shown));
    const std::vector<std::string> names = labels(keys, label_columns);
    std::vector<std::string> lines = {kept_title(keys, names)};
    for (size_t index = 0; index < shown; ++index) {
        const SurvivorSite& site = sites[index];
        lines.push_back(fmt::format("    {:<{}} {:>11} {}, {:>11} in all", names[index], label_columns,
                                    wide_size_text(site.bytes / std::max<uint64_t>(site.step_count, 1)), each,
                                    wide_size_text(site.bytes)));
        std::string sizes = wide_size_text(site.least_block_bytes);
        if (site.least_block_bytes != site.greatest_block_bytes)
            sizes += " to " + wide_size_text(site.greatest_block_bytes);
        std::string when = fmt::format("in {} of {}", grouped(site.step_count),
                                       intervals.of(site.step_count + site.clean_step_count));
        if (incident.scene.step_count != 0)
            when += fmt::format(", oldest from step {}", uint64_t{site.oldest_step} + 1);
        add_parts(lines, {when, fmt::format("{} of {}", counted(site.block_count, "block"), sizes),
                          wide_size_text(site.live_bytes) + " of the site live"});
    }
    if (sites.size() > shown)
        lines.push_back(fmt::format("    and {} more", counted(sites.size() - shown, "such site")));
    return lines;
}

std::vector<std::string> SiteReport::growth() const {
    const auto& growth = analysis_.incident->trail.site_growth;
    // Survivors tell the same with more in it.
    if (!growth || (!survivors().empty() && !style_.sites_count)) return {};
    std::vector<SiteGrowthRow> grown;
    std::ranges::copy_if(growth->rows, std::back_inserter(grown),
                         [](const SiteGrowthRow& one) { return difference(one) > 0; });
    if (grown.empty()) return {};
    const Intervals intervals(capture_, *analysis_.incident);
    std::vector<std::string> lines = {
        fmt::format("  grown over {} between matched boundaries, by site", intervals.of(growth->pair_count))};
    grown.resize(shown_count(kDetailsShown_count, grown.size()));
    const std::vector<std::string> names = labels(keys_of(grown), kSentenceLabelColumns);
    for (size_t index = 0; index < grown.size(); ++index) {
        lines.push_back(fmt::format("    {:<{}} {:>11} more: {}", names[index], kSentenceLabelColumns,
                                    wide_size_text(difference(grown[index])),
                                    wide_size_text(grown[index].to_bytes)));
    }
    return lines;
}

std::vector<std::string> SiteReport::collections() const {
    const Collections& collections = analysis_.incident->trail.collections;
    std::vector<std::string> lines;
    if (collections.freed_bytes != 0) {
        lines.push_back(fmt::format("  kept by reference cycles until gc ran: {} in {}, allocated at",
                                    wide_size_text(collections.freed_bytes),
                                    counted(collections.freed_block_count, "block")));
        const size_t shown = shown_count(kCausesShown_count, collections.rows.size());
        const std::vector<std::string> names =
            labels(keys_of(std::span(collections.rows).first(shown)), kSentenceLabelColumns);
        for (size_t index = 0; index < shown; ++index) {
            const CollectedSite& site = collections.rows[index];
            lines.push_back(fmt::format("    {:<{}} {:>11}", names[index], kSentenceLabelColumns,
                                        wide_size_text(site.bytes)));
        }
    }
    const bool growing = analysis_.incident->evidence.growth.growing_pairs_count != 0;
    if (collections.switched_off.value_or(false) && (growing || collections.freed_bytes != 0)) {
        lines.emplace_back(
            "  warning: Python's cyclic garbage collection is switched off: cycles stay until it runs");
    }
    return lines;
}

std::vector<std::string> SiteReport::dimensions() const {
    constexpr size_t kDimensionColumns = 20;
    std::vector<std::string> lines;
    size_t shown = 0;
    for (const DimensionEffect& effect : analysis_.incident->trail.dimension_effects) {
        const auto noted = std::ranges::find(analysis_.notes, effect.dimension, &Note::dimension);
        const bool beyond = noted != analysis_.notes.end() &&
                            (noted->value < effect.least_value || noted->value > effect.greatest_value);
        if ((effect.changed_count == 0 && !beyond) || shown == shown_count(kCausesShown_count, SIZE_MAX))
            continue;
        ++shown;
        const std::string* const text =
            effect.dimension == 0 ? nullptr : names_.names().text(effect.dimension);
        const std::string label = text == nullptr
                                      ? fmt::format("dimension {}", dictionary_.dimension(effect.dimension))
                                      : name_text(*text, kDimensionColumns);
        if (noted != analysis_.notes.end()) {
            std::string before = fmt::format("{}", effect.least_value);
            if (effect.least_value != effect.greatest_value)
                before += fmt::format(" to {}", effect.greatest_value);
            lines.push_back(fmt::format("  {}: {} at the failure, {} before", label, noted->value, before));
        }
        if (effect.changed_count == 0) continue;
        lines.push_back(fmt::format("  {}: the peak moved with it in {} of {} changes; highest, {}, at {}",
                                    label, grouped(effect.together_count), grouped(effect.changed_count),
                                    wide_size_text(effect.peak_bytes), effect.value_at_peak));
    }
    return lines;
}

}  // namespace memsnap
