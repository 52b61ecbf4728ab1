// SPDX-License-Identifier: Apache-2.0
#include "settings.h"

#include <cstdlib>
#include <map>
#include <string>

#include "catch.h"
#include "versions.h"

using namespace memsnap;
using namespace memsnap::recorder;

namespace {

using Variables = std::map<std::string, std::string>;

// Sets variables for one test case and removes them after it.
class Environment {
  public:
    explicit Environment(const std::map<std::string, std::string>& values) : values_(values) {
        for (const auto& [name, value] : values_) {
            setenv(name.c_str(), value.c_str(), 1);
        }
    }
    ~Environment() {
        for (const auto& [name, value] : values_) {
            unsetenv(name.c_str());
        }
    }
    Environment(const Environment&) = delete;
    Environment& operator=(const Environment&) = delete;

  private:
    std::map<std::string, std::string> values_;
};

std::string expanded(const char* text) {
    Path path;
    expand_template(text, TemplateValues{"node/7", "job 1", 4121, 3, 1700000000}, path);
    return path.c_str();
}

std::string numbered(const char* text, uint32_t attempt) {
    Path path;
    Path result;
    path.add(text);
    number_path(path, attempt, result);
    return result.c_str();
}

wire::AllocatorConfig parsed(const char* text) {
    wire::AllocatorConfig config{};
    parse_allocator_options(text, config);
    return config;
}

}  // namespace

TEST_CASE("Every letter of the output template is replaced, and nothing leaves its folder") {
    CHECK(expanded("/x/%h-%j-%p-%r-%t.bin") == "/x/node_7-job_1-4121-3-1700000000.bin");
    CHECK(expanded("100%%%p") == "100%4121");
    CHECK(expanded("%q%") == "%q%");
}

TEST_CASE("Without a rank the template says so") {
    Path path;
    expand_template("ring-%r.bin", TemplateValues{"h", "j", 1, -1, 2}, path);
    CHECK(std::string(path.c_str()) == "ring-none.bin");
}

TEST_CASE("A path that does not fit is marked as cut") {
    Path path;
    std::string longer(kPathCapacity_bytes, 'x');
    path.add(longer.c_str());
    CHECK(path.cut());
}

TEST_CASE("A taken name gets a number before its suffix") {
    CHECK(numbered("dir/ring.bin", 1) == "dir/ring.bin");
    CHECK(numbered("dir/ring.bin", 2) == "dir/ring-2.bin");
    CHECK(numbered("ring", 3) == "ring-3");
    CHECK(numbered(".bin", 2) == ".bin-2");
}

TEST_CASE("Allocator options are read as PyTorch reads them") {
    auto config = parsed("expandable_segments:True, max_split_size_mb:128,garbage_collection_threshold:0.85");
    CHECK(config.flags == wire::kConfigExpandableSegments);
    CHECK(config.max_split_size_bytes == uint64_t{128} * 1024 * 1024);
    CHECK(config.gc_threshold_permille == 850);
    CHECK(parsed("backend:cudaMallocAsync").flags == wire::kConfigBackendAsync);
    CHECK(parsed("backend:native").flags == 0);
    CHECK(parsed("roundup_power2_divisions:4").roundup_power2_divisions == 4);
    config = parsed("roundup_power2_divisions:[256:1,512:2,>:8],expandable_segments:False");
    CHECK(config.flags == wire::kConfigRoundupList);
    CHECK(config.unknown_option_count == 0);
}

TEST_CASE("Options nobody told us about are counted, and nonsense is survived") {
    CHECK(parsed("pinned_use_background_threads:True,release_lock_on_cudamalloc:True").unknown_option_count ==
          2);
    CHECK(parsed("").flags == 0);
    CHECK(parsed(",,:,x,max_split_size_mb:").max_split_size_bytes == 0);
    CHECK(parsed("garbage_collection_threshold:99999999999999999999").gc_threshold_permille >= 1000);
    CHECK(parsed("roundup_power2_divisions:[1:2").flags == wire::kConfigRoundupList);
}

