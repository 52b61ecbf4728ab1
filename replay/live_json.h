// SPDX-License-Identifier: Apache-2.0
//
// One recording as it is now, as one line of JSON (docs/live.md). The rule: each number carries its unit in
// its name and its age beside it; names of sites are for this machine's screens and go by an option.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "json.h"
#include "live_process.h"
#include "live_view.h"
#include "receipt_dictionary.h"

namespace memsnap {

inline constexpr std::string_view kLiveSchema = "memsnap.live.v1";

struct LiveOptions {
    size_t sites_count = 5;  // most sites a device
    size_t label_columns = 60;
    bool with_names = true;
};

// `now_ns`: CLOCK_MONOTONIC.
Json live_json(const LiveFacts& facts, const LiveOptions& options, const Naming& naming, uint64_t now_ns);
Json live_error_json(const Error& error);

}  // namespace memsnap
