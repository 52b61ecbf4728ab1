// SPDX-License-Identifier: Apache-2.0
//
// One file of a comparison: a ring or a receipt. The rule: a ring is analysed and brought into the receipt's
// members, so that both kinds are read by the same code; a receipt is checked before anything of it is
// believed.
#pragma once

#include <rapidjson/document.h>

#include <optional>
#include <string>

#include "capture.h"
#include "digest.h"
#include "result.h"

namespace memsnap {

struct Source {
    std::string path;
    rapidjson::Document receipt;
    std::optional<Capture> capture;  // of a ring
};

// The receipt of a ring has tokens of the key, where there is one. Errors: not_memsnap, corrupt, io.
Result<Source> open_source(const std::string& path, const std::optional<TokenKey>& key = {});

}  // namespace memsnap
