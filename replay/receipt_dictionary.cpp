// SPDX-License-Identifier: Apache-2.0
//
// Ordinals of what the evidence names, and the list of their tokens.
#include "receipt_dictionary.h"

#include <map>
#include <string_view>

#include "names.h"
#include "utf8.h"

namespace memsnap {
namespace {

template <class Map, class Key>
uint64_t ordinal_of(const Map& ordinals, const Key& key) {
    const auto found = ordinals.find(key);
    return found == ordinals.end() ? 0 : found->second;
}

// What a key is applied to; nothing without one.
std::optional<std::string> keyed_text(const Naming& naming, uint64_t site) {
    const bool wanted = naming.key && naming.sites != nullptr;
    return wanted ? site_text(naming.sites->all(site)) : std::nullopt;
}

Json::Object entry(std::string_view kind, uint64_t ordinal, std::string token, std::string_view scope) {
    return {{std::string(kind), ordinal}, {"token", std::move(token)}, {"scope", scope}};
}

// By ordinal. `text_of` a local id: nullptr where it is not known.
template <class TextOf>
std::vector<Json::Object> entries(std::string_view kind, const std::map<uint64_t, uint64_t>& id_of_ordinal,
                                  const Capture& capture, const Naming& naming, const TextOf& text_of) {
    std::vector<Json::Object> list;
    for (const auto& [ordinal, id] : id_of_ordinal) {
        const auto text = text_of(id);
        const auto known = text ? std::optional<std::string_view>(*text) : std::nullopt;
        list.push_back(entry(kind, ordinal, name_token(kind, id, known, capture, naming),
                             naming.key && text ? "key" : "ring"));
    }
    return list;
}

// By ordinal: {kind: ordinal, "name": ...}, of those with a text.
template <class TextOf>
Json::Array names(std::string_view kind, const std::map<uint64_t, uint64_t>& id_of_ordinal,
                  const TextOf& text_of) {
    Json::Array list;
    for (const auto& [ordinal, id] : id_of_ordinal) {
        if (const std::string* const text = text_of(id))
            list.push_back(Json::Object{{std::string(kind), ordinal}, {"name", utf8_text(*text)}});
    }
    return list;
}

Json::Array array(const std::vector<Json::Object>& list) {
    return {list.begin(), list.end()};
}

Json::Array frames_json(const SiteFrames& frames) {
    Json::Array list;
    for (const SiteFrame& frame : frames) {
        list.push_back(Json::Object{
            {"function", utf8_text(frame.function)}, {"file", utf8_text(frame.file)}, {"line", frame.line}});
    }
    return list;
}

std::map<uint64_t, uint64_t> turned(const std::unordered_map<uint64_t, uint64_t>& ordinals) {
    std::map<uint64_t, uint64_t> by_ordinal;
    for (const auto& [id, ordinal] : ordinals)
        by_ordinal[ordinal] = id;
    return by_ordinal;
}

// Ordinals of a dictionary have no gaps.
template <class Map>
std::vector<typename Map::key_type> listed(const Map& ordinals) {
    std::vector<typename Map::key_type> list(ordinals.size());
    for (const auto& [key, ordinal] : ordinals)
        list.at(ordinal - 1) = key;
    return list;
}

}  // namespace

std::string name_token(std::string_view kind, uint64_t id, std::optional<std::string_view> text,
                       const Capture& capture, const Naming& naming) {
    return naming.key && text ? token(kind, *text, *naming.key) : token(kind, id, capture.header.ring_id);
}

std::string site_token(uint64_t site, const Capture& capture, const Naming& naming) {
    return name_token("site", site, keyed_text(naming, site), capture, naming);
}

const std::string* text_of_name(const Naming& naming, uint64_t name) {
    return naming.sites == nullptr ? nullptr : naming.sites->names().text(name);
}

const std::string* text_of_library(const Capture& capture, const Naming& naming, uint64_t number) {
    if (naming.sites == nullptr || number > UINT16_MAX) return nullptr;
    return naming.sites->names().of_library(capture, static_cast<uint16_t>(number));
}

Dictionary::Dictionary(const Analysis& analysis) {
    for (const Note& note : analysis.notes)
        dimensions_.emplace(note.dimension, dimensions_.size() + 1);
    if (analysis.incident) take_scene(analysis.incident->scene);
    for (const PeakSites& peak : analysis.peak_sites)
        take_peak(peak);
    if (analysis.incident) take_trail(analysis.incident->trail);
    for (const Balance& balance : analysis.holders)
        take_libraries(balance.libraries);
}

void Dictionary::take_scene(const Scene& scene) {
    for (const SiteShare& share : scene.sites)
        sites_.emplace(share.key, share.ordinal);
    for (const uint16_t phase : scene.phases)
        take_phase(phase);
    take_libraries(scene.libraries);
}

void Dictionary::take_peak(const PeakSites& peak) {
    for (const SiteShare& share : peak.rows) {
        take_site(share.key);
        take_phase(share.phase);
    }
}

void Dictionary::take_trail(const Trail& trail) {
    for (const RecentBirth& birth : trail.recent)
        take_site(birth.key);
    if (trail.site_growth) {
        for (const SiteGrowthRow& row : trail.site_growth->rows)
            take_site(row.key);
    }
    for (const CollectedSite& row : trail.collections.rows)
        take_site(row.key);
}

void Dictionary::take_site(const SiteKey& key) {
    sites_.emplace(key, sites_.size() + 1);
}

void Dictionary::take_phase(uint16_t folded_name) {
    if (folded_name != 0) phases_.emplace(folded_name, phases_.size() + 1);
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

std::vector<SiteKey> Dictionary::sites() const {
    return listed(sites_);
}
std::vector<uint64_t> Dictionary::phases() const {
    return listed(phases_);
}
std::vector<uint64_t> Dictionary::libraries() const {
    return listed(libraries_);
}
std::vector<uint64_t> Dictionary::dimensions() const {
    return listed(dimensions_);
}

std::map<uint64_t, uint64_t> Dictionary::stacks() const {
    std::map<uint64_t, uint64_t> stacks;
    for (const auto& [key, ordinal] : sites_) {
        if (key.site != 0) stacks[ordinal] = key.site;
    }
    return stacks;
}

Json::Object Dictionary::json(const Capture& capture, const Naming& naming) const {
    const auto text = [&](uint64_t id) { return text_of_name(naming, id); };
    const auto library = [&](uint64_t id) { return text_of_library(capture, naming, id); };
    const auto frames = [&](uint64_t id) { return keyed_text(naming, id); };
    const auto phase_ids = turned(phases_);
    std::vector<Json::Object> phases = entries("phase", phase_ids, capture, naming, text);
    auto phase = phases.begin();
    for (const auto& [ordinal, id] : phase_ids) {
        const std::string* const name = text(id);
        const bool word = name != nullptr && is_word(Vocabulary::phase_word, *name);
        (phase++)->emplace("word", word ? Json(*name) : Json());
    }
    return {{"sites", array(entries("site", stacks(), capture, naming, frames))},
            {"phases", array(phases)},
            {"libraries", array(entries("library", turned(libraries_), capture, naming, library))},
            {"dimensions", array(entries("dimension", turned(dimensions_), capture, naming, text))}};
}

Json::Object Dictionary::names_json(const Capture& capture, const Naming& naming) const {
    const auto text = [&](uint64_t id) { return text_of_name(naming, id); };
    const auto library = [&](uint64_t id) { return text_of_library(capture, naming, id); };
    Json::Array sites;
    for (const auto& [ordinal, token] : stacks()) {
        const SiteFrames frames = naming.sites->all(token);
        if (!frames.empty())
            sites.push_back(Json::Object{{"site", ordinal}, {"frames", frames_json(frames)}});
    }
    return {{"sites", std::move(sites)},
            {"phases", names("phase", turned(phases_), text)},
            {"libraries", names("library", turned(libraries_), library)},
            {"dimensions", names("dimension", turned(dimensions_), text)}};
}

}  // namespace memsnap
