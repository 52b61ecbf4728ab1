// SPDX-License-Identifier: Apache-2.0
//
// What of a receipt cannot be recomputed without its sidecar or key. The rule: it is taken as it is stated,
// and only where the recomputed receipt could not tell; everything else must follow from the ring.
#pragma once

#include <rapidjson/document.h>

namespace memsnap {

struct ReceiptMeans {
    bool names = false;  // the sidecar was read
    bool key = false;    // of tokens
};

// Puts into `recomputed` what `stated` says there, and digests it anew.
void take_unverified(const rapidjson::Document& stated, const ReceiptMeans& means,
                     rapidjson::Document& recomputed);

}  // namespace memsnap
