// SPDX-License-Identifier: Apache-2.0
// The session: one file, mapped by every process that shares the simulated cards. It holds who uses how many
// bytes. Rule: every number is changed under the file's own robust mutex, in steps that leave the file true
// at each store, and a process that no longer lives owns nothing: whoever takes the lock next gives its bytes
// back.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "session_settings.h"

namespace simcuda {

inline constexpr uint64_t kGranularityBytes = uint64_t{2} << 20;
inline constexpr int kMaxDevices = 16;

inline uint64_t round_up(uint64_t bytes, uint64_t unit) {
    return (bytes + unit - 1) / unit * unit;
}

enum class Grant {
    granted,
    no_space,
    refused
};

struct ProcessUsage {
    int pid;
    uint64_t used_bytes;
};

struct DeviceUsage {
    uint64_t total_bytes = 0;
    uint64_t free_bytes = 0;
    uint64_t external_bytes = 0;
    uint64_t attempt_count = 0;
    std::vector<ProcessUsage> processes;
};

// A cudaMalloc allocation that another process may open through an IPC handle.
struct IpcExport {
    int32_t pid;
    int32_t device;
    uint64_t serial;
    uint64_t base;
    uint64_t bytes;
};

struct SessionFile;

// One process' view of the session. All functions are thread safe.
class SharedState {
  public:
    // The session named by SIMCUDA_STATE, opened at the first call; null when there is none.
    static SharedState* get();

    // Makes the file of a new session.
    static Parsed<bool> create(const std::string& path, const SessionSettings& settings);

    int device_count() const;
    uint64_t total_bytes() const;
    uint64_t context_bytes() const;
    DeviceUsage usage(int device);

    // Takes bytes from a device for this process. An attempt counts towards schedules and refusals; a context
    // does not.
    Grant charge(int device, uint64_t bytes);
    Grant charge_context(int device, uint64_t bytes);
    void give_back(int device, uint64_t bytes);

    bool set_external(int device, uint64_t bytes);
    bool refuse(int device, uint64_t next_attempts, uint64_t min_bytes);

    // cudaIpc*: the exporter owns the bytes; the table says only whether the exported memory still exists.
    bool add_export(const IpcExport& entry);
    bool is_exported(const IpcExport& entry);
    void drop_export(uint64_t base);

    // Memory held by several processes (VMM handles passed as file descriptors). The bytes are charged to one
    // holder; when that one lets go, to another; they are given back with the last. Ids start at 1; 0 says
    // the table is full.
    uint64_t share(int device, uint64_t bytes);
    bool hold_shared(uint64_t id, int* device, uint64_t* bytes);
    void drop_shared(uint64_t id);

  private:
    explicit SharedState(SessionFile* file) : file_(file) {}
    void claim_row();

    SessionFile* file_;
    int row_ = -1;
};

// Identity of a process that survives reuse of its number: the start time of /proc/PID/stat, 0 when it does
// not live.
uint64_t process_start_time(int pid);

}  // namespace simcuda
