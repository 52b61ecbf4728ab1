// SPDX-License-Identifier: Apache-2.0
#include "contexts.h"

#include "device.h"
#include "process.h"

namespace memsnap::recorder {
namespace {

constexpr uint32_t kFirstPrimary = static_cast<uint32_t>(Home::first_context);
constexpr uint32_t kFirstOwn = kFirstPrimary + INT8_MAX + 1;

Home home_of_current_context(Recorder& recorder, int8_t device) {
    if (recorder.contexts.any()) {
        Home own = recorder.contexts.find(current_context());
        if (own != Home::untold) return own;
        if (recorder.contexts.has_overflowed()) return Home::nobody;
    }
    return primary_home(device != kDeviceUnknown ? device : current_device());
}

}  // namespace

Home OwnContexts::enter(uint64_t context) {
    entered_.store(true, std::memory_order_release);
    for (uint32_t i = 0; i < kCapacity; ++i) {
        uint64_t unused = 0;
        if (contexts_[i].compare_exchange_strong(unused, context)) return static_cast<Home>(kFirstOwn + i);
    }
    overflowed_.store(true, std::memory_order_relaxed);
    return Home::nobody;
}

Home OwnContexts::find(uint64_t context) const {
    for (uint32_t i = 0; context != 0 && i < kCapacity; ++i) {
        if (contexts_[i].load(std::memory_order_acquire) == context) return static_cast<Home>(kFirstOwn + i);
    }
    return Home::untold;
}

void OwnContexts::leave(Home home) {
    contexts_[static_cast<uint32_t>(home) - kFirstOwn].store(0, std::memory_order_release);
}

void OwnContexts::restore(Home home, uint64_t context) {
    uint64_t unused = 0;
    contexts_[static_cast<uint32_t>(home) - kFirstOwn].compare_exchange_strong(unused, context);
}

Home primary_home(int8_t device) {
    return device < 0 ? Home::nobody : static_cast<Home>(kFirstPrimary + static_cast<uint32_t>(device));
}

bool is_own_context(Home home) {
    return static_cast<uint32_t>(home) >= kFirstOwn;
}

Home home_of_birth(Recorder& recorder, const Event& born, wire::Object object) {
    switch (object) {
        case wire::Object::none:
        case wire::Object::block:
            return Home::untold;
        case wire::Object::device:
        case wire::Object::managed:
        case wire::Object::host:
        case wire::Object::array:
        case wire::Object::import:
            return home_of_current_context(recorder, born.device);
        case wire::Object::context:
            if (born.op == wire::Op::cuCtxCreate) return recorder.contexts.enter(born.address);
            // A green context holds a reference to the primary one and ends by its own call.
            return born.op == wire::Op::cuDevicePrimaryCtxRetain ? primary_home(born.device) : Home::nobody;
        case wire::Object::async:
        case wire::Object::pool:
        case wire::Object::graph_node:
        case wire::Object::vmm_handle:
        case wire::Object::mapping:
        case wire::Object::reservation:
        case wire::Object::multicast:
            return Home::nobody;
    }
    return Home::nobody;
}

}  // namespace memsnap::recorder
