// SPDX-License-Identifier: Apache-2.0
//
// Moments at which no recorded call of this process is changing a device. A sample is exact only then: inside
// a call the memory may be taken and the record not yet written. The rule: one word says how many calls are
// in progress and how many ever began, so that the same word before and after a look, with none in progress,
// proves that none came between. Calls pay two additions for it; block reports, which change no device, pay
// nothing.
#pragma once

#include "process.h"
#include "side_thread.h"

namespace memsnap::recorder {

inline constexpr uint64_t kCallBegun = uint64_t{1} << 32;  // above: calls begun; below: in progress

inline void enter_call(Recorder& recorder) {
    recorder.calls.fetch_add(kCallBegun + 1, std::memory_order_acq_rel);
}
inline void exit_call(Recorder& recorder) {
    recorder.calls.fetch_sub(1, std::memory_order_acq_rel);
}

inline uint64_t look_at_calls(const Recorder& recorder) {
    return recorder.calls.load(std::memory_order_acquire);
}
inline bool is_quiet(uint64_t look) {
    return static_cast<uint32_t>(look) == 0;
}

// A recorded call acts on the device: the side thread samples it from now on, the first time soon.
inline void note_device_call(Recorder& recorder, int8_t device) {
    auto index = static_cast<uint32_t>(device);
    if (index >= wire::kDeviceCapacity) return;
    std::atomic<bool>& has_calls = recorder.devices[index].has_calls;
    if (has_calls.load(std::memory_order_relaxed)) [[likely]]
        return;
    has_calls.store(true, std::memory_order_release);
    wake_side_thread();
}

}  // namespace memsnap::recorder
