// SPDX-License-Identifier: Apache-2.0
//
// Lines of the screen about sites. Columns: what was allocated where, how much, and what is known of it.
#include "report_sites.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "digest.h"
#include "report_text.h"
#include "site_label.h"

namespace memsnap {
namespace {

constexpr size_t kReportColumns = 100;
constexpr size_t kLabelColumns = 48;
constexpr size_t kWideLabelColumns = 64;  // where nothing stands behind the numbers
constexpr size_t kNoteColumn = 74;        // where category, phase and steps begin
constexpr size_t kSentenceLabelColumns = 56;
constexpr size_t kSitesShown_count = 5;
constexpr size_t kDetailsShown_count = 3;
constexpr size_t kForwardShown_count = 2;

std::string counted(uint64_t count, std::string_view what) {
    return fmt::format("{} {}{}", grouped(count), what, count == 1 ? "" : "s");
}

std::string row(const std::string& label, size_t label_columns, Wide bytes,
                std::optional<uint64_t> block_count) {
    return fmt::format("    {:<{}} {:>11} {:>7}  ", label, label_columns, wide_size_text(bytes),
                       block_count ? grouped(*block_count) : "");
}

// Notes behind a row, continued below in their column.
void add_row(std::vector<std::string>& lines, std::string text, const std::vector<std::string>& notes) {
    for (size_t index = 0; index < notes.size(); ++index) {
        const std::string note = notes[index] + (index + 1 < notes.size() ? ", " : "");
        const size_t columns = text.size() + notes[index].size() + (index + 1 < notes.size() ? 1 : 0);
        if (text.size() > kNoteColumn && columns > kReportColumns) {
            lines.push_back(std::move(text));
            text.assign(kNoteColumn, ' ');
        }
        text += note;
    }
    lines.push_back(std::move(text));
}

std::string steps_text(uint32_t first, uint32_t last) {
    if (first == last) return fmt::format("step {}", uint64_t{first} + 1);
    return fmt::format("steps {} to {}", uint64_t{first} + 1, uint64_t{last} + 1);
}

Wide difference(const SiteGrowthRow& row) {
    return Wide{row.to_bytes} - row.from_bytes;
}

std::string percent(Wide part, Wide whole) {
    const Wide thousandths = whole <= 0 ? Wide{0} : part * 1000 / whole;
    if (thousandths == 0) return "less than 0.1%";
    return fmt::format("{}.{}%", static_cast<uint64_t>(thousandths / 10),
                       static_cast<uint64_t>(thousandths % 10));
}

}  // namespace

SiteReport::SiteReport(const Capture& capture, const Analysis& analysis, SiteNames& names,
                       const ReportStyle& style)
    : capture_(capture), analysis_(analysis), names_(names), style_(style), dictionary_(analysis) {}

size_t SiteReport::shown_count(size_t at_most, size_t there_are) const {
    return std::min(style_.sites_count.value_or(at_most), there_are);
}

std::string SiteReport::label(const SiteKey& key, size_t columns_most) const {
    if (key.site == 0) return fmt::format("blocks of {}", wide_size_text(key.granted_bytes));
    const std::string known = site_label(names_, key.site, columns_most);
    return known.empty() ? token("site", key.site, capture_.header.ring_id) : known;
}

std::string SiteReport::phase_label(uint16_t folded_name) const {
    if (folded_name == 0) return {};
    constexpr size_t kPhaseColumns = 24;
    const std::string* const text = names_.names().text(folded_name);
    if (text == nullptr) {
        const uint64_t ordinal = dictionary_.phase(folded_name);
        return ordinal == 0 ? std::string() : fmt::format("phase {}", ordinal);
    }
    const std::string shown = plain_ascii(*text);
    return shown.size() <= kPhaseColumns ? shown : shown.substr(0, kPhaseColumns - 2) + "..";
}

std::vector<std::string> SiteReport::born_in(const SiteShare& share) const {
    std::vector<std::string> notes;
    if (share.category != Category::none) notes.emplace_back(name(share.category));
    if (std::string phase = phase_label(share.phase); !phase.empty()) notes.push_back(std::move(phase));
    if (share.last_step != 0) notes.push_back(steps_text(share.first_step, share.last_step));
    // Where survivors are listed they say so.
    if (share.retained_bytes != 0 && analysis_.incident && analysis_.incident->scene.survivors.empty())
        notes.push_back(fmt::format("{} retained", wide_size_text(share.retained_bytes)));
    return notes;
}

std::vector<std::string> SiteReport::table(std::string title, const std::vector<SiteShare>& sites,
                                           uint64_t site_count, Wide bytes, uint64_t block_count) const {
    if (sites.empty()) return {};
    const bool none = std::ranges::all_of(sites, [](const SiteShare& s) { return s.key.site == 0; });
    title += none ? ", by size (no stacks)" : ", by birth site";
    const bool noted = std::ranges::any_of(sites, [&](const SiteShare& s) { return !born_in(s).empty(); });
    const size_t label_columns = noted ? kLabelColumns : kWideLabelColumns;
    std::vector<std::string> lines = {fmt::format("  {:<{}} {:>11} {:>7}  {}", title, label_columns + 2,
                                                  "bytes", "blocks", noted ? "what, born in" : "")};
    const size_t shown = shown_count(kSitesShown_count, sites.size());
    for (size_t index = 0; index < shown; ++index) {
        const SiteShare& share = sites[index];
        add_row(lines, row(label(share.key, label_columns), label_columns, share.bytes, share.block_count),
                born_in(share));
        bytes -= share.bytes;
        block_count -= std::min(block_count, share.block_count);
    }
    if (site_count > shown) {
        const std::string rest = counted(site_count - shown, "other site");
        lines.push_back(
            row(rest, label_columns, bytes, block_count == 0 ? std::nullopt : std::optional(block_count)));
    }
    return lines;
}

std::vector<std::string> SiteReport::failing_place() const {
    if (!analysis_.incident) return {};
    const Incident& incident = *analysis_.incident;
    const uint64_t site = incident.failure.event.site();
    const std::string phase = phase_label(incident.phase);
    constexpr size_t kBefore = 15, kJoint = 5;
    const std::string place =
        site == 0 ? std::string() : label({site, 0}, kReportColumns - kBefore - kJoint - phase.size());
    std::vector<std::string> lines;
    if (!place.empty()) {
        lines.push_back(fmt::format("AT             {}{}", place, phase.empty() ? "" : ", in " + phase));
    } else if (!phase.empty()) {
        lines.push_back(fmt::format("IN             {}", phase));
    }
    if (names_.python(site).empty() && !names_.native(site).empty()) {
        lines.emplace_back(
            "               a thread without Python frames; the largest sites of the forward pass:");
        const std::vector<std::string> forward = forward_sites();
        if (forward.empty()) lines.back() = "               a thread without Python frames";
        lines.insert(lines.end(), forward.begin(), forward.end());
    }
    return lines;
}

std::vector<std::string> SiteReport::forward_sites() const {
    std::vector<std::string> lines;
    for (const SiteShare& share : analysis_.incident->scene.sites) {
        const std::string* const phase = names_.names().text(share.phase);
        if (lines.size() == kForwardShown_count) break;
        if (share.phase == 0 || phase == nullptr || *phase != "forward" || share.key.site == 0) continue;
        lines.push_back(fmt::format("                 {:<{}} {:>11}", label(share.key, kSentenceLabelColumns),
                                    kSentenceLabelColumns, wide_size_text(share.bytes)));
    }
    return lines;
}

std::vector<std::string> SiteReport::live_at_failure() const {
    const Scene& scene = analysis_.incident->scene;
    Wide bytes = 0;
    uint64_t block_count = 0;
    for (const SiteShare& share : scene.sites) {
        bytes += share.bytes;
        block_count += share.block_count;
    }
    std::vector<std::string> lines =
        table("live at the failure", scene.sites, scene.sites.size(), bytes, block_count);
    if (scene.stackless_bytes != 0 && scene.stackless_bytes != bytes)
        lines.push_back(
            fmt::format("    {} of these bytes have no birth site", percent(scene.stackless_bytes, bytes)));
    return lines;
}

std::vector<std::string> SiteReport::live_at_peak(int device) const {
    const auto found = std::ranges::find(analysis_.peak_sites, device, &PeakSites::device);
    if (found == analysis_.peak_sites.end()) return {};
    return table("live at the peak", found->rows, found->site_count, found->bytes, 0);
}

std::vector<std::string> SiteReport::survivors() const {
    const std::vector<SurvivorSite>& sites = analysis_.incident->scene.survivors;
    if (sites.empty() || analysis_.incident->verdict.of(Hypothesis::retention).status == Status::rejected)
        return {};
    std::vector<std::string> lines = {"  left behind by earlier steps, allocated at"};
    const size_t shown = shown_count(kDetailsShown_count, sites.size());
    for (size_t index = 0; index < shown; ++index) {
        const SurvivorSite& site = sites[index];
        lines.push_back(fmt::format("    {:<{}} {:>11} a step, {:>11} in all",
                                    label(site.key, kSentenceLabelColumns), kSentenceLabelColumns,
                                    wide_size_text(site.bytes / std::max<uint64_t>(site.step_count, 1)),
                                    wide_size_text(site.bytes)));
        std::string sizes = wide_size_text(site.least_block_bytes);
        if (site.least_block_bytes != site.greatest_block_bytes)
            sizes += " to " + wide_size_text(site.greatest_block_bytes);
        lines.push_back(
            fmt::format("      in {} of {} steps, oldest from step {}; {} of {}; {} of the site live",
                        grouped(site.step_count), grouped(site.step_count + site.clean_step_count),
                        uint64_t{site.oldest_step} + 1, counted(site.block_count, "block"), sizes,
                        wide_size_text(site.live_bytes)));
    }
    if (sites.size() > shown)
        lines.push_back(fmt::format("    and {} more", counted(sites.size() - shown, "such site")));
    return lines;
}

std::vector<std::string> SiteReport::growth() const {
    const auto& growth = analysis_.incident->trail.site_growth;
    // Survivors tell the same with more in it.
    if (!growth || (!survivors().empty() && !style_.sites_count)) return {};
    std::vector<const SiteGrowthRow*> grown;
    for (const SiteGrowthRow& one : growth->rows) {
        if (difference(one) > 0) grown.push_back(&one);
    }
    if (grown.empty()) return {};
    std::vector<std::string> lines = {fmt::format("  grown over {} between matched boundaries, by site",
                                                  counted(growth->pair_count, "step"))};
    grown.resize(shown_count(kDetailsShown_count, grown.size()));
    for (const SiteGrowthRow* const one : grown) {
        lines.push_back(fmt::format("    {:<{}} {:>11} more: {}", label(one->key, kSentenceLabelColumns),
                                    kSentenceLabelColumns, wide_size_text(difference(*one)),
                                    wide_size_text(one->to_bytes)));
    }
    return lines;
}

std::vector<std::string> SiteReport::recent() const {
    const std::vector<RecentBirth>& births = analysis_.incident->trail.recent;
    const bool sites = std::ranges::any_of(births, [](const RecentBirth& b) { return b.key.site != 0; });
    if (!sites) return {};
    const auto alike = [](const RecentBirth& a, const RecentBirth& b) {
        return a.key == b.key && a.size_bytes == b.size_bytes && a.live == b.live;
    };
    std::vector<std::string> lines;  // newest first
    for (size_t end = births.size(); end != 0 && lines.size() < shown_count(kDetailsShown_count, SIZE_MAX);) {
        const RecentBirth& birth = births[end - 1];
        size_t count = 0;
        for (; end != 0 && alike(births[end - 1], birth); --end)
            ++count;
        lines.push_back(fmt::format("    {:<{}} {:>11}{}{}", label(birth.key, kSentenceLabelColumns),
                                    kSentenceLabelColumns, wide_size_text(birth.size_bytes),
                                    count == 1 ? "" : fmt::format(", {} times", count),
                                    birth.live ? "" : ", freed again"));
    }
    lines.emplace_back("  allocated right before the failure, newest last");
    std::ranges::reverse(lines);
    return lines;
}

std::vector<std::string> SiteReport::collections() const {
    const Collections& collections = analysis_.incident->trail.collections;
    std::vector<std::string> lines;
    if (collections.freed_bytes != 0) {
        lines.push_back(fmt::format("  kept by reference cycles until gc ran: {} in {}, allocated at",
                                    wide_size_text(collections.freed_bytes),
                                    counted(collections.freed_block_count, "block")));
        const size_t shown = shown_count(kForwardShown_count, collections.rows.size());
        for (size_t index = 0; index < shown; ++index) {
            const CollectedSite& site = collections.rows[index];
            lines.push_back(fmt::format("    {:<{}} {:>11}", label(site.key, kSentenceLabelColumns),
                                        kSentenceLabelColumns, wide_size_text(site.bytes)));
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
    std::vector<std::string> lines;
    for (const DimensionEffect& effect : analysis_.incident->trail.dimension_effects) {
        if (effect.changed_count == 0 || lines.size() == shown_count(kForwardShown_count, SIZE_MAX)) continue;
        constexpr size_t kDimensionColumns = 20;
        const std::string* const text =
            effect.dimension == 0 ? nullptr : names_.names().text(effect.dimension);
        std::string label = text == nullptr
                                ? fmt::format("dimension {}", dictionary_.dimension(effect.dimension))
                                : plain_ascii(*text);
        if (label.size() > kDimensionColumns) label = label.substr(0, kDimensionColumns - 2) + "..";
        lines.push_back(fmt::format("  {}: the peak moved with it in {} of {} changes; highest, {}, at {}",
                                    label, grouped(effect.together_count), grouped(effect.changed_count),
                                    wide_size_text(effect.peak_bytes), effect.value_at_peak));
    }
    return lines;
}

std::vector<std::string> SiteReport::blind() const {
    const HeaderFacts& header = capture_.header;
    std::vector<std::string> lines;
    if (header.stack_wish == StackWish::off) return lines;
    if (header.python_stacks == PythonStacks::unknown)
        lines.emplace_back("  no Python frames: this interpreter is not known well enough");
    if (header.python_stacks == PythonStacks::threaded)
        lines.emplace_back("  no Python frames: this interpreter is built without a global lock");
    if (header.native_stacks == NativeStacks::missing)
        lines.emplace_back("  no native frames: libunwind was not found");
    if (header.counters.no_stack != 0)
        lines.push_back(
            fmt::format("  {} of the recording have no site", counted(header.counters.no_stack, "birth")));
    return lines;
}

}  // namespace memsnap
