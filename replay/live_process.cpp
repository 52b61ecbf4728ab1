// SPDX-License-Identifier: Apache-2.0
//
// Field 22 of /proc/<pid>/stat names the start; the fields are counted behind the last `)`, since a program
// may be called anything.
#include "live_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <string>

namespace memsnap {
namespace {

constexpr int kStateField = 3, kStartField = 22;

// Empty: it is not there, as the `stat` of no process is.
std::string small_file(const std::string& path) {
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) return {};
    std::array<char, 1024> text;
    const ssize_t got = ::read(descriptor, text.data(), text.size());
    ::close(descriptor);
    return got > 0 ? std::string(text.data(), static_cast<size_t>(got)) : std::string();
}

// By its number in proc(5); for those behind the program's name.
std::string_view field(std::string_view line, int number) {
    size_t at = line.rfind(')');
    if (at == std::string_view::npos) return {};
    for (int before = kStateField - 1; before < number; ++before) {
        at = line.find(' ', at);
        if (at == std::string_view::npos) return {};
        ++at;
    }
    return line.substr(at, line.find(' ', at) - at);
}

// As the recorder makes it: FNV-1a of the boot id as the kernel prints it, with its newline. 0: not known.
uint64_t host_key() {
    constexpr uint64_t kBasis = 0xcbf29ce484222325, kPrime = 0x100000001b3;
    const std::string boot_id = small_file("/proc/sys/kernel/random/boot_id");
    uint64_t key = boot_id.empty() ? 0 : kBasis;
    for (const char letter : boot_id)
        key = (key ^ static_cast<unsigned char>(letter)) * kPrime;
    return key;
}

}  // namespace

bool is_of_this_host(const HeaderFacts& header) {
    static const uint64_t kHere = host_key();
    return header.host_key != 0 && header.host_key == kHere;
}

std::optional<bool> is_alive(const HeaderFacts& header) {
    if (!is_of_this_host(header)) return std::nullopt;
    struct stat status;
    const bool same_namespace =
        ::stat("/proc/self/ns/pid", &status) == 0 && status.st_ino == header.pid_namespace;
    if (!same_namespace) return std::nullopt;
    const std::string line = small_file(fmt::format("/proc/{}/stat", header.pid));
    const std::string_view state = field(line, kStateField), start = field(line, kStartField);
    uint64_t ticks = 0;
    std::from_chars(start.data(), start.data() + start.size(), ticks);
    const bool dead = state.empty() || state == "Z" || state == "X";
    return !dead && ticks == header.process_start_ticks;
}

bool stopped_early(const HeaderFacts& header) {
    const bool left_cold = header.arm_state == ArmState::cold && header.disarmed_ticket;
    return header.superseded || left_cold;
}

std::string_view name(LiveState state) {
    switch (state) {
        case LiveState::recording:
            return "recording";
        case LiveState::cold:
            return "cold";
        case LiveState::standby:
            return "standby";
        case LiveState::disarmed:
            return "disarmed";
        case LiveState::detached:
            return "detached";
        case LiveState::superseded:
            return "superseded";
        case LiveState::ended:
            return "ended";
        case LiveState::killed:
            return "killed";
    }
    return "";
}

LiveState state_of(const HeaderFacts& header, std::optional<bool> alive) {
    if (header.exit_ticket) return LiveState::ended;
    if (header.superseded) return LiveState::superseded;
    if (stopped_early(header))
        return header.channel == Channel::detached ? LiveState::detached : LiveState::disarmed;
    if (alive == false) return LiveState::killed;
    if (header.arm_state == ArmState::standby) return LiveState::standby;
    if (header.arm_state == ArmState::recording) return LiveState::recording;
    return header.channel == Channel::detached ? LiveState::detached : LiveState::cold;
}

}  // namespace memsnap
