// SPDX-License-Identifier: Apache-2.0
//
// Adds to the oracle's document what a receipt has beside it. Rule: times and names are outside the digest.
#include "receipt.h"

#include "difference.h"

namespace oracle {

Json removed_fields() {
    return Json::Array{"addresses",    "file_names",  "host_name",   "job_key",
                       "module_names", "phase_names", "process_ids", "ring_id",
                       "stack_tokens", "thread_ids",  "user_name"};
}

Json::Object receipt_members(const Result& result) {
    auto members = *result.document.object();
    members["schema"] = "memsnap.receipt.v1";
    members["times"] = result.times;
    members["removed_fields"] = removed_fields();
    members.erase("digest");
    return members;
}

std::string receipt_digest(const Json& receipt) {
    return sha256_hex(without(receipt, {"digest", "times", "names"}).canonical());
}

}  // namespace oracle
