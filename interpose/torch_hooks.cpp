// SPDX-License-Identifier: Apache-2.0
//
// PyTorch's own reports of its blocks and failures, under the names of release 1.13 and of 2.0 and later.
// Both run under the allocator's device lock. The rules: record first, then go on to the original by a tail
// call, so that an exception from it finds nothing of ours on the stack; no system call for a block, but for
// the boundary that a module call ends with, which may wake the side thread, a few times a second at most.
#include <cstdint>

#include "birth.h"
#include "calls.h"
#include "keyframe.h"
#include "phases.h"
#include "pinned.h"
#include "side_thread.h"
#include "sites.h"
#include "visibility.h"

namespace memsnap::recorder {

// c10::Device: passed by value in one register.
struct TorchDevice {
    int8_t type;
    int8_t index;
};

namespace {

constexpr int8_t kCudaType = 1;  // c10::DeviceType::CUDA; ROCm builds report it too

struct Context {
    Recorder* recorder;
    ThreadState* state;
    uint16_t thread;
    uint16_t library;
};

Context make_context(Recorder* recorder, uint16_t library) {
    uint16_t thread = thread_index(*recorder);
    if (library >=
        std::atomic_ref<uint32_t>(recorder->header->library_count).load(std::memory_order_relaxed)) {
        list_callers(*recorder);
    }
    return Context{recorder, thread_state(*recorder, thread), thread, library};
}

Event make_event(const Context& context, wire::Kind kind, TorchDevice device) {
    Event event;
    event.kind = kind;
    event.flags = is_torch_allocator(context.library) ? wire::kFlagFromTorch : 0;
    event.thread = context.thread;
    event.time = read_counter();
    event.device = device.index;
    event.library = context.library;
    return event;
}

// The site of a birth; of a death only where in the module calls it happens.
uint64_t locate(const Context& context, bool born) {
    ModuleCall module{};
    uint64_t site = 0;
    if (born) site = site_of_birth(*context.recorder, SiteOf::block, module);
    if (!born && is_in_module_call(context.state)) module = outermost_module_call();
    watch_module_call(*context.recorder, context.thread, context.state, module, born);
    return site;
}

void record_block(uint16_t library, void* address, int64_t size, uint64_t allocated_bytes,
                  uint64_t reserved_bytes, TorchDevice device) {
    bool born = size >= 0;
    EventScope scope(born ? Start::if_needed : Start::never);
    if (scope.recorder() == nullptr) return;
    Recorder& recorder = *scope.recorder();
    Context context = make_context(&recorder, library);
    if (context.state != nullptr) context.state->operation.restart();
    uint64_t site = locate(context, born);
    Event event = make_event(context, born ? wire::Kind::block_alloc : wire::Kind::block_free, device);
    event.set_totals(allocated_bytes, reserved_bytes);
    event.link = site;
    if (born) set_place(recorder, context.state, event);
    event.address = reinterpret_cast<uint64_t>(address);
    event.size = static_cast<uint64_t>(born ? size : -size);
    PackedRecord record =
        born ? commit_birth(recorder, event, wire::Object::block)
             : commit_death(recorder, event, recorder.table.claim(wire::Object::block, event.address));
    pin_block(recorder, event, record, allocated_bytes, reserved_bytes);
}

void record_out_of_memory(uint16_t library, int64_t size, uint64_t allocated_bytes, uint64_t reserved_bytes,
                          TorchDevice device) {
    EventScope scope(Start::if_needed);
    if (scope.recorder() == nullptr) return;
    Recorder& recorder = *scope.recorder();
    Context context = make_context(&recorder, library);
    uint64_t site = locate(context, true);
    if (context.state != nullptr) {
        Event summary = make_event(context, wire::Kind::operation, device);
        context.state->operation.describe(summary);
        recorder.ring.commit(summary);
    }
    Event event = make_event(context, wire::Kind::block_oom, device);
    event.set_totals(allocated_bytes, reserved_bytes);
    event.link = site;
    event.size = static_cast<uint64_t>(size);
    wire::Record failure = recorder.ring.commit(event).unpack();
    write_keyframe(recorder, failure, context.state);
    if (context.state != nullptr) context.state->operation.restart();
    announce_failure();
}

template <Function function, typename Total>
void on_memory_usage(void* address, int64_t size, Total allocated, Total reserved, TorchDevice device,
                     void* return_address) {
    uint16_t library = caller_index(return_address);
    if (device.type == kCudaType) {
        record_block(library, address, size, static_cast<uint64_t>(allocated),
                     static_cast<uint64_t>(reserved), device);
    }
    using Original = void(void*, int64_t, Total, Total, TorchDevice);
    auto* original = reinterpret_cast<Original*>(original_of(library, return_address, function));
    if (original != nullptr) return original(address, size, allocated, reserved, device);
    note_missing_original(wire::Op::none, library);
}

template <Function function, typename Total>
void on_out_of_memory(int64_t size, Total allocated, Total reserved, TorchDevice device,
                      void* return_address) {
    uint16_t library = caller_index(return_address);
    if (device.type == kCudaType) {
        record_out_of_memory(library, size, static_cast<uint64_t>(allocated), static_cast<uint64_t>(reserved),
                             device);
    }
    using Original = void(int64_t, Total, Total, TorchDevice);
    auto* original = reinterpret_cast<Original*>(original_of(library, return_address, function));
    if (original != nullptr) return original(size, allocated, reserved, device);
    note_missing_original(wire::Op::none, library);
}

}  // namespace

#define MEMSNAP_USAGE_HOOK(name, Total)                                                               \
    extern "C" MEMSNAP_EXPORT void name(void* address, int64_t size, Total allocated, Total reserved, \
                                        TorchDevice device) {                                         \
        return on_memory_usage<Function::name, Total>(address, size, allocated, reserved, device,     \
                                                      __builtin_return_address(0));                   \
    }
#define MEMSNAP_OUT_OF_MEMORY_HOOK(name, Total)                                                              \
    extern "C" MEMSNAP_EXPORT void name(int64_t size, Total allocated, Total reserved, TorchDevice device) { \
        return on_out_of_memory<Function::name, Total>(size, allocated, reserved, device,                    \
                                                       __builtin_return_address(0));                         \
    }

MEMSNAP_USAGE_HOOK(_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE, uint64_t)
MEMSNAP_USAGE_HOOK(_ZN3c1027reportMemoryUsageToProfilerEPvlllNS_6DeviceE, int64_t)
MEMSNAP_OUT_OF_MEMORY_HOOK(_ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE, uint64_t)
MEMSNAP_OUT_OF_MEMORY_HOOK(_ZN3c1027reportOutOfMemoryToProfilerElllNS_6DeviceE, int64_t)

#define MEMSNAP_ADDRESS(name)                  \
    void* torch_hook_of_##name() {             \
        return reinterpret_cast<void*>(&name); \
    }
MEMSNAP_TORCH_FUNCTIONS(MEMSNAP_ADDRESS)
#undef MEMSNAP_ADDRESS

}  // namespace memsnap::recorder
