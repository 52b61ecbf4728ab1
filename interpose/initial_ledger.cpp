// SPDX-License-Identifier: Apache-2.0
#include "initial_ledger.h"

#include <time.h>

#include "birth.h"
#include "callers.h"
#include "pinned.h"
#include "quiet.h"

namespace memsnap::recorder {
namespace {

// Longer than a hook takes that is under way.
constexpr int kLastReadings = 50;
constexpr long kBetweenLastReadings_ns = 1'000'000;
constexpr uint32_t kAdditionsBetweenReadings = 256;

// Filled by one thread between begin and end.
struct Ledger {
    Recorder* recorder;
    InitialObjects objects;
    uint64_t last_ticket_end;  // 1 + ticket of the last record written here
    uint32_t entered_count;
    uint32_t dropped_count;
    uint16_t torch_library;
};
constinit Ledger g_ledger{};
std::atomic<uint32_t> g_busy{0};

uint16_t torch_library() {
    const uint32_t count = g_caller_count.load(std::memory_order_acquire);
    for (uint32_t i = 1; i < count; ++i) {
        if (is_torch_allocator(static_cast<uint16_t>(i))) return static_cast<uint16_t>(i);
    }
    return 0;
}

wire::Object class_of(Told told) {
    switch (told) {
        case Told::segment:
            return wire::Object::device;
        case Told::block:
            return wire::Object::block;
        case Told::mapping:
            return wire::Object::mapping;
    }
    return wire::Object::none;
}

Home home_of(Recorder& recorder, const Event& event, Told told) {
    switch (told) {
        case Told::segment:
            return home_of_birth(recorder, event, wire::Object::device);
        case Told::block:
            return Home::untold;
        case Told::mapping:
            return Home::nobody;
    }
    return Home::untold;
}

Event make_event(Recorder& recorder, const InitialObject& object, wire::Kind kind) {
    Event event;
    event.kind = kind;
    event.flags = wire::kFlagFromTorch;
    event.thread = thread_index(recorder);
    event.time = read_counter();
    event.address = object.address;
    event.size = object.size_bytes;
    event.device = object.device;
    event.op = object.told == Told::mapping ? wire::Op::cuMemMap : wire::Op::none;
    event.library = g_ledger.torch_library;
    return event;
}

void read_ring() {
    g_ledger.objects.read_ring(*g_ledger.recorder, g_ledger.recorder->ring.head());
}

void note_written(uint64_t ticket) {
    if (ticket + 1 > g_ledger.last_ticket_end) g_ledger.last_ticket_end = ticket + 1;
}

void enter(InitialObject& object) {
    Recorder& recorder = *g_ledger.recorder;
    const auto kind = object.told == Told::block ? wire::Kind::initial : wire::Kind::initial_segment;
    const Event event = make_event(recorder, object, kind);
    PackedRecord record =
        commit_birth(recorder, event, class_of(object.told), home_of(recorder, event, object.told));
    note_written(record.ticket());
    object.is_entered = true;
    ++g_ledger.entered_count;
}

// Whether the list is right about it: nothing has happened at its address since the list was begun, and what
// was recorded there before did not lead to a life that the table holds.
bool is_to_be_entered(const InitialObject& object) {
    wire::LiveEntry entry;
    return !g_ledger.objects.has_missed() && g_ledger.objects.first_event_of(object) == FirstEvent::none &&
           !g_ledger.recorder->table.peek(class_of(object.told), object.address, entry);
}

// What a device's list adds up to, for one that has reported nothing since.
InitialObjects::Totals sums_of_list(int8_t device) {
    InitialObjects::Totals sums{};
    for (const InitialObject& object : g_ledger.objects) {
        if (object.device != device) continue;
        if (object.told == Told::block) sums.allocated_bytes += object.size_bytes;
        if (object.told != Told::block) sums.reserved_bytes += object.size_bytes;
    }
    return sums;
}

// The last one of its device, with the device's totals at exactly its ticket. Where something has happened at
// its address meanwhile, a report of the allocator's tells the totals.
void enter_with_totals(InitialObject& object) {
    Recorder& recorder = *g_ledger.recorder;
    for (;;) {
        const uint64_t head = recorder.ring.head();
        g_ledger.objects.read_ring(recorder, head);
        if (!is_to_be_entered(object)) return;
        InitialObjects::Totals totals = g_ledger.objects.totals(static_cast<uint32_t>(object.device));
        if (!totals.is_reported) totals = sums_of_list(object.device);
        const auto kind = object.told == Told::block ? wire::Kind::initial : wire::Kind::initial_segment;
        Event event = make_event(recorder, object, kind);
        event.set_totals(totals.allocated_bytes, totals.reserved_bytes);
        const Home home = home_of(recorder, event, object.told);
        if (!recorder.ring.take_tickets_from(head, 1)) continue;
        PackedRecord record =
            commit_birth(recorder, event, class_of(object.told), home, {head, recorder.ring.slots()});
        if (!totals.is_reported)
            pin_block(recorder, event, record, totals.allocated_bytes, totals.reserved_bytes);
        note_written(head);
        object.is_entered = true;
        ++g_ledger.entered_count;
        return;
    }
}

// The last one of the device that nothing has happened to is kept for the end.
void enter_device(int8_t device) {
    InitialObject* last = nullptr;
    for (bool blocks : {false, true}) {
        for (InitialObject& object : g_ledger.objects) {
            if (object.device != device || (object.told == Told::block) != blocks) continue;
            read_ring();
            if (!is_to_be_entered(object)) continue;
            if (last != nullptr && is_to_be_entered(*last)) enter(*last);
            last = &object;
        }
    }
    if (last != nullptr) enter_with_totals(*last);
    note_device_call(*g_ledger.recorder, device);
}

// It ended before it was entered, and its end had not been read then: the life is one too many. Of several
// entries at one address the oldest is the one too many, since at most the youngest can be alive.
void end_again(InitialObject& object) {
    Recorder& recorder = *g_ledger.recorder;
    uint32_t slot = recorder.table.claim_oldest(class_of(object.told), object.address);
    if (slot == LiveTable::kNoSlot) return;
    Event event =
        make_event(recorder, object, object.told == Told::block ? wire::Kind::block_free : wire::Kind::free);
    event.size = recorder.table.entry(slot).size;
    if (object.told == Told::segment) event.op = wire::Op::cudaFree;
    if (object.told == Told::mapping) event.op = wire::Op::cuMemUnmap;
    note_written(commit_death(recorder, event, slot).ticket());
    object.is_entered = false;
    --g_ledger.entered_count;
}

void enter_all() {
    EventScope scope(Start::never);
    if (scope.recorder() != g_ledger.recorder) return;
    for (uint32_t device = 0; device < wire::kDeviceCapacity; ++device) {
        bool any = false;
        for (const InitialObject& object : g_ledger.objects) {
            any = any || object.device == static_cast<int8_t>(device);
        }
        if (any) enter_device(static_cast<int8_t>(device));
    }
}

void settle() {
    EventScope scope(Start::never);
    Recorder& recorder = *g_ledger.recorder;
    if (scope.recorder() != &recorder) return;
    for (InitialObject& object : g_ledger.objects) {
        if (object.is_entered && g_ledger.objects.first_event_of(object) == FirstEvent::other_death)
            end_again(object);
    }
    if (g_ledger.objects.has_missed() || g_ledger.dropped_count != 0)
        mark_incomplete(recorder, recorder.ring.head());
    if (g_ledger.dropped_count != 0)
        std::atomic_ref<uint64_t>(recorder.header->counters.table_full).fetch_add(g_ledger.dropped_count);
    std::atomic_ref<uint64_t>(recorder.header->initial_until)
        .store(g_ledger.last_ticket_end, std::memory_order_release);
}

void close() {
    g_ledger.objects.close();
    g_busy.store(0, std::memory_order_release);
}

}  // namespace

bool begin_initial() {
    Recorder* recorder = current_recorder();
    if (recorder == nullptr || g_busy.exchange(1, std::memory_order_acquire) != 0) return false;
    const uint64_t head = recorder->ring.head();
    g_ledger = Ledger{};
    g_ledger.recorder = recorder;
    g_ledger.torch_library = torch_library();
    if (!g_ledger.objects.open(head)) {
        close();
        return false;
    }
    std::atomic_ref<uint64_t>(recorder->header->initial_from).store(head, std::memory_order_release);
    return true;
}

void add_initial(uint32_t told, int32_t device, uint64_t address, uint64_t size_bytes) {
    if (g_busy.load(std::memory_order_acquire) == 0 || told > static_cast<uint32_t>(Told::mapping) ||
        device < 0 || device >= static_cast<int32_t>(wire::kDeviceCapacity))
        return;
    const InitialObject object{address, size_bytes, static_cast<Told>(told), static_cast<int8_t>(device),
                               false};
    if (!g_ledger.objects.add(object)) ++g_ledger.dropped_count;
}

uint32_t end_initial() {
    if (g_busy.load(std::memory_order_acquire) == 0) return 0;
    enter_all();
    const timespec pause{0, kBetweenLastReadings_ns};
    for (int i = 0; i < kLastReadings; ++i) {
        nanosleep(&pause, nullptr);
        read_ring();
    }
    settle();
    const uint32_t entered_count = g_ledger.entered_count;
    close();
    return entered_count;
}

}  // namespace memsnap::recorder
