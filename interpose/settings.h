// SPDX-License-Identifier: Apache-2.0
//
// What the environment tells the recorder, read once when the file is created: MEMSNAP_* settings, the ranks
// and job the launcher announced, and the allocator configuration PyTorch was given. The rule: pure functions
// of the environment; an unusable value falls back to the default and never stops the job.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "housekeeping.h"
#include "text.h"
#include "wire.h"

namespace memsnap::recorder {

struct Settings {
    uint64_t ring_bytes;
    uint32_t table_entry_count;
    uint32_t boundary_entry_count;
    uint64_t names_bytes;  // of the sidecar
    uint32_t stack_depth;  // most frames of each sort
    bool any_file_system;
    HousekeepingRules housekeeping;  // MEMSNAP_KEEP_FILES, MEMSNAP_DISK_MB
    bool names;                      // a sidecar is wanted
    wire::StackWish stack_wish;
    wire::ArmState start;  // what the process is when nobody arms it
};
Settings read_settings();

// MEMSNAP_DISABLE=1, or the process has more rights than who set its environment.
bool recording_disabled();
bool notices_silenced();       // MEMSNAP_QUIET=1
bool keep_whole_file();        // MEMSNAP_KEEP=always
uint32_t sample_period_ms();   // MEMSNAP_SAMPLE_MS; 0: no samples
bool names_disabled();         // MEMSNAP_NAMES=0
bool cupti_wanted();           // MEMSNAP_CUPTI=1
wire::StackWish stack_wish();  // MEMSNAP_STACK
wire::ArmState start_state();  // MEMSNAP_ARM

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

Job job_of_launcher(const char* id);
// The job that a launcher named in an environment, in which value_of(name) is a variable's value or null;
// source `none` without one.
template <typename ValueOf>
Job read_launcher_job(ValueOf value_of) {
    for (const char* name :
         {"MEMSNAP_JOB", "TORCHELASTIC_RUN_ID", "PET_RDZV_ID", "SLURM_JOB_ID", "RAY_JOB_ID", "FLUX_JOB_ID",
          "PALS_APID", "OMPI_MCA_ess_base_jobid", "PBS_JOBID", "LSB_JOBID"}) {
        const char* id = value_of(name);
        // torchrun says "none" when nobody gave the run a name: it would join unrelated jobs.
        if (id != nullptr && id[0] != '\0' && !equal(id, "none")) return job_of_launcher(id);
    }
    return {};
}

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
