// SPDX-License-Identifier: Apache-2.0
#include "device.h"

namespace memsnap::recorder {
namespace {

constexpr int kCaptureNone = 0;

constexpr const char* kQuestionNames[] = {
#define MEMSNAP_NAME(name, prototype) #name,
    MEMSNAP_DRIVER_QUESTIONS(MEMSNAP_NAME)
#undef MEMSNAP_NAME
};

}  // namespace

std::atomic<void*> g_questions[static_cast<uint32_t>(Question::count)];
std::atomic<bool> g_may_ask{false};

void learn_questions(DlsymFunction* real_dlsym, void* handle) {
    for (uint32_t i = 0; i < static_cast<uint32_t>(Question::count); ++i) {
        void* unknown = nullptr;
        g_questions[i].compare_exchange_strong(unknown, real_dlsym(handle, kQuestionNames[i]));
    }
}

bool notice_driver_start() {
    constexpr int kNotInitialized = 3;
    constexpr int kDeinitialized = 4;
    if (g_may_ask.load(std::memory_order_acquire)) return true;
    auto* ask = reinterpret_cast<int (*)(int*)>(
        g_questions[static_cast<uint32_t>(Question::cuCtxGetDevice)].load(std::memory_order_acquire));
    int device = 0;
    if (ask == nullptr) return false;
    const int result = ask(&device);
    if (result == kNotInitialized || result == kDeinitialized) return false;
    g_may_ask.store(true, std::memory_order_release);
    return true;
}

uint64_t current_context() {
    auto* ask = question<int(void**)>(Question::cuCtxGetCurrent);
    void* context = nullptr;
    return ask == nullptr || ask(&context) != 0 ? 0 : reinterpret_cast<uint64_t>(context);
}

bool is_primary_context_gone(int8_t device) {
    auto* ask = question<int(int, unsigned*, int*)>(Question::cuDevicePrimaryCtxGetState);
    unsigned flags = 0;
    int active = 1;
    return ask != nullptr && ask(device, &flags, &active) == 0 && active == 0;
}

bool is_stream_capturing(void* stream, bool per_thread_default) {
    auto* ask = question<int(void*, int*)>(per_thread_default ? Question::cuStreamIsCapturing_ptsz
                                                              : Question::cuStreamIsCapturing);
    int status = kCaptureNone;
    return ask != nullptr && ask(stream, &status) == 0 && status != kCaptureNone;
}

}  // namespace memsnap::recorder
