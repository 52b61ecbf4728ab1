// SPDX-License-Identifier: Apache-2.0
//
// What the environment tells the recorder, read once when the file is created: MEMSNAP_* settings, the ranks
// and job the launcher announced, and the allocator configuration PyTorch was given. The rule: pure functions
// of the environment; an unusable value falls back to the default and never stops the job.
#pragma once

#include <cstdint>

#include "text.h"
#include "wire.h"

namespace memsnap::recorder {

struct Settings {
    uint64_t ring_bytes;
    uint32_t table_entry_count;
    bool any_file_system;
};
Settings read_settings();

bool recording_disabled();  // MEMSNAP_DISABLE=1
bool notices_silenced();    // MEMSNAP_QUIET=1
bool keep_whole_file();     // MEMSNAP_KEEP=always

struct Ranks {
    int32_t rank = -1;
    int32_t local_rank = -1;
    int32_t world_size = -1;
};
Ranks read_ranks();

struct Job {
    wire::JobKey source = wire::JobKey::none;
    uint64_t key = 0;
    Text<64> name;  // for %j
};
Job read_job(uint32_t session_id);

wire::AllocatorConfig read_allocator_config();
// One option list as PyTorch takes it: "name:value,name:[a:b,c:d],...".
void parse_allocator_options(const char* text, wire::AllocatorConfig& config);

// The values that a MEMSNAP_OUT template may name.
struct TemplateValues {
    const char* host;       // %h
    const char* job;        // %j
    uint64_t pid;           // %p
    int32_t rank;           // %r, "none" when not set
    uint64_t start_time_s;  // %t, seconds since 1970
};
// Expands a template; "%%" is a percent sign and an unknown letter stays as it is written.
void expand_template(const char* text, const TemplateValues& values, Path& path);
// The name to try when `path` and all up to `attempt` - 1 are taken: "ring.bin" -> "ring-2.bin".
void number_path(const Path& path, uint32_t attempt, Path& numbered);

}  // namespace memsnap::recorder
