// SPDX-License-Identifier: Apache-2.0
//
// Lines of the screen about sites. Columns: what was allocated where, how much, and what is known of it.
#include "report_sites.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>

#include "digest.h"
#include "report_text.h"
#include "site_labels.h"

namespace memsnap {
namespace {

constexpr size_t kLabelColumns = 48;
constexpr size_t kWideLabelColumns = 64;  // where nothing stands behind the numbers
constexpr size_t kNoteColumn = 74;        // where category, phase and steps begin
constexpr size_t kSitesShown_count = 5;
constexpr size_t kForwardShown_count = 2;

std::string row(const std::string& label, size_t label_columns, Wide bytes,
                std::optional<uint64_t> block_count) {
    return fmt::format("    {:<{}} {:>11} {:>7}  ", label, label_columns, wide_size_text(bytes),
                       block_count ? grouped(*block_count) : "");
}

// Notes behind a row, continued below in their column.
void add_row(std::vector<std::string>& lines, std::string text, const std::vector<std::string>& notes) {
    for (size_t index = 0; index < notes.size(); ++index) {
        const std::string note = notes[index] + (index + 1 < notes.size() ? ", " : "");
        const size_t columns =
            columns_of(text) + columns_of(notes[index]) + (index + 1 < notes.size() ? 1 : 0);
        if (columns_of(text) > kNoteColumn && columns > kReportColumns) {
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

std::string percent(Wide part, Wide whole) {
    const Wide thousandths = whole <= 0 ? Wide{0} : part * 1000 / whole;
    if (thousandths == 0) return "less than 0.1%";
    return fmt::format("{}.{}%", static_cast<uint64_t>(thousandths / 10),
                       static_cast<uint64_t>(thousandths % 10));
}

}  // namespace

SiteReport::SiteReport(const Capture& capture, const Analysis& analysis, SiteNames& names,
                       const ReportStyle& style, const Naming& naming)
    : capture_(capture),
      analysis_(analysis),
      names_(names),
      style_(style),
      naming_(naming),
      dictionary_(analysis) {}

size_t SiteReport::shown_count(size_t at_most, size_t there_are) const {
    if (style_.sites_count) return std::min(*style_.sites_count, there_are);
    const size_t count = at_most - std::min(at_most - 1, left_out_count_);
    return std::min(count, there_are);
}

std::vector<std::string> SiteReport::labels(const std::vector<SiteKey>& keys, size_t columns_most) const {
    std::vector<uint64_t> tokens;
    for (const SiteKey& key : keys)
        tokens.push_back(key.site);
    std::vector<std::string> labels = site_labels(names_, tokens, columns_most, letters(style_.utf8));
    for (size_t index = 0; index < keys.size(); ++index) {
        if (keys[index].site == 0) {
            labels[index] = fmt::format("blocks of {}", wide_size_text(keys[index].granted_bytes));
        } else if (labels[index].empty()) {
            labels[index] = site_token(keys[index].site, capture_, naming_);
        }
    }
    return labels;
}

std::string SiteReport::name_text(const std::string& name, size_t columns_most) const {
    return cut_to_columns(shown_text(name, letters(style_.utf8)), columns_most);
}

std::string SiteReport::phase_label(uint16_t folded_name) const {
    if (folded_name == 0) return {};
    constexpr size_t kPhaseColumns = 24;
    if (const std::string* const text = names_.names().text(folded_name))
        return name_text(*text, kPhaseColumns);
    const uint64_t ordinal = dictionary_.phase(folded_name);
    return ordinal == 0 ? std::string() : fmt::format("phase {}", ordinal);
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
    const std::vector<std::string> names = labels(keys_of(std::span(sites).first(shown)), label_columns);
    for (size_t index = 0; index < shown; ++index) {
        const SiteShare& share = sites[index];
        add_row(lines, row(names[index], label_columns, share.bytes, share.block_count), born_in(share));
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

std::string SiteReport::place(size_t columns_most) const {
    if (!analysis_.incident) return {};
    const uint64_t site = analysis_.incident->failure.event.site();
    const std::string phase = phase_label(analysis_.incident->phase);
    if (site == 0) return phase;
    const std::string joint = phase.empty() ? "" : ", in " + phase;
    return labels({{site, 0}}, columns_most - columns_of(joint)).front() + joint;
}

std::vector<std::string> SiteReport::failing_place() const {
    if (!analysis_.incident) return {};
    const Incident& incident = *analysis_.incident;
    const uint64_t site = incident.failure.event.site();
    constexpr size_t kBefore_columns = 15;
    std::vector<std::string> lines;
    if (const std::string text = place(kReportColumns - kBefore_columns); !text.empty())
        lines.push_back(fmt::format("{:<{}}{}", site == 0 ? "IN" : "AT", kBefore_columns, text));
    if (names_.python(site).empty() && !names_.native(site).empty()) {
        if (capture_.header.python_stacks != PythonStacks::walking) {
            lines.emplace_back("               Python frames were not recorded");
            return lines;
        }
        lines.emplace_back(
            "               a thread without Python frames; the largest sites of the forward pass:");
        const std::vector<std::string> forward = forward_sites();
        if (forward.empty()) lines.back() = "               a thread without Python frames";
        lines.insert(lines.end(), forward.begin(), forward.end());
    }
    return lines;
}

std::vector<std::string> SiteReport::forward_sites() const {
    std::vector<SiteShare> sites;
    for (const SiteShare& share : analysis_.incident->scene.sites) {
        const std::string* const phase = names_.names().text(share.phase);
        if (sites.size() == kForwardShown_count) break;
        if (share.phase == 0 || phase == nullptr || *phase != "forward" || share.key.site == 0) continue;
        sites.push_back(share);
    }
    const std::vector<std::string> names = labels(keys_of(std::span(sites)), kSentenceLabelColumns);
    std::vector<std::string> lines;
    for (size_t index = 0; index < sites.size(); ++index)
        lines.push_back(fmt::format("                 {:<{}} {:>11}", names[index], kSentenceLabelColumns,
                                    wide_size_text(sites[index].bytes)));
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
    const uint64_t unknown = analysis_.incident->evidence.growth.unknown_births;
    if (unknown != 0)
        lines.push_back(fmt::format("    before recording: {}, from sites and at times that nobody knows",
                                    wide_size_text(unknown)));
    return lines;
}

std::vector<std::string> SiteReport::live_at_peak(int device) const {
    const auto found = std::ranges::find(analysis_.peak_sites, device, &PeakSites::device);
    if (found == analysis_.peak_sites.end()) return {};
    return table("live at the peak", found->rows, found->site_count, found->bytes, 0);
}

std::vector<std::string> SiteReport::recent() const {
    const std::vector<RecentBirth>& births = analysis_.incident->trail.recent;
    const bool sites = std::ranges::any_of(births, [](const RecentBirth& b) { return b.key.site != 0; });
    if (!sites) return {};
    const auto alike = [](const RecentBirth& a, const RecentBirth& b) {
        return a.key == b.key && a.size_bytes == b.size_bytes && a.live == b.live;
    };
    struct Alike {
        const RecentBirth& birth;
        size_t count = 0;
    };
    std::vector<Alike> rows;  // newest first
    for (size_t end = births.size(); end != 0 && rows.size() < shown_count(kDetailsShown_count, SIZE_MAX);) {
        rows.push_back({births[end - 1]});
        for (; end != 0 && alike(births[end - 1], rows.back().birth); --end)
            ++rows.back().count;
    }
    std::vector<SiteKey> keys;
    for (const Alike& one : rows)
        keys.push_back(one.birth.key);
    const std::vector<std::string> names = labels(keys, kSentenceLabelColumns);
    std::vector<std::string> lines;
    for (size_t index = 0; index < rows.size(); ++index) {
        const auto& [birth, count] = rows[index];
        lines.push_back(fmt::format(
            "    {:<{}} {:>11}{}{}", names[index], kSentenceLabelColumns, wide_size_text(birth.size_bytes),
            count == 1 ? "" : fmt::format(", {} times", count), birth.live ? "" : ", freed again"));
    }
    lines.emplace_back("  allocated right before the failure, newest last");
    std::ranges::reverse(lines);
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
        lines.push_back(fmt::format("  {} of the recording {} no site",
                                    counted(header.counters.no_stack, "birth"),
                                    header.counters.no_stack == 1 ? "has" : "have"));
    return lines;
}

}  // namespace memsnap
