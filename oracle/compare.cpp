// SPDX-License-Identifier: Apache-2.0
//
// A receipt against its ring. Rule: every member of either side counts; an unknown or missing one is a
// difference, and the receipt's digests must be those of its own text. `names` and `references` tell
// nothing that a ring could contradict.
#include "receipt.h"
#include "references.h"

namespace oracle {

Expected<std::optional<Difference>> compare(std::string_view text, Bytes ring, const Options& options) {
    auto receipt = parse_document(text);
    if (!receipt || receipt->object() == nullptr)
        return Difference{"", "a receipt", "is no JSON of integers and words"};
    if (!is_canonical(text, *receipt)) return Difference{"", "canonical text", "is not canonical"};
    // The incident to look at is the receipt's own.
    auto looked_at = options;
    const auto* ticket = (*receipt)["evidence"]["failure"]["ticket"].number();
    bool names_failure = ticket != nullptr && *ticket >= 0 && *ticket < kNoTicket;
    if (names_failure) looked_at.choice.ticket = static_cast<u64>(*ticket);
    auto result = examine(ring, looked_at, (*receipt)["dictionary"]);
    if (!result && result.error().exit_code == kExitUsage && names_failure)
        return Difference{"evidence.failure.ticket", "no such failure", digits(*ticket)};
    if (!result) return std::unexpected(result.error());

    // The members first, the digests last: a digest only says that something differs.
    if (auto difference = first_difference("", receipt_members(*result),
                                           without(*receipt, {"digest", "names", "references"})))
        return difference;
    if (auto wrong = wrong_reference((*receipt)["references"])) return wrong;
    Json digest = Json::Object{{"algorithm", "sha256"},
                               {"evidence", sha256_hex((*receipt)["evidence"].canonical())},
                               {"receipt", receipt_digest(*receipt)}};
    return first_difference("digest", digest, (*receipt)["digest"]);
}

}  // namespace oracle
