// SPDX-License-Identifier: Apache-2.0
//
// The oracle's library: a ring in, its document out; a receipt and a ring in, their first difference out.
// Rule: no file, clock or setting is touched; everything is in the arguments.
#pragma once

#include <string_view>

#include "case.h"
#include "difference.h"
#include "error.h"
#include "json.h"

namespace oracle {

struct Options {
    Choice choice;
    std::optional<u64> head_after;  ///< the head, read again after the ring was copied
    std::optional<Bytes> sidecar;   ///< what lies beside the ring, whatever it is
};

struct Result {
    Json document;  ///< memsnap.oracle.v1
    Json times;
    int exit_code = 0;  ///< 0, 10 or 11
};

/// `receipts`: the dictionary of the receipt that is compared, null without one.
Expected<Result> examine(Bytes ring, const Options& options = {}, const Json& receipts = {});

/// Nothing when the receipt says what the ring says.
Expected<std::optional<Difference>> compare(std::string_view receipt, Bytes ring,
                                            const Options& options = {});

/// For those who need more of a case than its document. The case points into itself, so it is made where it
/// stays.
Expected<void> make_case(Bytes ring, const Options& options, Case& c);
Result result_of(const Case& c, const Json& receipts = {});

/// Birth tickets of every allocation the window knows, ascending.
Expected<std::vector<u64>> known_allocations(Bytes ring, const Options& options = {});

}  // namespace oracle
