// SPDX-License-Identifier: Apache-2.0
//
// Extents, sites, categories and libraries at the failing instant. Rule: sites are numbered as the extents
// list them, then by the address of blocks outside every segment.
#include <map>

#include "case.h"
#include "site_sums.h"

namespace oracle {
namespace {

std::string_view class_name(SizeClass size_class) {
    return size_class == SizeClass::kSmall ? "small" : size_class == SizeClass::kLarge ? "large" : "unknown";
}
std::string_view state_name(ExtentState state) {
    return state == ExtentState::kLive ? "live" : state == ExtentState::kDeferred ? "deferred" : "free";
}
std::string_view compatibility_name(Compatibility compatibility) {
    switch (compatibility) {
        case Compatibility::kInUse:
            return "in_use";
        case Compatibility::kCompatible:
            return "compatible";
        case Compatibility::kIncompatible:
            return "incompatible";
        case Compatibility::kUnknown:
            break;
    }
    return "unknown";
}

Json birth_or_null(const Life& block) {
    return block.birth == kNoTicket ? Json() : Json(block.birth);
}

Json extents_of(const DeviceState& state, Ordinals<Site>& sites) {
    Json::Array rows;
    for (const auto& extent : state.extents) {
        const auto& segment = state.segments[extent.segment];
        bool live = extent.state == ExtentState::kLive;
        rows.emplace_back(Json::Array{
            u64{extent.segment}, extent.begin - segment.begin, extent.size(), class_name(segment.size_class),
            segment.expandable ? "expandable" : "native", state_name(extent.state),
            compatibility_name(extent.compatibility), live ? sites.of(site_of(*extent.block)) : u64{0},
            live ? birth_or_null(*extent.block) : Json()});
    }
    return Json::Object{{"columns", Json::Array{"segment", "offset_bytes", "size_bytes", "class", "kind",
                                                "state", "compatibility", "site", "allocation"}},
                        {"rows", std::move(rows)}};
}

Json sites_of(const Incident& incident, Dictionary& dictionary) {
    auto sums = sum_by_site(incident.inputs.state.blocks, incident.inputs.ticket);
    std::vector<std::pair<u64, const SiteSum*>> rows;
    for (const auto& [site, sum] : sums)
        rows.emplace_back(dictionary.sites.of(site), &sum);
    std::sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
        return std::tuple(-a.second->bytes, a.first) < std::tuple(-b.second->bytes, b.first);
    });
    Json::Array list;
    for (const auto& [ordinal, sum] : rows) {
        u16 phase = sum->largest->phase;
        list.emplace_back(Json::Object{{"site", ordinal},
                                       {"has_stack", sum->site.first != 0},
                                       {"bytes", sum->bytes},
                                       {"block_count", sum->block_count},
                                       {"retained_bytes", incident.growth.retained_of(sum->site)},
                                       {"first_step", sum->first_step},
                                       {"last_step", sum->last_step},
                                       {"phase", phase == 0 ? u64{0} : dictionary.phases.of(phase)},
                                       {"category", category_name(sum->category())}});
    }
    return list;
}

Json categories_of(const Incident& incident) {
    std::array<Int, kCategories> bytes{};
    std::array<u64, kCategories> counts{};
    for (const auto* block : incident.inputs.state.blocks) {
        auto category = static_cast<std::size_t>(category_at(*block, incident.inputs.ticket));
        bytes[category] += block->size;
        ++counts[category];
    }
    Json::Array list;
    for (std::size_t i = 0; i < kCategories; ++i) {
        if (counts[i] != 0)
            list.emplace_back(Json::Object{
                {"category", kCategoryNames[i]}, {"bytes", bytes[i]}, {"block_count", counts[i]}});
    }
    return list;
}

std::string_view role_name(const File& file, u16 library) {
    constexpr std::array<std::string_view, 6> kRoles{"unknown",      "torch_allocator", "torch",
                                                     "cuda_runtime", "cuda_driver",     "program"};
    u8 role = library < file.libraries.size() ? file.libraries[library].role : u8{0};
    return kRoles[role < kRoles.size() ? role : 0];
}

Json libraries_of(const Incident& incident, Dictionary& dictionary) {
    struct Held {
        Int bytes = 0;
        u64 count = 0;
    };
    std::map<u16, Held> by_library;
    for (const auto& piece : incident.scene.pieces.outside) {
        if (piece.device != incident.inputs.device || !piece.there_at(incident.inputs.ticket)) continue;
        by_library[piece.library].bytes += piece.bytes;
        ++by_library[piece.library].count;
    }
    Json::Array list;
    for (const auto& [library, held] : by_library) {
        list.emplace_back(Json::Object{{"library", library == 0 ? u64{0} : dictionary.libraries.of(library)},
                                       {"role", role_name(*incident.scene.recording.file, library)},
                                       {"bytes", held.bytes},
                                       {"allocation_count", held.count}});
    }
    return list;
}

}  // namespace

void add_blocks(const Incident& incident, Dictionary& dictionary, Json::Object& evidence) {
    evidence["extents"] = extents_of(incident.inputs.state, dictionary.sites);
    for (const auto* block : incident.inputs.state.blocks_outside)
        dictionary.sites.of(site_of(*block));
    evidence["sites"] = sites_of(incident, dictionary);
    evidence["categories"] = categories_of(incident);
    evidence["libraries"] = libraries_of(incident, dictionary);
}

}  // namespace oracle
