// SPDX-License-Identifier: Apache-2.0
// Layout of the session's file. Rule: plain integers only, all zero is a valid empty table, nothing points
// anywhere.
#pragma once

#include <pthread.h>

#include <cstdint>

#include "shared_state.h"

namespace simcuda {

inline constexpr uint64_t kSessionMagic = 0x3161647563'6d6973;  // "simcuda1"
inline constexpr int kMaxProcesses = 256;
inline constexpr int kMaxSteps = 64;
inline constexpr int kMaxRefusals = 64;
inline constexpr int kMaxExports = 4096;
inline constexpr int kMaxShared = 4096;

struct ProcessRow {
    int32_t pid;  // 0: free row
    uint64_t start_time;
    uint64_t used_bytes[kMaxDevices];
};

struct DeviceRow {
    uint64_t external_bytes;
    uint64_t attempt_count;
};

struct SharedAllocation {
    uint64_t bytes;  // 0: free entry
    int32_t device;
    int32_t charged_row;
    uint32_t generation;
    bool held_by[kMaxProcesses];
};

struct SessionFile {
    uint64_t magic;
    pthread_mutex_t mutex;
    int64_t start_ms;
    int32_t device_count;
    uint64_t total_bytes;
    uint64_t context_bytes;
    DeviceRow devices[kMaxDevices];
    ProcessRow processes[kMaxProcesses];
    int32_t step_count;
    ExternalStep steps[kMaxSteps];
    int32_t refusal_count;
    Refusal refusals[kMaxRefusals];
    IpcExport exports[kMaxExports];  // pid 0: free entry
    SharedAllocation shared[kMaxShared];
};

}  // namespace simcuda