TEST_CASE("The allocator's environment is known even when nothing is set") {
    CHECK(read_allocator_config().flags == wire::kConfigKnown);
    Environment environment(
        {{"PYTORCH_ALLOC_CONF", "expandable_segments:True"}, {"PYTORCH_NO_CUDA_MEMORY_CACHING", "0"}});
    CHECK(read_allocator_config().flags ==
          (wire::kConfigKnown | wire::kConfigExpandableSegments | wire::kConfigCachingDisabled));
}

TEST_CASE("Ranks come from whichever launcher set them") {
    CHECK(read_ranks().rank == -1);
    Environment environment({{"SLURM_PROCID", "5"}, {"OMPI_COMM_WORLD_SIZE", "8"}, {"LOCAL_RANK", "x"}});
    CHECK(read_ranks().rank == 5);
    CHECK(read_ranks().world_size == 8);
    CHECK(read_ranks().local_rank == -1);
}

TEST_CASE("A job is keyed by its launcher, else by its session") {
    Job session = read_job(77);
    CHECK(session.source == wire::JobKey::session);
    CHECK(session.key == 77);
    CHECK(read_job(0).source == wire::JobKey::none);
    Environment environment({{"TORCHELASTIC_RUN_ID", "none"}, {"SLURM_JOB_ID", "12/3"}});
    Job job = read_job(77);
    CHECK(job.source == wire::JobKey::launcher);
    CHECK(job.key != 77);
    CHECK(std::string(job.name.c_str()) == "12_3");
}

TEST_CASE("A job's name cannot lead out of the folder that a template names") {
    for (const char* id : {"..", "../..", "./x", ".", "a/../../b", "/etc/passwd", "x\n; rm -rf ~"}) {
        Environment environment(Variables{std::pair{"MEMSNAP_JOB", id}});
        const std::string name = read_job(0).name.c_str();
        CHECK(name.find('/') == std::string::npos);
        CHECK(name.front() != '.');
        CHECK(name.find_first_of("\n; ~") == std::string::npos);
    }
}

TEST_CASE("Ranks and jobs are those that the launcher at hand announces, the nearest one first") {
    Environment flux({{"FLUX_TASK_RANK", "5"},
                      {"FLUX_JOB_SIZE", "16"},
                      {"FLUX_TASK_LOCAL_ID", "1"},
                      {"FLUX_JOB_ID", "f1"}});
    CHECK(read_ranks().rank == 5);
    CHECK(read_ranks().local_rank == 1);
    CHECK(read_ranks().world_size == 16);
    CHECK(std::string(read_job(0).name.c_str()) == "f1");
    Environment slurm({{"SLURM_PROCID", "6"}, {"SLURM_JOB_ID", "77"}, {"JOB_COMPLETION_INDEX", "1"}});
    CHECK(read_ranks().rank == 6);
    CHECK(std::string(read_job(0).name.c_str()) == "77");
    Environment torchrun({{"RANK", "7"}, {"MEMSNAP_JOB", "mine"}});
    CHECK(read_ranks().rank == 7);
    CHECK(std::string(read_job(0).name.c_str()) == "mine");
}

TEST_CASE("What a folder may hold is not limited unless it is said") {
    CHECK(read_settings().housekeeping.kept_count == 0);
    CHECK(read_settings().housekeeping.budget_bytes == 0);
    Environment environment({{"MEMSNAP_KEEP_FILES", "20"}, {"MEMSNAP_DISK_MB", "2048"}});
    CHECK(read_settings().housekeeping.kept_count == 20);
    CHECK(read_settings().housekeeping.budget_bytes == uint64_t{2} << 30);
    setenv("MEMSNAP_KEEP_FILES", "none", 1);
    setenv("MEMSNAP_DISK_MB", "-1", 1);
    CHECK(read_settings().housekeeping.kept_count == 0);
    CHECK(read_settings().housekeeping.budget_bytes == 0);
}

