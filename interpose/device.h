// SPDX-License-Identifier: Apache-2.0
//
// Which device a call without a device argument acts on. The rule: the only CUDA function the recorder calls
// of its own accord is the driver's cuCtxGetDevice, which neither synchronises nor disturbs a capture nor
// touches the last error, and only after the program's own cuInit succeeded. Otherwise the device is unknown,
// never 0.
#pragma once

#include <atomic>
#include <cstdint>

namespace memsnap::recorder {

inline constexpr int8_t kDeviceUnknown = -1;

using CtxGetDevice = int (*)(int* device);
extern std::atomic<CtxGetDevice> g_ctx_get_device;  // null until cuInit has succeeded

inline int8_t current_device() {
    CtxGetDevice ask = g_ctx_get_device.load(std::memory_order_acquire);
    int device = -1;
    if (ask == nullptr || ask(&device) != 0 || device < 0 || device > INT8_MAX) return kDeviceUnknown;
    return static_cast<int8_t>(device);
}

}  // namespace memsnap::recorder
