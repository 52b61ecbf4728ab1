// SPDX-License-Identifier: Apache-2.0
//
// Extents, sites and libraries at the failing instant. Rule: sites are numbered as the extents list them,
// then by the address of blocks outside every segment.
#include <map>

#include "case.h"

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

struct SiteRow {
    u64 ordinal = 0;
    bool has_stack = false;
    Int bytes = 0;
    u64 block_count = 0;
    Int retained = 0;
    u64 first_step = kNoTicket, last_step = 0;
    const Life* largest = nullptr;
};

Json sites_of(const Incident& incident, Dictionary& dictionary) {
    std::map<Site, SiteRow> by_site;
    for (const auto* block : incident.inputs.state.blocks) {  // by address
        auto& row = by_site[site_of(*block)];
        row.ordinal = dictionary.sites.of(site_of(*block));
        row.has_stack = block->site != 0;
        row.bytes += block->size;
        ++row.block_count;
        u64 step = block->step.value_or(0);
        row.first_step = std::min(row.first_step, step);
        row.last_step = std::max(row.last_step, step);
        if (row.largest == nullptr || block->size > row.largest->size) row.largest = block;
    }
    std::vector<SiteRow> rows;
    for (auto& [site, row] : by_site) {
        auto retained = incident.growth.retained_by_site.find(site);
        if (retained != incident.growth.retained_by_site.end()) row.retained = retained->second;
        rows.push_back(row);
    }
    std::sort(rows.begin(), rows.end(), [](const SiteRow& a, const SiteRow& b) {
        return std::tuple(-a.bytes, a.ordinal) < std::tuple(-b.bytes, b.ordinal);
    });
    Json::Array list;
    for (const auto& row : rows) {
        u16 phase = row.largest->phase;
        list.emplace_back(Json::Object{{"site", row.ordinal},
                                       {"has_stack", row.has_stack},
                                       {"bytes", row.bytes},
                                       {"block_count", row.block_count},
                                       {"retained_bytes", row.retained},
                                       {"first_step", row.first_step},
                                       {"last_step", row.last_step},
                                       {"phase", phase == 0 ? u64{0} : dictionary.phases.of(phase)}});
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
    evidence["libraries"] = libraries_of(incident, dictionary);
}

}  // namespace oracle
