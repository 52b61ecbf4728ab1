// SPDX-License-Identifier: Apache-2.0
#include "pool_devices.h"

#include <atomic>

#include "device.h"
#include "process.h"

namespace memsnap::recorder {
namespace {

// By device. Default pools are never destroyed, so what stands here stays true.
std::atomic<cuda::Pool> g_default_pools[wire::kDeviceCapacity];

bool was_created(cuda::Pool pool) {
    Recorder* recorder = current_recorder();
    wire::LiveEntry entry;
    return recorder != nullptr &&
           recorder->table.peek(wire::Object::pool, reinterpret_cast<uint64_t>(pool), entry);
}

}  // namespace

void note_pool_of_device(cuda::Pool pool, int device) {
    bool is_device = device >= 0 && device < static_cast<int>(wire::kDeviceCapacity);
    if (is_device && !was_created(pool)) g_default_pools[device].store(pool, std::memory_order_release);
}

void note_pool_at_location(cuda::Pool pool, const cuda::Location& location) {
    if (location.type == cuda::kLocationDevice) note_pool_of_device(pool, location.id);
}

int8_t device_of_pool(cuda::Pool pool) {
    for (uint32_t device = 0; pool != nullptr && device < wire::kDeviceCapacity; ++device) {
        if (g_default_pools[device].load(std::memory_order_acquire) == pool)
            return static_cast<int8_t>(device);
    }
    return kDeviceUnknown;
}

}  // namespace memsnap::recorder
