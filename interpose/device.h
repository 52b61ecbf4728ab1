// SPDX-License-Identifier: Apache-2.0
//
// What the recorder asks the driver of its own accord, for facts that a call's arguments do not hold. The
// rule: only questions that neither synchronise nor disturb a capture nor touch the last error, only after
// the program's own cuInit succeeded, and an unanswered one is "not known", never 0:
//   cuCtxGetDevice               the current device of the calling thread; where nobody saw the driver's
//   start,
//                                whether it has started, which it answers before and during that, too
//   cuCtxGetCurrent              its current context, only while the program has contexts of its own
//   cuDevicePrimaryCtxGetState   whether a device's primary context still is, after a call that gave one up
//   cuStreamIsCapturing          whether a stream is captured, only while some stream is
//   cuDeviceGet, cuDeviceGetUuid, cuDeviceGetPCIBusId
//                                which card a device number means: the side thread, once a device
#pragma once

#include <atomic>
#include <cstdint>

#include "real_dlsym.h"

namespace memsnap::recorder {

inline constexpr int8_t kDeviceUnknown = -1;

// X(name, prototype). The _ptsz twin takes stream 0 for the calling thread's own.
#define MEMSNAP_DRIVER_QUESTIONS(X)                          \
    X(cuCtxGetDevice, int(int*))                             \
    X(cuCtxGetCurrent, int(void**))                          \
    X(cuDevicePrimaryCtxGetState, int(int, unsigned*, int*)) \
    X(cuStreamIsCapturing, int(void*, int*))                 \
    X(cuStreamIsCapturing_ptsz, int(void*, int*))            \
    X(cuDeviceGet, int(int*, int))                           \
    X(cuDeviceGetUuid, int(unsigned char*, int))             \
    X(cuDeviceGetUuid_v2, int(unsigned char*, int))          \
    X(cuDeviceGetPCIBusId, int(char*, int, int))

enum class Question : uint32_t {
#define MEMSNAP_ENUMERATOR(name, prototype) name,
    MEMSNAP_DRIVER_QUESTIONS(MEMSNAP_ENUMERATOR)
#undef MEMSNAP_ENUMERATOR
    count
};

extern std::atomic<void*> g_questions[static_cast<uint32_t>(Question::count)];
extern std::atomic<bool> g_may_ask;  // cuInit has succeeded

// Finds the functions in the driver behind `handle`.
void learn_questions(DlsymFunction* real_dlsym, void* handle);

// Whether the driver has started; asks it where nobody saw its start, and allows questions from then on.
bool notice_driver_start();

// Null while it may not be asked.
template <typename Prototype>
Prototype* question(Question which) {
    if (!g_may_ask.load(std::memory_order_acquire)) return nullptr;
    return reinterpret_cast<Prototype*>(
        g_questions[static_cast<uint32_t>(which)].load(std::memory_order_relaxed));
}

inline int8_t narrow_device(int device) {
    return device < 0 || device > INT8_MAX ? kDeviceUnknown : static_cast<int8_t>(device);
}

inline int8_t current_device() {
    auto* ask = question<int(int*)>(Question::cuCtxGetDevice);
    int device = -1;
    return ask == nullptr || ask(&device) != 0 ? kDeviceUnknown : narrow_device(device);
}

uint64_t current_context();                   // 0: none, or not known
bool is_primary_context_gone(int8_t device);  // false when that is not known
bool is_stream_capturing(void* stream, bool per_thread_default);

}  // namespace memsnap::recorder
