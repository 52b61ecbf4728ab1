// SPDX-License-Identifier: Apache-2.0
#include "settings.h"

#include <string.h>
#include <sys/auxv.h>

#include <initializer_list>

#include "boundary_state.h"
#include "python_frames.h"

namespace memsnap::recorder {
namespace {

constexpr uint64_t kMebibyte_bytes = 1024 * 1024;
constexpr uint64_t kDefaultRing_mebibytes = 64;
constexpr uint64_t kMaxRing_mebibytes = 64 * 1024;
constexpr uint64_t kDefaultTableEntries = 131072;
constexpr uint64_t kMinTableEntries = 64;
constexpr uint64_t kMaxTableEntries = uint64_t{1} << 24;
constexpr uint64_t kMinBoundaryEntries = 64;
constexpr uint64_t kDefaultNames_mebibytes = 16;
constexpr uint64_t kMaxNames_mebibytes = 1024;
constexpr uint64_t kNamesWithoutStacks_bytes = 256 * 1024;
constexpr uint64_t kMaxDisk_mebibytes = uint64_t{1} << 40;
constexpr uint64_t kDefaultStackDepth = 48;
constexpr uint64_t kDefaultSample_ms = 1000;
constexpr uint64_t kMinSample_ms = 10;
constexpr uint64_t kMaxSample_ms = 24 * 60 * 60 * 1000;

template <size_t N>
int32_t first_number(const char* const (&names)[N]) {
    for (const char* name : names) {
        uint64_t number = environment_number(name, UINT64_MAX, 0, INT32_MAX);
        if (number != UINT64_MAX) return static_cast<int32_t>(number);
    }
    return -1;
}

bool token_is(const char* text, size_t size, const char* expected) {
    return strlen(expected) == size && memcmp(text, expected, size) == 0;
}

bool is_true(const char* text, size_t size) {
    return token_is(text, size, "True") || token_is(text, size, "true") || token_is(text, size, "1");
}

// "0.8" -> 800. PyTorch takes a fraction between 0 and 1; digits beyond the third are dropped.
uint32_t permille(const char* text, size_t size) {
    uint32_t value = 0;
    size_t i = 0;
    for (; i < size && text[i] >= '0' && text[i] <= '9' && value < 1000; ++i) {
        value = value * 10 + static_cast<uint32_t>(text[i] - '0');
    }
    value *= 1000;
    uint32_t place = 100;
    if (i < size && text[i] == '.') {
        for (++i; i < size && text[i] >= '0' && text[i] <= '9'; ++i, place /= 10) {
            value += static_cast<uint32_t>(text[i] - '0') * place;
        }
    }
    return value;
}

void apply_option(const char* name, size_t name_size, const char* value, size_t value_size,
                  wire::AllocatorConfig& config) {
    uint64_t number = 0;
    const char* digits = value;
    bool numeric = read_number(digits, number);
    if (token_is(name, name_size, "expandable_segments")) {
        config.flags = (config.flags & ~uint32_t{wire::kConfigExpandableSegments}) |
                       (is_true(value, value_size) ? uint32_t{wire::kConfigExpandableSegments} : 0);
    } else if (token_is(name, name_size, "backend")) {
        if (token_is(value, value_size, "cudaMallocAsync")) config.flags |= wire::kConfigBackendAsync;
    } else if (token_is(name, name_size, "max_split_size_mb") && numeric && number < (uint64_t{1} << 40)) {
        config.max_split_size_bytes = number * kMebibyte_bytes;
    } else if (token_is(name, name_size, "garbage_collection_threshold")) {
        config.gc_threshold_permille = permille(value, value_size);
    } else if (token_is(name, name_size, "roundup_power2_divisions")) {
        if (value_size != 0 && value[0] == '[') config.flags |= wire::kConfigRoundupList;
        if (numeric && number <= UINT32_MAX) config.roundup_power2_divisions = static_cast<uint32_t>(number);
    } else {
        ++config.unknown_option_count;
    }
}

bool is_space(char c) {
    return c == ' ' || c == '\t';
}

void trim(const char*& text, size_t& size) {
    while (size != 0 && is_space(text[0])) {
        ++text;
        --size;
    }
    while (size != 0 && is_space(text[size - 1])) {
        --size;
    }
}

// The length of one value: up to the next comma that is not inside brackets.
size_t value_size_of(const char* text) {
    int depth = 0;
    size_t size = 0;
    for (; text[size] != '\0'; ++size) {
        if (text[size] == '[') ++depth;
        if (text[size] == ']') --depth;
        if (text[size] == ',' && depth <= 0) break;
    }
    return size;
}

}  // namespace

Settings read_settings() {
    Settings settings{};
    settings.ring_bytes =
        environment_number("MEMSNAP_RING_MB", kDefaultRing_mebibytes, 1, kMaxRing_mebibytes) *
        kMebibyte_bytes;
    settings.table_entry_count = static_cast<uint32_t>(environment_number(
        "MEMSNAP_TABLE_ENTRIES", kDefaultTableEntries, kMinTableEntries, kMaxTableEntries));
    uint64_t names_mebibytes = environment_number("MEMSNAP_NAMES_MB", 0, 1, kMaxNames_mebibytes);
    settings.names_bytes = names_mebibytes * kMebibyte_bytes;
    if (names_mebibytes == 0) {
        settings.names_bytes = stack_wish() == wire::StackWish::off
                                   ? kNamesWithoutStacks_bytes
                                   : kDefaultNames_mebibytes * kMebibyte_bytes;
    }
    settings.stack_depth =
        static_cast<uint32_t>(environment_number("MEMSNAP_DEPTH", kDefaultStackDepth, 1, kMaxFrames));
    settings.boundary_entry_count = static_cast<uint32_t>(environment_number(
        "MEMSNAP_BOUNDARY_ENTRIES", kBoundaryCapacity, kMinBoundaryEntries, kBoundaryCapacity));
    settings.any_file_system = environment_is("MEMSNAP_OUT_ANYFS", "1");
    settings.housekeeping.kept_count =
        static_cast<uint32_t>(environment_number("MEMSNAP_KEEP_FILES", 0, 1, UINT32_MAX));
    settings.housekeeping.budget_bytes =
        environment_number("MEMSNAP_DISK_MB", 0, 1, kMaxDisk_mebibytes) * kMebibyte_bytes;
    settings.names = !names_disabled();
    settings.stack_wish = stack_wish();
    settings.start = start_state();
    return settings;
}

bool recording_disabled() {
    return environment_is("MEMSNAP_DISABLE", "1") || getauxval(AT_SECURE) != 0;
}
bool notices_silenced() {
    return environment_is("MEMSNAP_QUIET", "1");
}
bool keep_whole_file() {
    return environment_is("MEMSNAP_KEEP", "always");
}
uint32_t sample_period_ms() {
    if (environment_is("MEMSNAP_SAMPLE_MS", "0")) return 0;
    return static_cast<uint32_t>(
        environment_number("MEMSNAP_SAMPLE_MS", kDefaultSample_ms, kMinSample_ms, kMaxSample_ms));
}
bool names_disabled() {
    return environment_is("MEMSNAP_NAMES", "0");
}
wire::StackWish stack_wish() {
    static const struct {
        const char* name;
        wire::StackWish wish;
    } kWishes[] = {
        {"off", wire::StackWish::off},
        {"python", wire::StackWish::python},
        {"native", wire::StackWish::native},
        {"both", wire::StackWish::both},
    };
    for (const auto& known : kWishes) {
        if (environment_is("MEMSNAP_STACK", known.name)) return known.wish;
    }
    return wire::StackWish::automatic;
}
wire::ArmState start_state() {
    if (environment_is("MEMSNAP_ARM", "cold")) return wire::ArmState::cold;
    return environment_is("MEMSNAP_ARM", "standby") ? wire::ArmState::standby : wire::ArmState::recording;
}
bool cupti_wanted() {
    return environment_is("MEMSNAP_CUPTI", "1");
}

Ranks read_ranks() {
    // torchrun and what speaks its language, Slurm, Open MPI, PMIx, MPICH and Intel MPI, Flux, PALS, and
    // Kubernetes' indexed jobs, whose pods count as ranks where nothing in them says better.
    static const char* const kRank[] = {
        "RANK",     "SLURM_PROCID",   "OMPI_COMM_WORLD_RANK", "PMIX_RANK",
        "PMI_RANK", "FLUX_TASK_RANK", "PALS_RANKID",          "JOB_COMPLETION_INDEX"};
    static const char* const kLocalRank[] = {
        "LOCAL_RANK",      "SLURM_LOCALID",      "OMPI_COMM_WORLD_LOCAL_RANK",
        "MPI_LOCALRANKID", "FLUX_TASK_LOCAL_ID", "PALS_LOCAL_RANKID"};
    static const char* const kWorldSize[] = {"WORLD_SIZE", "SLURM_NTASKS", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE",
                                             "FLUX_JOB_SIZE"};
    return Ranks{first_number(kRank), first_number(kLocalRank), first_number(kWorldSize)};
}

Job job_of_launcher(const char* id) {
    Job job;
    job.source = wire::JobKey::launcher;
    job.key = fnv1a(id);
    job.name.add_as_file_name(id);
    return job;
}

Job read_job(uint32_t session_id) {
    Job job = read_launcher_job(environment);
    // 0: led by a process outside our pid namespace, as everything there is.
    if (job.source != wire::JobKey::none || session_id == 0) return job;
    job.source = wire::JobKey::session;
    job.key = session_id;
    job.name.add_number(session_id);
    return job;
}

wire::AllocatorConfig read_allocator_config() {
    wire::AllocatorConfig config{};
    config.flags = wire::kConfigKnown;
    const char* options = nullptr;
    for (const char* name : {"PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_HIP_ALLOC_CONF", "PYTORCH_ALLOC_CONF"}) {
        if (options == nullptr) options = environment(name);
    }
    if (options != nullptr) parse_allocator_options(options, config);
    // PyTorch asks only whether the variable is set: "0" switches the cache off too.
    if (environment("PYTORCH_NO_CUDA_MEMORY_CACHING") != nullptr)
        config.flags |= wire::kConfigCachingDisabled;
    return config;
}

void parse_allocator_options(const char* text, wire::AllocatorConfig& config) {
    while (*text != '\0') {
        size_t size = value_size_of(text);
        const char* colon = static_cast<const char*>(memchr(text, ':', size));
        if (colon != nullptr) {
            const char* name = text;
            size_t name_size = static_cast<size_t>(colon - text);
            const char* value = colon + 1;
            size_t value_size = size - name_size - 1;
            trim(name, name_size);
            trim(value, value_size);
            apply_option(name, name_size, value, value_size, config);
        }
        text += size;
        if (*text == ',') ++text;
    }
}

void expand_template(const char* text, const TemplateValues& values, Path& path) {
    for (; *text != '\0'; ++text) {
        if (*text != '%' || text[1] == '\0') {
            path.add(*text);
            continue;
        }
        ++text;
        switch (*text) {
            case 'h':
                path.add_as_file_name(values.host);
                break;
            case 'j':
                path.add_as_file_name(values.job);
                break;
            case 'p':
                path.add_number(values.pid);
                break;
            case 'r':
                if (values.rank < 0) path.add("none");
                if (values.rank >= 0) path.add_number(static_cast<uint64_t>(values.rank));
                break;
            case 't':
                path.add_number(values.start_time_s);
                break;
            case '%':
                path.add('%');
                break;
            default:
                path.add('%');
                path.add(*text);
        }
    }
}

void number_path(const Path& path, uint32_t attempt, Path& numbered) {
    static const char kSuffix[] = ".bin";
    size_t stem = path.size();
    size_t suffix_size = sizeof kSuffix - 1;
    if (stem > suffix_size && equal(path.c_str() + stem - suffix_size, kSuffix)) stem -= suffix_size;
    numbered.clear();
    numbered.add(path.c_str(), stem);
    if (attempt > 1) {
        numbered.add('-');
        numbered.add_number(attempt);
    }
    numbered.add(path.c_str() + stem);
}

}  // namespace memsnap::recorder
