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

namespace memsnap {
namespace {

constexpr int kStateField = 3, kStartField = 22;

// Empty: there is no such process.
std::string stat_line(uint32_t pid) {
    const int descriptor = ::open(fmt::format("/proc/{}/stat", pid).c_str(), O_RDONLY | O_CLOEXEC);
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

}  // namespace

std::optional<bool> is_alive(const HeaderFacts& header) {
    struct stat status;
    const bool same_namespace =
        ::stat("/proc/self/ns/pid", &status) == 0 && status.st_ino == header.pid_namespace;
    if (!same_namespace) return std::nullopt;
    const std::string line = stat_line(header.pid);
    const std::string_view state = field(line, kStateField), start = field(line, kStartField);
    uint64_t ticks = 0;
    std::from_chars(start.data(), start.data() + start.size(), ticks);
    const bool dead = state.empty() || state == "Z" || state == "X";
    return !dead && ticks == header.process_start_ticks;
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
    if (alive == false) return LiveState::killed;
    if (header.arm_state == ArmState::standby) return LiveState::standby;
    if (header.arm_state == ArmState::recording) return LiveState::recording;
    if (header.channel == Channel::detached) return LiveState::detached;
    return header.disarmed_ticket ? LiveState::disarmed : LiveState::cold;
}

}  // namespace memsnap
