// SPDX-License-Identifier: Apache-2.0
//
// One case: the file, its failures, the incident and what was gathered about it. Rule: the documents below
// are written from this and from nothing else.
#pragma once

#include "decide.h"
#include "sidecar.h"
#include "tokens.h"
#include "validate.h"

namespace oracle {

struct Incident {
    Failed failed;
    bool followed = false;  ///< its chain
    bool in_keyframe = false;
    Scene scene;  ///< the ring's, or the keyframe's
    Inputs inputs;
    Growth growth;
    Question question;
    Decision decision;
    Sums::Peak peak;  ///< of active bytes by the failing instant
};

struct Case {
    File file;
    std::optional<Names> names;
    Scene ring;
    Tolerated tolerated;
    Failures failures;
    std::optional<Incident> incident;
    std::optional<int> only_device;  ///< asked for
    bool without_evidence = false;   ///< an incident of which nothing is left to judge

    const Scene& looked_at() const { return incident ? incident->scene : ring; }
};

struct Dictionary {
    Ordinals<Site> sites;
    Ordinals<u16> phases;
    Ordinals<u16> libraries;
    Ordinals<u64> dimensions;
};

Json capture_of(const Case& c);
Json environment_of(const Case& c, Dictionary& dictionary);
Json evidence_of(const Case& c, Dictionary& dictionary);
/// `receipts`: the dictionary of the receipt that is compared, null without one.
Json dictionary_of(const Case& c, const Dictionary& dictionary, const Json& receipts);
Json verdict_of(const Case& c);
Json times_of(const Case& c);

// Parts of the evidence.
void add_ledgers(const Incident& incident, Json::Object& evidence);
/// Extents, sites and libraries; the first to number sites and phases.
void add_blocks(const Incident& incident, Dictionary& dictionary, Json::Object& evidence);
void add_history(const Incident& incident, Json::Object& evidence);
void add_peak_sites(const Case& c, Dictionary& dictionary, Json::Object& evidence);
void add_recent(const Incident& incident, Dictionary& dictionary, Json::Object& evidence);
void add_site_growth(const Incident& incident, Dictionary& dictionary, Json::Object& evidence);
void add_collections(const Incident& incident, Dictionary& dictionary, Json::Object& evidence);
void add_requests(const Case& c, Json::Object& evidence);
void add_dimension_effects(const Incident& incident, Dictionary& dictionary, Json::Object& evidence);
void add_holders(const Case& c, Dictionary& dictionary, Json::Object& evidence);
Json shapes_of(const Case& c, const std::optional<int>& only);
/// The devices that have a shape.
std::vector<int> devices_with_shapes(const Case& c, const std::optional<int>& only);
std::string_view basis_name(Basis basis);
std::string_view family_name(Family family);
std::string_view victim_name(Victim victim);

}  // namespace oracle
