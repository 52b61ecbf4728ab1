// SPDX-License-Identifier: Apache-2.0
//
// The recordings in folders, and which of them are of one job. The rule: only heads are read; links to
// folders are not followed; what cannot be read is listed and never ends the search.
#pragma once

#include <compare>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "capture.h"
#include "result.h"

namespace memsnap {

// What the processes of one job share.
struct JobKey {
    JobKeySource source = JobKeySource::none;
    uint64_t key = 0;
    uint64_t host_key = 0;  // of a session alone: another host has the same numbers

    auto operator<=>(const JobKey&) const = default;
};
JobKey job_key_of(const HeaderFacts& header);
// "0x5c1e40d2", or "none": a handle for the one who has the files; no export holds it.
std::string text_of(const JobKey& key);

struct JobFile {
    std::string path;
    std::filesystem::file_time_type written;
    HeaderFacts header;
};

struct FoundFiles {
    std::vector<JobFile> recordings;  // by path
    std::vector<Error> damaged;  // folders, and files that begin as a recording does, that cannot be read
    uint64_t foreign_count = 0;  // are no recordings at all
};

// The `*.bin` files of a folder and of the folders in it, down to a depth (0: of the folder itself alone).
FoundFiles find_recordings(const std::string& folder, int depth);
inline constexpr int kJobFolders_depth = 8;

Error unreadable_folder(const std::string& path, std::error_code error);

// Leaves one file of each recording: of copies and links that which holds most of it, or was written last.
// How many were left out.
uint64_t drop_repeats(std::vector<JobFile>& recordings);

struct FoundJob {
    JobKey key;
    std::vector<JobFile> files;               // by path
    std::filesystem::file_time_type written;  // the newest of them
};

// Newest first.
std::vector<FoundJob> jobs_of(std::vector<JobFile> files);

}  // namespace memsnap
