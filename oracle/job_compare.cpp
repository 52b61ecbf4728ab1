// SPDX-License-Identifier: Apache-2.0
//
// A job's receipt against its recordings. Rule: every member counts, the digest last; taken as stated is
// only what no recording tells: how far clocks are off, and who was still there.
#include "job.h"

namespace oracle {
namespace {

constexpr Int kGreatestTimeNs = (Int{1} << 63) - 1;

Sight sight_of(const Json& process) {
    const auto* role = process["role"].text();
    if (role == nullptr) return Sight::kOutOfSight;
    if (*role == "running") return Sight::kRuns;
    return *role == "killed" || *role == "followed" ? Sight::kGone : Sight::kOutOfSight;
}

}  // namespace

bool is_job_receipt(std::string_view text) {
    auto document = parse_document(text);
    const auto* schema = document ? (*document)["schema"].text() : nullptr;
    return schema != nullptr && *schema == "memsnap.job.v1";
}

std::optional<Difference> compare_job(std::string_view text, const JobFiles& files) {
    auto receipt = parse_document(text);
    if (!receipt || receipt->object() == nullptr)
        return Difference{"", "a receipt", "is no JSON of integers and words"};
    if (!is_canonical(text, *receipt)) return Difference{"", "canonical text", "is not canonical"};
    const auto& within = (*receipt)["job"]["clocks_within_ns"];
    if (within.number() == nullptr || *within.number() < 0 || *within.number() > kGreatestTimeNs)
        return Difference{"job.clocks_within_ns", "a time", within.canonical()};
    Stated stated{*within.number(), {}};
    if (const auto* processes = (*receipt)["processes"].array()) {
        for (const auto& process : *processes)
            stated.sights.push_back(sight_of(process));
    }
    auto expected = job_receipt(files, stated);
    if (auto difference = first_difference("", without(expected, {"digest"}), without(*receipt, {"digest"})))
        return difference;
    return first_difference("digest", expected["digest"], (*receipt)["digest"]);
}

}  // namespace oracle
