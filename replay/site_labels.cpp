// SPDX-License-Identifier: Apache-2.0
//
// Sites of one label are compared place by place, from the frame that the label shows; the first place in
// which they differ is told.
#include "site_labels.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <unordered_map>

namespace memsnap {
namespace {

// One place of a site: what is told of it, and more where that is the same.
struct Detail {
    std::string brief, full;
};

using Details = std::vector<Detail>;

enum Section : size_t {  // in the order of telling
    called,
    callers,
    operation,
    native_frames,
    instructions,
    kSectionCount
};

std::string instruction_text(const SiteFrame& frame) {
    return fmt::format(" +{}", static_cast<uint32_t>(frame.local_id));
}

std::array<Details, kSectionCount> details_of(SiteNames& sites, uint64_t token, Letters letters) {
    std::array<Details, kSectionCount> details;
    const auto detail = [&](std::string_view joint, const SiteFrame& frame) {
        return Detail{std::string(joint) + function_label(frame, letters),
                      std::string(joint) + line_label(frame, letters)};
    };
    const SiteFrames& python = sites.python(token);
    const size_t shown = python.empty() ? 0 : labelled_frame(python);
    for (size_t at = shown; at-- > 0;) {
        if (python[at].known && !is_module_call(python[at]))
            details[called].push_back(detail(" via ", python[at]));
    }
    const std::string_view skipped = letters == Letters::utf8 ? " … < " : " .. < ";
    for (size_t at = shown + 1; at < python.size(); ++at) {
        if (!is_own(python[at])) continue;
        details[callers].push_back(detail(details[callers].empty() ? " < " : skipped, python[at]));
    }
    for (size_t at = shown + 1; at-- > 0 && !python.empty();) {
        const std::string text = instruction_text(python[at]);
        details[instructions].push_back({text, text});
    }
    const SiteFrames& native = sites.native(token);
    if (const auto asked = operator_of(native)) {
        const std::string text = " via " + shown_text(*asked, letters);
        details[operation].push_back({text, text});
    }
    for (const SiteFrame& frame : native) {
        const std::string function = function_label(frame, letters);
        const std::string full = frame_label(frame, letters);
        const std::string brief = function.empty() ? full : function.substr(function.rfind(':') + 1);
        details[native_frames].push_back(
            {" via " + brief, fmt::format(" via {}+0x{:x}", full, frame.offset_bytes)});
    }
    return details;
}

struct Site {
    uint64_t token = 0;
    std::string label;
    Apart apart;
    std::array<Details, kSectionCount> details;
};

using Alike = std::vector<Site*>;

const Detail& detail_at(const Site& site, size_t section, size_t place) {
    static const Detail none;
    const Details& details = site.details[section];
    return place < details.size() ? details[place] : none;
}

// From a place of a section on.
void tell_apart(const Alike& alike, size_t section, size_t place) {
    if (alike.size() < 2) return;
    for (; section < kSectionCount; ++section, place = 0) {
        size_t count = 0;
        for (const Site* site : alike)
            count = std::max(count, site->details[section].size());
        for (; place < count; ++place) {
            std::map<std::string_view, Alike> different;
            std::set<std::string_view> briefly;
            for (Site* site : alike) {
                const Detail& detail = detail_at(*site, section, place);
                different[detail.full].push_back(site);
                briefly.insert(detail.brief);
            }
            if (different.size() == 1) continue;
            for (const auto& [full, members] : different) {
                for (Site* site : members) {
                    const Detail& detail = detail_at(*site, section, place);
                    std::string& said = section == callers ? site->apart.outer : site->apart.inner;
                    said = briefly.size() == different.size() ? detail.brief : detail.full;
                }
                tell_apart(members, section, place + 1);
            }
            return;
        }
    }
}

std::vector<Alike> alike_of(std::vector<Site>& sites) {
    std::map<std::string_view, Alike> by_label;
    for (Site& site : sites) {
        if (!site.label.empty()) by_label[site.label].push_back(&site);
    }
    std::vector<Alike> list;
    for (auto& [label, alike] : by_label) {
        if (alike.size() > 1) list.push_back(std::move(alike));
    }
    return list;
}

}  // namespace

std::vector<std::string> site_labels(SiteNames& sites, std::span<const uint64_t> tokens, size_t columns_most,
                                     Letters letters) {
    std::vector<Site> list;
    std::unordered_map<uint64_t, size_t> place_of;  // in the list, by token
    for (const uint64_t token : tokens) {
        if (!place_of.emplace(token, list.size()).second) continue;
        list.push_back({token, site_label(sites, token, columns_most, letters), {}, {}});
    }
    for (const Alike& alike : alike_of(list)) {
        for (Site* site : alike)
            site->details = details_of(sites, site->token, letters);
        tell_apart(alike, 0, 0);
        for (Site* site : alike)
            site->label = site_label(sites, site->token, columns_most, letters, site->apart);
    }
    // Names that are cut, or that one code object has like another.
    for (const Alike& alike : alike_of(list)) {
        size_t number = 0;
        for (Site* site : alike) {
            const std::string text = fmt::format(" #{}", ++number);
            site->label =
                cut_to_columns(site->label, columns_most - std::min(columns_most, text.size())) + text;
        }
    }
    std::vector<std::string> labels;
    for (const uint64_t token : tokens)
        labels.push_back(list[place_of.at(token)].label);
    return labels;
}

}  // namespace memsnap
