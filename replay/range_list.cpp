// SPDX-License-Identifier: Apache-2.0
//
// Tables of ranges.
#include "range_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "json.h"
#include "report_text.h"
#include "site_labels.h"

namespace memsnap {
namespace {

constexpr size_t kNameColumns = 40;
constexpr size_t kSiteColumns = 60;

const std::string* text_of(const RangeList& list, uint32_t name) {
    return list.names_shown ? text_of_name(list.naming, name) : nullptr;
}

std::string token_of(const RangeList& list, uint32_t name) {
    const std::string* const text = text_of_name(list.naming, name);
    return name_token("phase", name, text == nullptr ? std::nullopt : std::optional<std::string_view>(*text),
                      list.capture, list.naming);
}

std::string shown_name(const RangeList& list, uint32_t name, Letters letters) {
    if (name == 0) return "(without a name)";
    const std::string* const text = text_of(list, name);
    return cut_to_columns(text == nullptr ? token_of(list, name) : shown_text(*text, letters), kNameColumns);
}

struct Row {
    uint64_t first_ticket = kNoTicket;
    uint64_t count = 0;
    uint64_t peak_bytes = 0;
    uint64_t added_bytes = 0;
    Wide left_bytes = 0;
};

std::vector<std::string> labels_of(const RangeList& list, const std::vector<SiteShare>& sites) {
    if (!list.names_shown || list.naming.sites == nullptr) return std::vector<std::string>(sites.size());
    std::vector<uint64_t> tokens;
    for (const SiteShare& site : sites)
        tokens.push_back(site.key.site);
    return site_labels(*list.naming.sites, tokens, kSiteColumns, Letters::utf8);
}

Json sites_json(const RangeList& list, const std::vector<SiteShare>& sites) {
    const std::vector<std::string> labels = labels_of(list, sites);
    Json::Array rows;
    for (size_t at = 0; at < sites.size(); ++at) {
        const SiteShare& site = sites[at];
        const uint64_t stack = site.key.site;
        rows.push_back(Json::Object{
            {"block_count", site.block_count},
            {"bytes", site.bytes},
            {"label", labels[at].empty() ? Json() : Json(labels[at])},
            {"token", stack == 0 ? Json() : Json(site_token(stack, list.capture, list.naming))}});
    }
    return rows;
}

Json use_json(const DeviceUse& use) {
    return Json::Object{{"added_bytes", use.added_bytes()},
                        {"begin_bytes", use.begin_bytes},
                        {"device", use.device},
                        {"end_bytes", use.end_bytes},
                        {"left_block_count", use.left_block_count},
                        {"left_bytes", use.left_bytes},
                        {"peak_bytes", use.peak_bytes},
                        {"peak_reserved_bytes", use.peak_reserved_bytes},
                        {"peak_ticket", use.peak_ticket}};
}

Json range_json(const RangeList& list, const RangeUse& range) {
    Json::Array devices;
    for (const DeviceUse& use : range.devices)
        devices.push_back(use_json(use));
    const std::string* const text = text_of(list, range.name);
    return Json::Object{{"begin_ticket", range.begin_ticket},
                        {"depth", range.depth},
                        {"devices", std::move(devices)},
                        {"end_ticket", range.end_ticket},
                        {"name", text == nullptr ? Json() : Json(shown_text(*text, Letters::utf8))},
                        {"token", range.name == 0 ? Json() : Json(token_of(list, range.name))}};
}

Json last_json(const RangeList& list) {
    const RangeUse* const last = last_closed(list.uses);
    if (last == nullptr) return {};
    Json::Array sites;
    for (const RangeSites& of_device : list.last_sites)
        sites.push_back(Json::Object{{"at_peak", sites_json(list, of_device.at_peak)},
                                     {"device", of_device.device},
                                     {"left", sites_json(list, of_device.left)}});
    return Json::Object{{"range", range_json(list, *last)}, {"sites", std::move(sites)}};
}

// Why there are no lines.
std::string nothing_shown(const RangeUses& uses) {
    if (uses.in_standby) return "no ranges: in standby, no events are kept\n";
    if (uses.ranges.empty())
        return "no ranges: the program began none in the recorded events (memsnap.phase, NVTX)\n";
    return fmt::format("{}, and no report of PyTorch's allocator by its end\n",
                       counted(uses.ranges.size(), "range"));
}

// What the lines leave out.
std::string left_out(const RangeUses& uses) {
    std::string out;
    if (uses.begun_before_count != 0)
        out += fmt::format("{} ended here that began before the recorded events: nothing more is known\n",
                           counted(uses.begun_before_count, "range"));
    if (uses.not_followed_count != 0)
        out += fmt::format("{} opened while {} others were open: not followed\n",
                           counted(uses.not_followed_count, "range"), kRangesFollowed_most);
    return out;
}

}  // namespace

std::string render_ranges(const RangeList& list, Letters letters) {
    std::map<std::tuple<uint32_t, int>, Row> rows;
    for (const RangeUse& range : list.uses.ranges) {
        for (const DeviceUse& use : range.devices) {
            Row& row = rows[{range.folded_name, use.device}];
            row.first_ticket = std::min(row.first_ticket, range.begin_ticket);
            ++row.count;
            row.peak_bytes = std::max(row.peak_bytes, use.peak_bytes);
            row.added_bytes = std::max(row.added_bytes, use.added_bytes());
            row.left_bytes = std::max(row.left_bytes, use.left_bytes);
        }
    }
    if (rows.empty()) return nothing_shown(list.uses) + left_out(list.uses);
    std::vector<std::pair<std::tuple<uint32_t, int>, Row>> ordered(rows.begin(), rows.end());
    std::ranges::sort(ordered, {}, [](const auto& row) {
        return std::tuple(row.second.first_ticket, std::get<1>(row.first));
    });
    std::string out = fmt::format("{:<{}} {:>6} {:>7} {:>12} {:>12} {:>12}\n", "range, the most of each",
                                  kNameColumns, "device", "times", "peak", "added", "left");
    for (const auto& [key, row] : ordered) {
        const auto& [name, device] = key;
        const std::string shown = shown_name(list, name, letters);
        out += fmt::format("{}{} {:>6} {:>7} {:>12} {:>12} {:>12}\n", shown,
                           std::string(kNameColumns - std::min(kNameColumns, columns_of(shown)), ' '),
                           fmt::format("cuda:{}", device), grouped(row.count), size_text(row.peak_bytes),
                           size_text(row.added_bytes), wide_size_text(row.left_bytes));
    }
    return out + left_out(list.uses);
}

std::string ranges_json(const RangeList& list) {
    Json::Array ranges;
    for (const RangeUse& range : list.uses.ranges)
        ranges.push_back(range_json(list, range));
    return Json(Json::Object{{"begun_before_count", list.uses.begun_before_count},
                             {"in_standby", list.uses.in_standby},
                             {"last", last_json(list)},
                             {"not_followed_count", list.uses.not_followed_count},
                             {"ranges", std::move(ranges)},
                             {"schema", kRangesSchema}})
               .text() +
           "\n";
}

}  // namespace memsnap
