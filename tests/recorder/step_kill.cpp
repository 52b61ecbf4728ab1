// SPDX-License-Identifier: Apache-2.0
//
// Looks at the ring file and its sidecar after every single instruction of a recorded program: what it shows
// is what a kill at that instant would leave, since the kernel keeps a mapping's stores. Usage:
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
#include "wire_names.h"

namespace {

using memsnap::test::RingView;
namespace wire = memsnap::wire;

[[noreturn]] void die(const std::string& message) {
    std::fprintf(stderr, "step_kill: %s\n", message.c_str());
    std::exit(2);
}

std::string find_file(const std::string& folder, const char* suffix) {
    std::string found;
    DIR* open_folder = opendir(folder.c_str());
    while (const dirent* entry = readdir(open_folder)) {
        std::string name = entry->d_name;
        if (name.ends_with(suffix)) found = folder + "/" + name;
    }
    closedir(open_folder);
    return found;
}

// The whole file, or null while it has no size.
const unsigned char* map_file(const std::string& path, size_t& size) {
    int file = open(path.c_str(), O_RDONLY);
    struct stat found = {};
    if (file < 0 || fstat(file, &found) != 0 || found.st_size == 0) {
        close(file);
        return nullptr;
    }
    size = static_cast<size_t>(found.st_size);
    void* mapping = mmap(nullptr, size, PROT_READ, MAP_SHARED, file, 0);
    close(file);
    if (mapping == MAP_FAILED) die("cannot map " + path);
    return static_cast<const unsigned char*>(mapping);
}

template <typename T>
T load(const unsigned char* at) {
    T value;
    std::memcpy(&value, at, sizeof value);
    return value;
}

// The bytes that an entry's own counts ask for.
size_t told_bytes(wire::NameKind kind, const unsigned char* payload, size_t payload_bytes) {
    switch (kind) {
        case wire::NameKind::code: {
            auto code = load<wire::CodeEntry>(payload);
            return sizeof code + code.file_name_bytes + code.name_bytes + code.line_table_bytes;
        }
        case wire::NameKind::stack: {
            auto stack = load<wire::StackEntry>(payload);
            return sizeof stack + 8u * (stack.python_count + stack.native_count);
        }
        case wire::NameKind::object: {
            auto object = load<wire::ObjectEntry>(payload);
            return sizeof object + object.build_id_bytes + object.path_bytes;
        }
        case wire::NameKind::none:
        case wire::NameKind::library:
        case wire::NameKind::name:
            return payload_bytes;
    }
    return ~size_t{0};
}

// Why a reader would call this sidecar damaged, or empty.
std::string broken_names(const unsigned char* bytes, size_t size) {
    for (size_t at = sizeof(wire::NamesHeader); at + sizeof(wire::NameEntry) <= size;) {
        auto entry = load<wire::NameEntry>(bytes + at);
        if (entry.entry_bytes == 0) return "";
        const unsigned char* payload = bytes + at + sizeof entry;
        if (entry.entry_bytes != (sizeof entry + entry.payload_bytes + 7u) / 8 * 8 ||
            entry.entry_bytes > size - at)
            return "an entry of a wrong size at " + std::to_string(at);
        if (told_bytes(entry.kind, payload, entry.payload_bytes) != entry.payload_bytes)
            return "an entry that is not whole at " + std::to_string(at);
        at += entry.entry_bytes;
    }
    return "";
}

class Watched {
  public:
    // Maps the files as soon as they have their sizes, and the ring again when it grew; false before the
    // ring has its size.
    bool map_in(const std::string& folder) {
        if (bytes_ != nullptr && header().file_bytes > size_) {
            munmap(const_cast<unsigned char*>(bytes_), size_);
            bytes_ = map_file(find_file(folder, ".bin"), size_);
        }
        if (bytes_ != nullptr && names_ == nullptr)
            names_ = map_file(find_file(folder, ".names"), names_size_);
        if (bytes_ != nullptr) return true;
        int unnamed = open(folder.c_str(), O_TMPFILE | O_RDWR, 0600);
        unnamed_files_ = unnamed >= 0;
        if (unnamed_files_) close(unnamed);
        std::string path = find_file(folder, ".bin");
        if (!path.empty()) bytes_ = map_file(path, size_);
        return bytes_ != nullptr;
    }

    // Whether a store has reached the ring, the tables, the pinned area or the sidecar since the last look:
    // most instructions store nothing there.
    bool changed() {
        size_t looked_at = static_cast<size_t>(area(wire::AreaId::keyframes).offset_bytes);
        if (looked_at == 0 || looked_at > size_) looked_at = wire::kAreaAlignment_bytes;
        const bool names_changed = names_ != nullptr && differs(seen_names_, names_, names_used());
        return differs(seen_, bytes_, looked_at) || appended_ring_changed() || names_changed;
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
        return names_ == nullptr ? "" : broken_names(names_, names_size_);
    }

  private:
    static bool differs(std::vector<unsigned char>& seen, const unsigned char* bytes, size_t size) {
        if (seen.size() == size && std::memcmp(seen.data(), bytes, size) == 0) return false;
        seen.assign(bytes, bytes + size);
        return true;
    }
    // Of a file that was armed from standby the ring lies behind all else.
    bool appended_ring_changed() {
        const wire::Area& ring = area(wire::AreaId::ring);
        bool appended = ring.offset_bytes > area(wire::AreaId::keyframes).offset_bytes;
        if (!appended || ring.offset_bytes + ring.size_bytes > size_) return false;
        return differs(seen_ring_, bytes_ + ring.offset_bytes, ring.size_bytes);
    }
    size_t names_used() const {
        auto used = load<wire::NamesHeader>(names_).used_bytes;
        return used < names_size_ ? static_cast<size_t>(used) : names_size_;
    }
    const wire::Header& header() const { return *reinterpret_cast<const wire::Header*>(bytes_); }
    const wire::Area& area(wire::AreaId id) const { return header().areas[static_cast<uint32_t>(id)]; }

    const unsigned char* bytes_ = nullptr;
    size_t size_ = 0;
    std::vector<unsigned char> seen_;
    std::vector<unsigned char> seen_ring_;
    const unsigned char* names_ = nullptr;
    size_t names_size_ = 0;
    std::vector<unsigned char> seen_names_;
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
        if (WSTOPSIG(status) == SIGSEGV || WSTOPSIG(status) == SIGBUS) die("the program crashed");
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
