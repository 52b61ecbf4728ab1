// SPDX-License-Identifier: Apache-2.0
//
// Ordinals of what the evidence names, and the list of their tokens.
#include "receipt_dictionary.h"

#include <map>
#include <string_view>

#include "digest.h"

namespace memsnap {
namespace {

template <class Map, class Key>
uint64_t ordinal_of(const Map& ordinals, const Key& key) {
    const auto found = ordinals.find(key);
    return found == ordinals.end() ? 0 : found->second;
}

// By ordinal: {kind: ordinal, "token": ...}.
Json::Array entries(std::string_view kind, const std::map<uint64_t, uint64_t>& id_of_ordinal,
                    const std::array<uint8_t, 16>& ring_id) {
    Json::Array list;
    for (const auto& [ordinal, id] : id_of_ordinal) {
        list.push_back(Json::Object{{std::string(kind), ordinal}, {"token", token(kind, id, ring_id)}});
    }
    return list;
}

std::map<uint64_t, uint64_t> turned(const std::unordered_map<uint64_t, uint64_t>& ordinals) {
    std::map<uint64_t, uint64_t> by_ordinal;
    for (const auto& [id, ordinal] : ordinals)
        by_ordinal[ordinal] = id;
    return by_ordinal;
}

}  // namespace

Dictionary::Dictionary(const Analysis& analysis) {
    for (const Note& note : analysis.notes)
        dimensions_.emplace(note.dimension, dimensions_.size() + 1);
    if (analysis.incident) take_scene(analysis.incident->scene);
    for (const Balance& balance : analysis.holders)
        take_libraries(balance.libraries);
}

void Dictionary::take_scene(const Scene& scene) {
    for (const SiteShare& share : scene.sites)
        sites_.emplace(share.key, share.ordinal);
    for (const uint16_t phase : scene.phases)
        phases_.emplace(phase, phases_.size() + 1);
    take_libraries(scene.libraries);
}

void Dictionary::take_libraries(const std::vector<ForeignBytes>& libraries) {
    for (const ForeignBytes& held : libraries) {
        if (held.library != 0) libraries_.emplace(held.library, libraries_.size() + 1);
    }
}

uint64_t Dictionary::site(const SiteKey& key) const {
    return ordinal_of(sites_, key);
}
uint64_t Dictionary::phase(uint16_t folded_name) const {
    return ordinal_of(phases_, folded_name);
}
uint64_t Dictionary::library(uint16_t number) const {
    return ordinal_of(libraries_, number);
}
uint64_t Dictionary::dimension(uint64_t name) const {
    return ordinal_of(dimensions_, name);
}

Json::Object Dictionary::json(const std::array<uint8_t, 16>& ring_id) const {
    std::map<uint64_t, uint64_t> sites;
    for (const auto& [key, ordinal] : sites_) {
        if (key.site != 0) sites[ordinal] = key.site;
    }
    Json::Array phases;
    for (const auto& [ordinal, id] : turned(phases_)) {
        // The recording has no texts of its own, so no phase is one of the known words.
        phases.push_back(
            Json::Object{{"phase", ordinal}, {"token", token("phase", id, ring_id)}, {"word", {}}});
    }
    return {{"sites", entries("site", sites, ring_id)},
            {"phases", std::move(phases)},
            {"libraries", entries("library", turned(libraries_), ring_id)},
            {"dimensions", entries("dimension", turned(dimensions_), ring_id)}};
}

}  // namespace memsnap
