// SPDX-License-Identifier: Apache-2.0
//
// What stands for the names of a recording: ordinals in the evidence, tokens beside it. The rule: ordinals
// count from 1 by first appearance, 0 is none; a token is keyed with the recording's random id, or of a text
// with the user's own key; a text itself is in the list of names alone.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analysis.h"
#include "capture.h"
#include "digest.h"
#include "json.h"
#include "site_names.h"

namespace memsnap {

// What is known of names, and what may be made of it.
struct Naming {
    SiteNames* sites = nullptr;   // nullptr: no names
    std::optional<TokenKey> key;  // tokens of texts, equal in all recordings
    bool with_names = false;      // the texts themselves
};

// Stands for a local id: of its text with the user's key where both are there, else with the recording's id.
std::string name_token(std::string_view kind, uint64_t id, std::optional<std::string_view> text,
                       const Capture& capture, const Naming& naming);

// Of a site with a stack.
std::string site_token(uint64_t site, const Capture& capture, const Naming& naming);

// By local name id and by number; nullptr: not known.
const std::string* text_of_name(const Naming& naming, uint64_t name);
const std::string* text_of_library(const Capture& capture, const Naming& naming, uint64_t number);

class Dictionary {
  public:
    explicit Dictionary(const Analysis& analysis);

    uint64_t site(const SiteKey& key) const;
    uint64_t phase(uint16_t folded_name) const;
    uint64_t library(uint16_t number) const;
    uint64_t dimension(uint64_t name) const;

    uint64_t site_count() const { return sites_.size(); }
    uint64_t phase_count() const { return phases_.size(); }
    uint64_t dimension_count() const { return dimensions_.size(); }

    // What the ordinals stand for, by ordinal.
    std::vector<SiteKey> sites() const;
    std::vector<uint64_t> phases() const;
    std::vector<uint64_t> libraries() const;
    std::vector<uint64_t> dimensions() const;

    Json::Object json(const Capture& capture, const Naming& naming) const;
    // The texts of the ordinals in it, as far as they are known. Needs naming.sites.
    Json::Object names_json(const Capture& capture, const Naming& naming) const;

  private:
    std::map<uint64_t, uint64_t> stacks() const;  // stack tokens by ordinal
    void take_scene(const Scene& scene);
    void take_peak(const PeakSites& peak);
    void take_trail(const Trail& trail);
    void take_site(const SiteKey& key);
    void take_phase(uint16_t folded_name);
    void take_libraries(const std::vector<ForeignBytes>& libraries);

    std::unordered_map<SiteKey, uint64_t, SiteKeyHash> sites_;
    std::unordered_map<uint64_t, uint64_t> phases_;
    std::unordered_map<uint64_t, uint64_t> libraries_;
    std::unordered_map<uint64_t, uint64_t> dimensions_;
};

}  // namespace memsnap
