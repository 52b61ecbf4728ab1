// SPDX-License-Identifier: Apache-2.0
//
// The long parts of the evidence: extents, sites and libraries at the failing instant, and what led to it.
// The rule: rows of integers and words, written without a value a cell where there may be many.
#pragma once

#include "analysis.h"
#include "json.h"
#include "receipt_dictionary.h"

namespace memsnap {

Json growth_json(const Incident& incident, const Dictionary& dictionary);
Json extents_json(const Scene& scene);
Json sites_json(const Scene& scene, const Dictionary& dictionary);
Json categories_json(const Scene& scene);
Json libraries_json(const Capture& capture, const Scene& scene, const Dictionary& dictionary);
Json peak_json(const Peak& peak);
Json lifetimes_json(const Lifetimes& lifetimes);
Json reconciliation_json(const Reconciliation& reconciliation);

}  // namespace memsnap