TEST_CASE("Unusable settings fall back to the defaults") {
    CHECK(read_settings().ring_bytes == uint64_t{64} << 20);
    Environment environment({{"MEMSNAP_RING_MB", "0"}, {"MEMSNAP_TABLE_ENTRIES", "lots"}});
    CHECK(read_settings().ring_bytes == uint64_t{64} << 20);
    CHECK(read_settings().table_entry_count == 131072);
    setenv("MEMSNAP_RING_MB", "3", 1);
    CHECK(read_settings().ring_bytes == uint64_t{3} << 20);
}

TEST_CASE("The time between samples is a number from 10 on, 0 for none, or the default") {
    CHECK(sample_period_ms() == 1000);
    const std::map<std::string, uint32_t> periods = {
        {"0", 0},           {"10", 10}, {"250", 250}, {"86400000", 86400000}, {"9", 1000},
        {"86400001", 1000}, {"", 1000}, {"-1", 1000}, {"1s", 1000},           {"99999999999999999999", 1000}};
    for (const auto& [text, period] : periods) {
        Environment environment({{"MEMSNAP_SAMPLE_MS", text}});
        CHECK(sample_period_ms() == period);
    }
}

TEST_CASE("PyTorch's version file tells both versions") {
    uint32_t torch = 1;
    uint32_t cudart = 1;
    parse_torch_versions(
        "__all__ = ['cuda']\n__version__ = '2.14.1+cu130'\ndebug = False\ncuda: Optional[str] = '13.0'\n",
        torch, cudart);
    CHECK(torch == 21401);
    CHECK(cudart == 13000);
    parse_torch_versions("__version__ = '2.6.0'\ncuda: Optional[str] = None\nhip = '6.1'\n", torch, cudart);
    CHECK(torch == 20600);
    CHECK(cudart == 0);
}

TEST_CASE("What a process is before anybody arms it is read from one word, and nonsense means recording") {
    CHECK(start_state() == wire::ArmState::recording);
    for (auto [text, state] : {std::pair{"cold", wire::ArmState::cold},
                               {"standby", wire::ArmState::standby},
                               {"recording", wire::ArmState::recording},
                               {"Cold", wire::ArmState::recording}}) {
        Environment environment(Variables{std::pair{"MEMSNAP_ARM", text}});
        CHECK(start_state() == state);
        CHECK(read_settings().start == state);
    }
}

TEST_CASE("What births get a site from is read from one word, and nonsense means the default") {
    CHECK(stack_wish() == wire::StackWish::automatic);
    const std::map<std::string, wire::StackWish> kWishes = {
        {"auto", wire::StackWish::automatic}, {"python", wire::StackWish::python},
        {"native", wire::StackWish::native},  {"both", wire::StackWish::both},
        {"off", wire::StackWish::off},        {"Off", wire::StackWish::automatic},
        {"", wire::StackWish::automatic},
    };
    for (const auto& [word, wish] : kWishes) {
        Environment environment(Variables{{"MEMSNAP_STACK", word}});
        CHECK(stack_wish() == wish);
    }
}

TEST_CASE(
    "The depth of stacks and the size of the sidecar have bounds, and the sidecar is small without stacks") {
    constexpr uint64_t kMebibyte = 1024 * 1024;
    CHECK(read_settings().stack_depth == 48);
    CHECK(read_settings().names_bytes == 16 * kMebibyte);
    {
        Environment depth(Variables{{"MEMSNAP_DEPTH", "128"}});
        Environment size(Variables{{"MEMSNAP_NAMES_MB", "1024"}});
        CHECK(read_settings().stack_depth == 128);
        CHECK(read_settings().names_bytes == 1024 * kMebibyte);
    }
    {
        Environment depth(Variables{{"MEMSNAP_DEPTH", "129"}});
        Environment size(Variables{{"MEMSNAP_NAMES_MB", "0"}});
        CHECK(read_settings().stack_depth == 48);
        CHECK(read_settings().names_bytes == 16 * kMebibyte);
    }
    Environment environment(Variables{{"MEMSNAP_STACK", "off"}});
    CHECK(read_settings().names_bytes == 256 * 1024);
    Environment wanted(Variables{{"MEMSNAP_NAMES_MB", "2"}});
    CHECK(read_settings().names_bytes == 2 * kMebibyte);
}
