// SPDX-License-Identifier: Apache-2.0
//
// A job of many processes: its recordings in, its receipt out (docs/job.md, VERDICT.md §17). Rule: each
// recording is read on its own, one at a time; what cannot be read is counted, and the others go on.
#pragma once

#include <functional>

#include "identity.h"
#include "job_parts.h"

namespace oracle {

/// A recording as it was copied, with what lies beside it.
struct Copy {
    std::vector<std::byte> bytes;
    std::optional<u64> head_after;
    std::optional<std::vector<std::byte>> sidecar;

    Options options() const;
};

struct JobRecording {
    std::optional<Identity> identity;           ///< nothing: it has no head
    std::function<std::optional<Copy>()> copy;  ///< nothing: it cannot be read
};

struct JobFiles {
    std::vector<JobRecording> recordings;  ///< each once, by path
    std::vector<int> unread;               ///< exit codes of folders and files that could not be looked into
};

/// What recordings do not tell and a receipt states.
struct Stated {
    Int clocks_within_ns = 128'000'000;
    std::vector<Sight> sights;  ///< by process
};

/// The receipt, and the exit status in it.
Json job_receipt(const JobFiles& files, const Stated& stated);
/// What is printed of a job: the receipt's members that follow from the recordings alone.
Json job_document(const Json& receipt);

bool is_job_receipt(std::string_view text);
/// Nothing when the receipt says what the recordings say.
std::optional<Difference> compare_job(std::string_view receipt, const JobFiles& files);

}  // namespace oracle
