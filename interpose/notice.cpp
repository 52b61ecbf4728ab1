// SPDX-License-Identifier: Apache-2.0
#include "notice.h"

#include <errno.h>
#include <poll.h>
#include <time.h>
#include <unistd.h>

#include "glibc_compat.h"
#include "settings.h"

namespace memsnap::recorder {
namespace {

constexpr int kStderr = 2;
constexpr size_t kPipePage_bytes = 4096;
using Line = Text<2 * kPathCapacity_bytes + 256>;

// g_process.notice_state
constexpr uint32_t kPrinting = 1;
constexpr uint32_t kPrinted = 2;

FileIdentity g_stderr;

const char* reason(int error) {
    switch (error) {
        case ENOSPC:
            return "no space left on the device";
        case EACCES:
        case EPERM:
            return "permission denied";
        case EROFS:
            return "read-only file system";
        case ENOENT:
            return "no such folder";
        case ENOTDIR:
            return "not a folder";
        case EDQUOT:
            return "the disk quota, or what MEMSNAP_DISK_MB allows, is used up";
        case EFBIG:
            return "larger than the file size limit";
        case ENAMETOOLONG:
            return "the name is too long";
        case EOPNOTSUPP:
            return "the file system cannot reserve space";
        case ENOMEM:
            return "not enough memory";
        case ENOSYS:
            return "the kernel cannot keep it from forked children (Linux 4.14 can)";
        default:
            return nullptr;
    }
}

void describe_no_file(Line& line) {
    line.add("memsnap: this process is not recorded: cannot create ");
    line.add(g_process.chosen_path.c_str());
    line.add(": ");
    const char* text = reason(g_process.create_error);
    line.add(text != nullptr ? text : "error ");
    if (text == nullptr) line.add_number(static_cast<uint64_t>(g_process.create_error));
    line.add('\n');
}

const char* describe_trouble(wire::Trouble trouble) {
    switch (trouble) {
        case wire::Trouble::none:
        case wire::Trouble::create_failed:
        case wire::Trouble::no_space:
            return "recording";
        case wire::Trouble::original_missing:
            return "a CUDA function was called that no library provides; recording";
        case wire::Trouble::layout_unknown:
            return "this Python is not known well enough to walk its frames; recording";
        case wire::Trouble::table_full:
            return "more objects are live than MEMSNAP_TABLE_ENTRIES allows; recording";
        case wire::Trouble::threads_full:
            return "more threads than can be told apart; recording";
    }
    return "recording";
}

void describe(Line& line) {
    const Recorder* recorder = g_process.newest.load(std::memory_order_acquire);
    if (recorder == nullptr) {
        describe_no_file(line);
        return;
    }
    line.add("memsnap: ");
    if (std::atomic_ref<uint32_t>(recorder->header->failure_count).load(std::memory_order_relaxed) != 0) {
        line.add("out of memory recorded in ");
    } else {
        auto* trouble = reinterpret_cast<uint32_t*>(&recorder->header->trouble);
        auto first = static_cast<wire::Trouble>(std::atomic_ref<uint32_t>(*trouble).load());
        if (const char* text = g_process.cupti_trouble.load();
            text != nullptr && first == wire::Trouble::none) {
            line.add("no cross-check, or not a whole one: ");
            line.add(text);
            line.add("; ");
        }
        line.add(describe_trouble(first));
        line.add(" to ");
    }
    line.add(recorder->path.c_str());
    if (g_process.moved_to_tmpdir) {
        line.add(" (");
        line.add(g_process.chosen_path.c_str());
        line.add(" is on a network, user-space or copy-on-write file system, or in shared memory)");
    }
    line.add("; read it with: memsnap-replay ");
    line.add(recorder->path.c_str());
    line.add('\n');
}

// A recording exists when it is said what its cross-check lacks; without one there is nothing to check.
bool is_due() {
    // Of a file that nothing was recorded in there is nothing to say yet.
    const Recorder* newest = g_process.newest.load(std::memory_order_acquire);
    if (newest != nullptr && newest->pinned == nullptr) return false;
    return g_process.has_trouble.load(std::memory_order_acquire) ||
           (g_process.cupti_trouble.load(std::memory_order_acquire) != nullptr &&
            current_recorder() != nullptr);
}

bool can_write_now() {
    if (!g_stderr.known || !(file_identity(kStderr, "") == g_stderr)) return false;
    pollfd stderr_poll{kStderr, POLLOUT, 0};
    return poll(&stderr_poll, 1, 0) == 1 && (stderr_poll.revents & POLLOUT) != 0;
}

}  // namespace

void remember_stderr() {
    g_stderr = file_identity(kStderr, "");
}

void print_due_notice() {
    if (!is_due()) return;
    uint32_t not_printed = 0;
    if (!g_process.notice_state.compare_exchange_strong(not_printed, kPrinting)) return;
    // Asked once a process: the program may change its environment while another thread reads it.
    if (notices_silenced()) {
        g_process.notice_state.store(kPrinted);
        return;
    }
    int saved_errno = errno;
    static Line line;  // one notice a process: no need of 8 KiB of somebody's stack
    line.clear();
    describe(line);
    // A pipe that poll calls writable has a page free.
    if (!line.cut() && line.size() <= kPipePage_bytes && can_write_now()) {
        [[maybe_unused]] ssize_t written = write(kStderr, line.c_str(), line.size());
    }
    errno = saved_errno;
    g_process.notice_state.store(kPrinted);
}

void wait_for_notice() {
    const timespec pause{0, 1'000'000};
    for (int i = 0; i < 100 && g_process.notice_state.load() == kPrinting; ++i) {
        nanosleep(&pause, nullptr);
    }
}

}  // namespace memsnap::recorder
