// SPDX-License-Identifier: Apache-2.0
// simcuda-launcher: what scripts/with_simcuda runs. Makes a session (or joins the one it is in), runs a
// command with the simulated libraries in place, and removes the session. Rule: the command's streams,
// signals and end are its own: signals sent to the launcher reach it, its exit code and its death by a signal
// become the launcher's.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

#include "launcher_options.h"
#include "shared_state.h"

using namespace simcuda;

namespace {

constexpr char kUsage[] =
    "usage: with_simcuda [--total 8GiB] [--devices 1] [--context 300MiB]\n"
    "                    [--external 0:1GiB@allocs=100,0:2GiB@ms=500] [--refuse 0@allocs=57,0@bytes=1GiB] -- "
    "COMMAND...\n"
    "Runs COMMAND on simulated GPUs; inside a session it joins that one. See tests/simcuda/README.md.\n";
constexpr int kForwardedSignals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

volatile sig_atomic_t child_pid = 0;

int fail(const std::string& reason) {
    std::fprintf(stderr, "with_simcuda: %s\n%s", reason.c_str(), kUsage);
    return 2;
}

// The terminal signals the whole foreground group itself; only what was sent to this process alone is passed
// on.
void forward_signal(int number, siginfo_t* info, void*) {
    if (info->si_code <= 0 && child_pid > 0) kill(child_pid, number);
}

void install_forwarding() {
    struct sigaction action {};
    action.sa_sigaction = forward_signal;
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    for (const int number : kForwardedSignals)
        sigaction(number, &action, nullptr);
}

enum class Place {
    first,
    last
};

void add_path(const char* variable, const std::string& entry, Place place) {
    const char* before = std::getenv(variable);
    const std::string present = before != nullptr ? before : "";
    if ((":" + present + ":").find(":" + entry + ":") != std::string::npos) return;
    const std::string both = place == Place::first ? entry + ":" + present : present + ":" + entry;
    setenv(variable, present.empty() ? entry.c_str() : both.c_str(), 1);
}

// What is preloaded already stays in front of the simulated runtime, as it would be in front of the real one.
// The driver and NVML are found by dlopen, as the real ones are.
void set_environment(const std::filesystem::path& libraries) {
    add_path("LD_PRELOAD", libraries / "libcudart.so.13", Place::last);
    add_path("LD_PRELOAD", libraries / "libsimblas.so", Place::last);
    add_path("LD_LIBRARY_PATH", libraries, Place::first);
}

[[noreturn]] void run_command(const LauncherOptions& options) {
    execvp(options.command[0], options.command.data());
    std::fprintf(stderr, "with_simcuda: cannot run %s\n", options.command[0]);
    _exit(127);
}

[[noreturn]] void end_like(int status) {
    if (!WIFSIGNALED(status)) std::exit(WEXITSTATUS(status));
    const rlimit no_core{0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    std::signal(WTERMSIG(status), SIG_DFL);
    std::raise(WTERMSIG(status));
    std::exit(128 + WTERMSIG(status));
}

std::string make_folder() {
    std::string folder = std::filesystem::temp_directory_path() / "simcuda-XXXXXX";
    return mkdtemp(folder.data()) == nullptr ? "" : folder;
}

int run_in_new_session(const LauncherOptions& options) {
    const std::string folder = make_folder();
    if (folder.empty()) return fail("cannot create a temporary folder");
    const std::string state = folder + "/state";
    const auto created = SharedState::create(state, options.settings);
    if (!created) {
        std::filesystem::remove_all(folder);
        return fail(created.error());
    }
    setenv("SIMCUDA_STATE", state.c_str(), 1);
    install_forwarding();
    const pid_t child = fork();
    if (child == 0) run_command(options);
    child_pid = child;
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        continue;
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);
    end_like(status);
}

}  // namespace

int main(int count, char** arguments) {
    if (count == 2 && std::string_view(arguments[1]) == "--help") {
        std::fputs(kUsage, stdout);
        return 0;
    }
    const auto options = parse_launcher_options(count, arguments);
    if (!options) return fail(options.error());
    set_environment(std::filesystem::canonical("/proc/self/exe").parent_path());
    if (std::getenv("SIMCUDA_STATE") == nullptr) return run_in_new_session(*options);
    if (options->names_settings)
        return fail("already in a session (SIMCUDA_STATE is set): its cards cannot change");
    run_command(*options);
}
