// SPDX-License-Identifier: Apache-2.0
//
// Looks at the ring file after every single instruction of a recorded program: what it shows is what a kill
// at that instant would leave, since the kernel keeps a mapping's stores. Usage:
//   step_kill FOLDER MAX_CHECKED_STEPS STRIDE_AFTER program arguments...
// The program stops itself (SIGSTOP) where stepping begins and ends. Prints the number of steps and of
// different states seen.
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "ring_view.h"

namespace {

using memsnap::test::RingView;
namespace wire = memsnap::wire;

[[noreturn]] void die(const std::string& message) {
    std::fprintf(stderr, "step_kill: %s\n", message.c_str());
    std::exit(2);
}

std::string find_ring(const std::string& folder) {
    std::string found;
    DIR* open_folder = opendir(folder.c_str());
    while (const dirent* entry = readdir(open_folder)) {
        std::string name = entry->d_name;
        if (name.ends_with(".bin")) found = folder + "/" + name;
    }
    closedir(open_folder);
    return found;
}

class Watched {
  public:
    // Maps the file as soon as it has its size; false before.
    bool map_in(const std::string& folder) {
        if (bytes_ != nullptr) return true;
        int unnamed = open(folder.c_str(), O_TMPFILE | O_RDWR, 0600);
        unnamed_files_ = unnamed >= 0;
        if (unnamed_files_) close(unnamed);
        std::string path = find_ring(folder);
        if (path.empty()) return false;
        int file = open(path.c_str(), O_RDONLY);
        struct stat found = {};
        if (file < 0 || fstat(file, &found) != 0 || found.st_size == 0) {
            close(file);
            return false;
        }
        size_ = static_cast<size_t>(found.st_size);
        void* mapping = mmap(nullptr, size_, PROT_READ, MAP_SHARED, file, 0);
        close(file);
        if (mapping == MAP_FAILED) die("cannot map the ring");
        bytes_ = static_cast<const unsigned char*>(mapping);
        return true;
    }

    // Whether a store has reached the ring, the table or the pinned area since the last look: most
    // instructions store nothing there.
    bool changed() {
        size_t looked_at =
            static_cast<size_t>(header().areas[static_cast<uint32_t>(wire::AreaId::boundaries)].offset_bytes);
        if (looked_at == 0 || looked_at > size_) looked_at = wire::kAreaAlignment_bytes;
        if (seen_.size() == looked_at && std::memcmp(seen_.data(), bytes_, looked_at) == 0) return false;
        seen_.assign(bytes_, bytes_ + looked_at);
        return true;
    }

    // Why a reader would call this state corrupt, or empty.
    std::string broken_rule() const {
        // Only where files cannot be made without a name does an unfinished one ever show.
        bool has_magic = *reinterpret_cast<const uint64_t*>(bytes_) != 0;
        if (!has_magic && !unnamed_files_) return "";
        RingView view(bytes_, size_);
        auto violations = view.violations();
        if (!violations.empty()) return violations.front();
        // One thread is stepped: at most its record in flight, with the birth beside it, may be missing.
        if (view.gap_count() > 2) return std::to_string(view.gap_count()) + " records missing";
        return "";
    }

  private:
    const wire::Header& header() const { return *reinterpret_cast<const wire::Header*>(bytes_); }

    const unsigned char* bytes_ = nullptr;
    size_t size_ = 0;
    std::vector<unsigned char> seen_;
    bool unnamed_files_ = false;
};

pid_t start(char** arguments) {
    pid_t child = fork();
    if (child == 0) {
        ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
        execv(arguments[0], arguments);
        _exit(127);
    }
    return child;
}

// Continues until the program stops itself; false when it ended.
bool run_to_stop(pid_t child) {
    int status = 0;
    waitpid(child, &status, 0);  // the stop after exec
    for (;;) {
        ptrace(PTRACE_CONT, child, nullptr, nullptr);
        if (waitpid(child, &status, 0) != child || !WIFSTOPPED(status)) return false;
        if (WSTOPSIG(status) == SIGSTOP) return true;
    }
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 5) die("usage: step_kill FOLDER EVERY_STEP_UP_TO STRIDE program arguments...");
    const long every_step_up_to = std::atol(argv[2]);
    const long stride = std::atol(argv[3]);
    pid_t child = start(argv + 4);
    if (!run_to_stop(child)) die("the program ended before it stopped itself");

    Watched watched;
    long steps = 0;
    long checks = 0;
    for (int status = 0;; ++steps) {
        ptrace(PTRACE_SINGLESTEP, child, nullptr, nullptr);
        if (waitpid(child, &status, 0) != child || !WIFSTOPPED(status))
            die("the program ended while stepped");
        if (WSTOPSIG(status) == SIGSTOP) break;
        if (steps > every_step_up_to && steps % stride != 0) continue;
        if (!watched.map_in(argv[1]) || !watched.changed()) continue;
        ++checks;
        if (std::string rule = watched.broken_rule(); !rule.empty()) {
            std::printf("broken after %ld steps: %s\n", steps, rule.c_str());
            kill(child, SIGKILL);
            return 1;
        }
    }
    std::printf("%ld steps, %ld checks\n", steps, checks);
    kill(child, SIGKILL);
    return 0;
}
