// SPDX-License-Identifier: Apache-2.0
// Opening the session and its accounts. Rule: see shared_state.h; every public function holds the lock once.
#include "shared_state.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <mutex>

#include "session_file.h"

namespace simcuda {
namespace {

int64_t now_ms() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

uint64_t free_bytes(const SessionFile& file, int device) {
    uint64_t used = file.devices[device].external_bytes;
    for (const ProcessRow& row : file.processes)
        used += row.used_bytes[device];
    return file.total_bytes - used;
}

// Lets go of one process' hold; the charge moves to another holder, or ends with the last.
void release_hold(SessionFile& file, SharedAllocation& entry, int row) {
    entry.held_by[row] = false;
    if (entry.charged_row != row) return;
    const auto next = std::find(std::begin(entry.held_by), std::end(entry.held_by), true);
    if (next != std::end(entry.held_by)) {
        const auto heir = static_cast<int32_t>(next - std::begin(entry.held_by));
        entry.charged_row = heir;
        file.processes[heir].used_bytes[entry.device] += entry.bytes;
    }
    auto& charged = file.processes[row].used_bytes[entry.device];
    charged -= std::min(charged, entry.bytes);
    if (next == std::end(entry.held_by)) entry.bytes = 0;
}

void clear_row(SessionFile& file, int row_index) {
    ProcessRow& row = file.processes[row_index];
    for (SharedAllocation& entry : file.shared) {
        if (entry.bytes != 0 && entry.held_by[row_index]) release_hold(file, entry, row_index);
    }
    for (IpcExport& entry : file.exports) {
        if (entry.pid == row.pid) entry.pid = 0;
    }
    row = ProcessRow{};
}

void reap_dead(SessionFile& file, int own_row) {
    for (int index = 0; index < kMaxProcesses; ++index) {
        const ProcessRow& row = file.processes[index];
        if (row.pid == 0 || index == own_row) continue;
        if (process_start_time(row.pid) != row.start_time) clear_row(file, index);
    }
}

bool is_due(const SessionFile& file, const ExternalStep& step) {
    switch (step.trigger) {
        case Trigger::at_start:
            return true;
        case Trigger::after_attempts:
            return file.devices[step.device].attempt_count >= step.trigger_value;
        case Trigger::after_ms:
            return now_ms() - file.start_ms >= static_cast<int64_t>(step.trigger_value);
    }
    std::abort();
}

// A step that asks for more than is free takes what is free, as another process' allocations would.
void apply_schedule(SessionFile& file) {
    for (int index = 0; index < file.step_count; ++index) {
        ExternalStep& step = file.steps[index];
        if (step.applied != 0 || !is_due(file, step)) continue;
        uint64_t& external = file.devices[step.device].external_bytes;
        external = std::min(step.bytes, external + free_bytes(file, step.device));
        step.applied = 1;
    }
}

class Locked {
  public:
    Locked(SessionFile& file, int own_row) : file_(file) {
        if (pthread_mutex_lock(&file.mutex) == EOWNERDEAD) pthread_mutex_consistent(&file.mutex);
        reap_dead(file, own_row);
        apply_schedule(file);
    }
    ~Locked() { pthread_mutex_unlock(&file_.mutex); }
    Locked(const Locked&) = delete;
    Locked& operator=(const Locked&) = delete;

