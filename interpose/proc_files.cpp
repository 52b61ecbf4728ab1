// SPDX-License-Identifier: Apache-2.0
#include "proc_files.h"

#include <string.h>
#include <unistd.h>

namespace memsnap::recorder {
namespace {

constexpr size_t kEnvironmentCapacity_bytes = 128 * 1024;

Text<32> path_in_proc(uint32_t pid, const char* name) {
    Text<32> path;
    path.add("/proc/");
    if (pid == kThisProcess) path.add("self");
    if (pid != kThisProcess) path.add_number(pid);
    path.add('/');
    path.add(name);
    return path;
}

}  // namespace

// Field 2 is the program's name in brackets and may contain anything.
uint64_t process_start_ticks(uint32_t pid) {
    constexpr int kFieldsAfterName = 20;
    char text[1024];
    if (read_small_file(path_in_proc(pid, "stat").c_str(), text, sizeof text) == 0) return 0;
    const char* at = strrchr(text, ')');
    for (int field = 0; at != nullptr && field < kFieldsAfterName; ++field) {
        at = strchr(at + 1, ' ');
    }
    uint64_t ticks = 0;
    if (at == nullptr) return 0;
    ++at;
    return read_number(at, ticks) ? ticks : 0;
}

bool is_this_process(uint32_t pid) {
    if (pid == static_cast<uint32_t>(getpid())) return true;
    char text[4096];
    if (read_small_file(path_in_proc(kThisProcess, "status").c_str(), text, sizeof text) == 0) return false;
    const char* at = strstr(text, "\nNSpid:");
    if (at == nullptr) return false;
    at += sizeof "\nNSpid:" - 1;
    while (*at == '\t') {
        ++at;
        uint64_t number = 0;
        if (!read_number(at, number)) return false;
        if (number == pid) return true;
    }
    return false;
}

Job read_job_of(uint32_t pid) {
    static char block[kEnvironmentCapacity_bytes];
    size_t size = read_small_file(path_in_proc(pid, "environ").c_str(), block, sizeof block);
    return read_launcher_job([size](const char* name) -> const char* {
        size_t name_size = strlen(name);
        for (const char* entry = block; entry < block + size; entry += strlen(entry) + 1) {
            if (starts_with(entry, name) && entry[name_size] == '=') return entry + name_size + 1;
        }
        return nullptr;
    });
}

}  // namespace memsnap::recorder
