// SPDX-License-Identifier: Apache-2.0
#include "captures.h"

#include "device.h"

namespace memsnap::recorder {
namespace {

constexpr uintptr_t kLegacyStream = 1;  // CU_STREAM_LEGACY, cudaStreamLegacy

}  // namespace

std::atomic<int32_t> g_capture_count{0};

bool is_captured(void* stream, bool per_thread_default) {
    if (g_capture_count.load(std::memory_order_acquire) <= 0) [[likely]]
        return false;
    auto handle = reinterpret_cast<uintptr_t>(stream);
    if (handle == kLegacyStream || (handle == 0 && !per_thread_default)) return false;
    return is_stream_capturing(stream, per_thread_default);
}

}  // namespace memsnap::recorder
