// SPDX-License-Identifier: Apache-2.0
#include "header.h"

#include <stddef.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/random.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <atomic>

#include "cpu.h"
#include "glibc_compat.h"
#include "proc_files.h"
#include "process.h"
#include "settings.h"

namespace memsnap::recorder {
namespace {

uint64_t start_time_s() {
    uint64_t ticks_per_second = getauxval(AT_CLKTCK);
    timespec now{};
    timespec since_boot{};
    clock_gettime(CLOCK_REALTIME, &now);
    clock_gettime(CLOCK_BOOTTIME, &since_boot);
    auto now_s = static_cast<uint64_t>(now.tv_sec);
    if (ticks_per_second == 0) return now_s;
    return now_s - static_cast<uint64_t>(since_boot.tv_sec) +
           process_start_ticks(kThisProcess) / ticks_per_second;
}

void make_ring_id(uint8_t (&id)[16]) {
    if (getrandom(id, sizeof id, GRND_NONBLOCK) == static_cast<ssize_t>(sizeof id)) return;
    // Early in boot: still different for any two files of one machine.
    uint64_t parts[2] = {read_counter(),
                         (static_cast<uint64_t>(getpid()) << 32) ^ process_start_ticks(kThisProcess)};
    memcpy(id, parts, sizeof id);
}

void begin_counts(wire::Header& header) {
    header.library_count = 1;  // index 0 of both tables means "not known"
    header.thread_count = 1;
    header.boundary_stride = 1;
    header.sampling = header.sample_period_ms == 0 ? wire::Sampling::off : wire::Sampling::unknown;
}

void show_magic(wire::Header& header) {
    uint64_t magic = 0;
    memcpy(&magic, wire::kMagic, sizeof magic);
    auto* target = reinterpret_cast<uint64_t*>(header.magic);
    std::atomic_ref<uint64_t>(*target).store(magic, std::memory_order_release);
}

uint32_t session_id() {
    pid_t session = getsid(0);
    return session < 0 ? 0 : static_cast<uint32_t>(session);
}

}  // namespace

uint64_t read_host_key() {
    char boot_id[64];
    size_t size = read_small_file("/proc/sys/kernel/random/boot_id", boot_id, sizeof boot_id);
    return size == 0 ? 0 : fnv1a(boot_id, size);
}

void expand_output_path(Path& path) {
    const char* text = environment("MEMSNAP_OUT");
    if (text == nullptr || text[0] == '\0') text = "ring-%p.bin";
    struct utsname machine = {};
    uname(&machine);
    Job job = read_job(session_id());
    TemplateValues values{machine.nodename, job.name.c_str(), static_cast<uint64_t>(getpid()),
                          read_ranks().rank, start_time_s()};
    path.clear();
    expand_template(text, values, path);
}

void fill_header(wire::Header& header, const wire::Area areas[wire::kAreaCount], uint64_t file_bytes) {
    header.version_major = wire::kVersionMajor;
    header.version_minor = wire::kVersionMinor;
    header.byte_order = wire::kByteOrder;
    header.header_bytes = sizeof(wire::Header);
    header.record_bytes = sizeof(wire::Record);
    header.file_bytes = file_bytes;
    make_ring_id(header.ring_id);
    memcpy(header.areas, areas, sizeof header.areas);

    header.pid = static_cast<uint32_t>(getpid());
    header.parent_pid = static_cast<uint32_t>(getppid());
    header.session_id = session_id();
    Ranks ranks = read_ranks();
    header.rank = ranks.rank;
    header.local_rank = ranks.local_rank;
    header.world_size = ranks.world_size;
    header.process_start_ticks = process_start_ticks(kThisProcess);
    header.pid_namespace = file_identity(AT_FDCWD, "/proc/self/ns/pid").inode;
    header.host_key = read_host_key();
    Job job = read_job(header.session_id);
    header.job_key = job.key;
    header.job_key_source = job.source;
    header.recorder_version = kRecorderVersion;
    header.clock_source = g_clock_source;
    header.start_mode = g_process.started_late ? wire::StartMode::late : wire::StartMode::from_birth;
    header.channel = g_channel;
    header.config = read_allocator_config();
    header.sample_period_ms = sample_period_ms();
    begin_counts(header);
    show_magic(header);
}

void fill_next_header(wire::Header& header, const wire::Header& previous,
                      const wire::Area areas[wire::kAreaCount], uint64_t file_bytes) {
    constexpr size_t kMagic_bytes = sizeof header.magic;
    memcpy(reinterpret_cast<unsigned char*>(&header) + kMagic_bytes,
           reinterpret_cast<const unsigned char*>(&previous) + kMagic_bytes,
           offsetof(wire::Header, arm_request) - kMagic_bytes);
    header.file_bytes = file_bytes;
    make_ring_id(header.ring_id);
    memcpy(header.areas, areas, sizeof header.areas);
    header.start_mode = wire::StartMode::late;
    header.channel = g_channel;
    header.arm_state = wire::ArmState::recording;
    header.sidecar = wire::Sidecar::none;
    header.sample_period_ms = previous.sample_period_ms;
    begin_counts(header);
    show_magic(header);
}

}  // namespace memsnap::recorder