  private:
    SessionFile& file_;
};

void init_mutex(pthread_mutex_t& mutex) {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&mutex, &attributes);
    pthread_mutexattr_destroy(&attributes);
}

SessionFile* map_file(const char* path, int flags) {
    const int descriptor = open(path, flags | O_RDWR | O_CLOEXEC, 0600);
    if (descriptor < 0) return nullptr;
    if ((flags & O_CREAT) != 0 && ftruncate(descriptor, sizeof(SessionFile)) != 0) {
        close(descriptor);
        return nullptr;
    }
    void* mapping = mmap(nullptr, sizeof(SessionFile), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    close(descriptor);
    return mapping == MAP_FAILED ? nullptr : static_cast<SessionFile*>(mapping);
}

bool is_refused(const SessionFile& file, int device, uint64_t bytes) {
    const uint64_t attempt = file.devices[device].attempt_count;
    return std::any_of(file.refusals, file.refusals + file.refusal_count, [&](const Refusal& refusal) {
        return refusal.device == device && attempt >= refusal.first_attempt &&
               attempt <= refusal.last_attempt && bytes >= refusal.min_bytes;
    });
}

uint64_t shared_id(const SessionFile& file, const SharedAllocation& entry) {
    return uint64_t{entry.generation} << 32 | (static_cast<uint64_t>(&entry - file.shared) + 1);
}

SharedAllocation* find_shared(SessionFile& file, uint64_t id) {
    const uint64_t index = (id & 0xffffffff) - 1;
    if (index >= kMaxShared) return nullptr;
    SharedAllocation& entry = file.shared[index];
    return entry.bytes != 0 && shared_id(file, entry) == id ? &entry : nullptr;
}

}  // namespace

uint64_t process_start_time(int pid) {
    std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
    std::string text;
    std::getline(stat, text);
    const size_t after_name = text.rfind(')');  // the name itself may hold spaces and parentheses
    if (after_name == std::string::npos) return 0;
    char state = 0;
    unsigned long long start_time = 0;
    const int found =
        std::sscanf(text.c_str() + after_name + 1,
                    " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu",
                    &state, &start_time);
    const bool lives = found == 2 && state != 'Z' && state != 'X';
    return lives ? start_time : 0;
}

SharedState* SharedState::get() {
    static std::mutex mutex;
    static SharedState* state = nullptr;
    const std::lock_guard lock(mutex);
    if (state != nullptr) return state;
    const char* path = std::getenv("SIMCUDA_STATE");
    if (path == nullptr) return nullptr;
    SessionFile* file = map_file(path, 0);
    if (file == nullptr || file->magic != kSessionMagic) {
        std::fprintf(stderr, "simcuda: %s is not a session file; start one with scripts/with_simcuda\n",
                     path);
        return nullptr;
    }
    state = new SharedState(file);
    return state;
}

Parsed<bool> SharedState::create(const std::string& path, const SessionSettings& settings) {
    if (settings.device_count < 1 || settings.device_count > kMaxDevices)
        return std::unexpected("1 to 16 devices");
    if (settings.external.size() > kMaxSteps || settings.refusals.size() > kMaxRefusals) {
        return std::unexpected("at most 64 external steps and 64 refusals");
    }
    if (settings.total_bytes % kGranularityBytes != 0 || settings.total_bytes == 0) {
        return std::unexpected("the total must be a multiple of 2MiB");
    }
    if (settings.context_bytes > settings.total_bytes)
        return std::unexpected("the context is larger than the card");
    const auto is_elsewhere = [&](const auto& entry) { return entry.device >= settings.device_count; };
    if (std::ranges::any_of(settings.external, is_elsewhere) ||
        std::ranges::any_of(settings.refusals, is_elsewhere)) {
        return std::unexpected("a schedule names a device that the session does not have");
    }
    SessionFile* file = map_file(path.c_str(), O_CREAT | O_EXCL);
    if (file == nullptr) return std::unexpected("cannot create " + path);
    init_mutex(file->mutex);
    file->start_ms = now_ms();
    file->device_count = settings.device_count;
    file->total_bytes = settings.total_bytes;
    file->context_bytes = round_up(settings.context_bytes, kGranularityBytes);
    file->step_count = static_cast<int32_t>(settings.external.size());
    std::ranges::copy(settings.external, file->steps);
    file->refusal_count = static_cast<int32_t>(settings.refusals.size());
    std::ranges::copy(settings.refusals, file->refusals);
    file->magic = kSessionMagic;
    munmap(file, sizeof(SessionFile));
    return true;
}

int SharedState::device_count() const {
    return file_->device_count;
}
uint64_t SharedState::total_bytes() const {
    return file_->total_bytes;
}
uint64_t SharedState::context_bytes() const {
    return file_->context_bytes;
}

DeviceUsage SharedState::usage(int device) {
    const Locked lock(*file_, row_);
    const DeviceRow& row = file_->devices[device];
    DeviceUsage result{
        file_->total_bytes, free_bytes(*file_, device), row.external_bytes, row.attempt_count, {}};
    for (const ProcessRow& process : file_->processes) {
        if (process.used_bytes[device] != 0)
            result.processes.push_back({process.pid, process.used_bytes[device]});
    }
    return result;
}

// Called with the lock held. A row of this pid left by the program that ran here before exec() owns nothing
// any more.
void SharedState::claim_row() {
    if (row_ >= 0) return;
    const auto pid = static_cast<int32_t>(getpid());
    for (int index = 0; index < kMaxProcesses; ++index) {
        if (file_->processes[index].pid == pid) clear_row(*file_, index);
    }
    for (int index = 0; index < kMaxProcesses; ++index) {
        if (file_->processes[index].pid != 0) continue;
        file_->processes[index].start_time = process_start_time(pid);
        file_->processes[index].pid = pid;
        row_ = index;
        return;
    }
}

Grant SharedState::charge(int device, uint64_t bytes) {
    const Locked lock(*file_, row_);
    ++file_->devices[device].attempt_count;
    apply_schedule(*file_);
    claim_row();
    if (row_ < 0 || is_refused(*file_, device, bytes)) return Grant::refused;
    if (bytes > free_bytes(*file_, device)) return Grant::no_space;
    file_->processes[row_].used_bytes[device] += bytes;
    return Grant::granted;
}

Grant SharedState::charge_context(int device, uint64_t bytes) {
    const Locked lock(*file_, row_);
    claim_row();
    if (row_ < 0) return Grant::refused;
    if (bytes > free_bytes(*file_, device)) return Grant::no_space;
    file_->processes[row_].used_bytes[device] += bytes;
    return Grant::granted;
}

void SharedState::give_back(int device, uint64_t bytes) {
    const Locked lock(*file_, row_);
    file_->processes[row_].used_bytes[device] -= bytes;
}

bool SharedState::set_external(int device, uint64_t bytes) {
    if (device < 0 || device >= file_->device_count) return false;
    const Locked lock(*file_, row_);
    uint64_t& external = file_->devices[device].external_bytes;
    if (bytes > external + free_bytes(*file_, device)) return false;
    external = bytes;
    return true;
}

bool SharedState::refuse(int device, uint64_t next_attempts, uint64_t min_bytes) {
    if (device < 0 || device >= file_->device_count) return false;
    const Locked lock(*file_, row_);
    const uint64_t done = file_->devices[device].attempt_count;
    const auto is_past = [&](const Refusal& refusal) {
        return refusal.last_attempt <= file_->devices[refusal.device].attempt_count;
    };
    Refusal* const end = std::remove_if(file_->refusals, file_->refusals + file_->refusal_count, is_past);
    file_->refusal_count = static_cast<int32_t>(end - file_->refusals);
    if (file_->refusal_count == kMaxRefusals) return false;
    file_->refusals[file_->refusal_count] = {device, done + 1, done + next_attempts, min_bytes};
    ++file_->refusal_count;
    return true;
}

bool SharedState::add_export(const IpcExport& entry) {
    const Locked lock(*file_, row_);
    for (IpcExport& slot : file_->exports) {
        if (slot.pid != 0) continue;
        slot = entry;
        return true;
    }
    return false;
}

bool SharedState::is_exported(const IpcExport& entry) {
    const Locked lock(*file_, row_);
    return std::ranges::any_of(file_->exports, [&](const IpcExport& slot) {
        return slot.pid == entry.pid && slot.serial == entry.serial && slot.base == entry.base;
    });
}

void SharedState::drop_export(uint64_t base) {
    const Locked lock(*file_, row_);
    const auto pid = static_cast<int32_t>(getpid());
    for (IpcExport& slot : file_->exports) {
        if (slot.pid == pid && slot.base == base) slot.pid = 0;
    }
}

uint64_t SharedState::share(int device, uint64_t bytes) {
    const Locked lock(*file_, row_);
    for (SharedAllocation& entry : file_->shared) {
        if (entry.bytes != 0) continue;
        std::ranges::fill(entry.held_by, false);
        entry.device = device;
        entry.charged_row = row_;
        entry.held_by[row_] = true;
        ++entry.generation;
        entry.bytes = bytes;
        return shared_id(*file_, entry);
    }
    return 0;
}

bool SharedState::hold_shared(uint64_t id, int* device, uint64_t* bytes) {
    const Locked lock(*file_, row_);
    claim_row();
    SharedAllocation* entry = find_shared(*file_, id);
    if (entry == nullptr || row_ < 0) return false;
    entry->held_by[row_] = true;
    *device = entry->device;
    *bytes = entry->bytes;
    return true;
}

void SharedState::drop_shared(uint64_t id) {
    const Locked lock(*file_, row_);
    SharedAllocation* entry = find_shared(*file_, id);
    if (entry != nullptr) release_hold(*file_, *entry, row_);
}

}  // namespace simcuda
