// SPDX-License-Identifier: Apache-2.0
//
// The parts of CUPTI's binary interface that the cross-check uses, restated from its public headers. The
// rule: only what CUPTI 12 and 13 share; of an activity record the fields that every version has in front.
#pragma once

#include <cstddef>
#include <cstdint>

namespace memsnap::recorder::cupti {

inline constexpr int kSuccess = 0;
inline constexpr int kMultipleSubscribers = 39;  // CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED
inline constexpr uint32_t kMemory2 = 49;         // CUPTI_ACTIVITY_KIND_MEMORY2
inline constexpr uint32_t kAllocation = 1;       // CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION
inline constexpr uint32_t kRelease = 2;          // CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE
inline constexpr uint32_t kFlushForced = 1;      // CUPTI_ACTIVITY_FLAG_FLUSH_FORCED

using BufferRequested = void(uint8_t** buffer, size_t* size_bytes, size_t* max_record_count);
using BufferCompleted = void(void* context, uint32_t stream, uint8_t* buffer, size_t size_bytes,
                             size_t valid_bytes);
using Callback = void(void* data, int domain, uint32_t id, const void* call);

struct Functions {
    int (*subscribe)(void** subscriber, Callback* callback, void* data);
    int (*unsubscribe)(void* subscriber);
    int (*register_callbacks)(BufferRequested* requested, BufferCompleted* completed);
    int (*enable)(uint32_t kind);
    int (*flush_all)(uint32_t flag);
    int (*next_record)(uint8_t* buffer, size_t valid_bytes, void** record);
    int (*dropped_count)(void* context, uint32_t stream, size_t* count);
};

struct MemoryActivity {  // the start of CUpti_ActivityMemory4
    uint32_t kind;
    uint32_t operation;
    uint32_t memory_kind;
    uint32_t correlation;
    uint64_t address;
    uint64_t bytes;
    uint64_t timestamp_ns;
    uint64_t program_counter;
    uint32_t process;
    uint32_t device;
};

}  // namespace memsnap::recorder::cupti
