// SPDX-License-Identifier: Apache-2.0
//
// Sums over the objects below the caching allocator: what other libraries of the process hold, and what only
// the driver knows. The rule: each is kept as objects come and go, so that it costs nothing to ask at every
// event; what a sum does not count is walked over when somebody asks.
#include <algorithm>

#include "ledger.h"

namespace memsnap {

namespace {

constexpr uint64_t kDriverPage_bytes = uint64_t{2} << 20;  // what the driver takes from the device at least

}  // namespace

void Ledger::count(const DriverObject& object, bool live) {
    count_outside(object, live);
    if (object.device < 0) return;
    DeviceTotals& totals = totals_[static_cast<size_t>(object.device)];
    const uint64_t rest = object.size_bytes % kDriverPage_bytes;
    const uint64_t lost = rest == 0 ? 0 : kDriverPage_bytes - rest;
    const bool rounded = object.object == Object::device || object.object == Object::array;
    if (rounded && !object.imported()) totals.rounding_bytes += live ? lost : uint64_t{0} - lost;
    if (object.object == Object::async && (object.flags & kCapturing) == 0) {
        const Wide size = live ? Wide{object.size_bytes} : -Wide{object.size_bytes};
        totals.pooled_bytes += size;
        totals.pool_room_bytes += live ? size + lost : size - lost;
        totals.pool_room_peak_bytes = std::max(totals.pool_room_peak_bytes, totals.pool_room_bytes);
    }
}

// A mapping has no bytes of its own: it shows where those of its handle lie.
void Ledger::count_outside(const DriverObject& object, bool live) {
    if (object.object == Object::mapping) {
        if (object.in_segment) change_memory(object.handle, &PhysicalMemory::segment_count, live);
        return;
    }
    if (object.outside()) count_foreign(object.library, object.device, object.size_bytes, live);
}

void Ledger::count_foreign(uint16_t library, int device, uint64_t size_bytes, bool live) {
    if (device < 0) return;
    std::map<uint16_t, ForeignBytes>& foreign = states_[static_cast<size_t>(device)].foreign;
    ForeignBytes& held = foreign[library];
    held.library = library;
    held.device = static_cast<int8_t>(device);
    held.bytes += live ? size_bytes : uint64_t{0} - size_bytes;
    held.count += live ? 1 : uint64_t{0} - 1;
    if (held.count == 0) foreign.erase(library);
    totals_[static_cast<size_t>(device)].own_bytes += live ? Wide{size_bytes} : -Wide{size_bytes};
}

void Ledger::change_memory(uint64_t handle, uint32_t PhysicalMemory::*counter, bool more) {
    const auto found = physical_.find(handle);
    if (found == physical_.end()) return;
    PhysicalMemory& memory = found->second;
    const auto count_as_it_is = [&](bool live) {
        if (memory.outside()) count_foreign(memory.library, memory.device, memory.size_bytes, live);
        if (memory.unmapped() && memory.device >= 0) {
            totals_[static_cast<size_t>(memory.device)].unmapped_bytes +=
                live ? memory.size_bytes : uint64_t{0} - memory.size_bytes;
        }
    };
    count_as_it_is(false);
    if (more) {
        ++(memory.*counter);
    } else if (memory.*counter > 0) {
        --(memory.*counter);
    }
    count_as_it_is(true);
}

// The region that an object made came under PyTorch's allocator, or left it.
void Ledger::settle_object(uint64_t birth_ticket, bool in_segment) {
    DriverObject* const object = objects_.find(birth_ticket);
    if (object == nullptr || object->in_segment == in_segment) return;
    count_outside(*object, false);
    object->in_segment = in_segment;
    count_outside(*object, true);
}

std::vector<ForeignBytes> Ledger::foreign(int device) const {
    std::vector<ForeignBytes> list;
    for (const auto& [library, held] : states_[static_cast<size_t>(device)].foreign)
        list.push_back(held);
    return list;
}

BesideBytes Ledger::beside(int device) const {
    BesideBytes beside;
    std::map<std::pair<Object, uint64_t>, uint64_t> imported;  // one each, however often it was opened
    objects_.for_each([&](const DriverObject& object) {
        if (object.object == Object::host) beside.pinned_bytes += object.size_bytes;
        if (object.device != device) return;
        if (object.object == Object::managed) beside.managed_bytes += object.size_bytes;
        if (object.object == Object::graph_node) beside.graph_bytes += object.size_bytes;
        const bool handle = object.object == Object::vmm_handle &&
                            (object.op == Op::cuMemImportFromShareableHandle || object.imported());
        if (object.object != Object::import && !handle) return;
        uint64_t& bytes = imported[{object.object, object.address}];
        bytes = std::max(bytes, object.size_bytes);
    });
    beside.imported_count = imported.size();
    for (const auto& [key, bytes] : imported)
        beside.imported_bytes += bytes;
    return beside;
}

}  // namespace memsnap
