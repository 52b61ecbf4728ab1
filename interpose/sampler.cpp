// SPDX-License-Identifier: Apache-2.0
#include "sampler.h"

#include <time.h>

#include <initializer_list>

#include "asking.h"
#include "boundaries.h"
#include "cpu.h"
#include "device_identity.h"
#include "neighbours.h"
#include "nvml.h"
#include "pinned.h"
#include "quiet.h"
#include "side_thread.h"

namespace memsnap::recorder {
namespace {

constexpr uint64_t kMillisecond_ns = 1'000'000;
constexpr uint64_t kNever_ns = ~uint64_t{0};
// A quiet moment is waited for this long, and again after this long, so many times in a row before a sample
// is taken without one.
constexpr uint32_t kPatience_ms = 50;
constexpr uint32_t kVainWaits = 30;
constexpr uint32_t kTicketTries = 64;
// A sample that is younger than this, or than this part of the period, is good enough for a boundary.
constexpr uint64_t kYoung_ns = 10 * kMillisecond_ns;
constexpr uint64_t kYoungDivisor = 10;

struct Target {
    bool looked_for;
    nvml::Device device;  // null: NVML does not know it
    uint64_t due_ns;
    uint32_t vain_waits;
};

struct Sampler {
    wire::Sampling sampling;  // unknown: NVML not opened yet
    bool found_any;
    Target targets[wire::kDeviceCapacity];
};
// Of the side thread: at most one a process.
Sampler g_sampler;
Holders g_holders;
ProcessEvents g_processes;

enum class Attempt : uint8_t {
    done,
    busy,     // the program may have changed the device meanwhile, or exits, or forks
    refused,  // NVML does not answer
};

void say_sampling(Recorder& recorder, wire::Sampling sampling) {
    auto* field = reinterpret_cast<uint32_t*>(&recorder.header->sampling);
    std::atomic_ref<uint32_t>(*field).store(static_cast<uint32_t>(sampling), std::memory_order_relaxed);
}

nvml::Device find_whole_card(nvml::Device found) {
    return found != nullptr && !nvml::is_divided(found) ? found : nullptr;
}

nvml::Device find_card(int device) {
    DeviceIdentity identity = identify_device(device);
    for (const char* kind : {"GPU-", "MIG-"}) {
        if (identity.uuid.size() == 0) continue;
        Text<64> uuid;
        uuid.add(kind);
        uuid.add(identity.uuid.c_str());
        nvml::Device found = nvml::find_by_uuid(uuid.c_str());
        if (equal(kind, "GPU-")) found = find_whole_card(found);
        if (found != nullptr) return found;
    }
    return identity.bus_id.size() == 0 ? nullptr
                                       : find_whole_card(nvml::find_by_bus_id(identity.bus_id.c_str()));
}

void look_for(Recorder& recorder, int device, Target& target) {
    target.looked_for = true;
    if (g_sampler.sampling == wire::Sampling::unknown) {
        g_sampler.sampling = nvml::open();
        say_sampling(recorder, g_sampler.sampling);
    }
    if (g_sampler.sampling != wire::Sampling::nvml) return;
    target.device = find_card(device);
    if (target.device != nullptr) g_sampler.found_any = true;
    if (target.device == nullptr) bump(recorder.header->counters.samples_failed);
    say_sampling(recorder, g_sampler.found_any ? wire::Sampling::nvml : wire::Sampling::nvml_failed);
}

// Writes the events under tickets in a row, taken when no call can have come since `look`; false: one may
// have. The totals are those reported last before these tickets.
bool commit_in_a_row(Recorder& recorder, Event* events, uint32_t count, uint64_t look, bool anyway,
                     PackedRecord* records) {
    RingWriter::Tickets tickets{wire::kNoTicket, recorder.ring.slots()};
    for (uint32_t i = 0; tickets.first == wire::kNoTicket; ++i) {
        if (i == kTicketTries && !anyway) return false;
        uint64_t head = recorder.ring.head();
        for (uint32_t k = 0; k < count; ++k) {
            if (events[k].kind != wire::Kind::neighbour) add_reported_totals(recorder, events[k]);
            if (events[k].kind == wire::Kind::device_sample)
                events[k].address = last_boundary_word(recorder, events[k].time);
        }
        if (look_at_calls(recorder) != look && !anyway) return false;
        if (recorder.ring.take_tickets_from(head, count)) tickets.first = head;
        if (i == kTicketTries) tickets = recorder.ring.take_tickets(count);
    }
    for (uint32_t k = 0; k < count; ++k) {
        records[k] = recorder.ring.commit(events[k], tickets, k);
    }
    return true;
}

Attempt ask(Recorder& recorder, int device, nvml::Device card, bool anyway) {
    uint64_t look = look_at_calls(recorder);
    if (!is_quiet(look) && !anyway) return Attempt::busy;
    nvml::Memory memory;
    nvml::Memory memory_after;
    if (!nvml::read_memory(card, memory)) return Attempt::refused;
    const DeviceState& state = recorder.devices[device];
    if (nvml::read_holders(card, g_holders)) {
        describe_processes(*recorder.header, g_holders, state.reserved_bytes.load(std::memory_order_relaxed),
                           g_processes);
    } else {
        describe_no_processes(g_processes);
    }
    if (!nvml::read_memory(card, memory_after)) return Attempt::refused;
    if (memory != memory_after && !anyway) return Attempt::busy;

    Event events[kNeighboursAtMost + 2];
    PackedRecord records[kNeighboursAtMost + 2];
    uint32_t count = 0;
    for (; count < g_processes.neighbour_count; ++count) {
        events[count] = g_processes.neighbours[count];
    }
    events[count++] = g_processes.sample;
    Event& sample = events[count++];
    sample.kind = wire::Kind::device_sample;
    sample.size = memory_after.total_bytes;
    sample.link = memory_after.free_bytes;
    for (uint32_t i = 0; i < count; ++i) {
        events[i].device = static_cast<int8_t>(device);
        events[i].time = read_counter();
    }
    if (!commit_in_a_row(recorder, events, count, look, anyway, records)) return Attempt::busy;
    pin_processes(recorder, events[count - 2], records[count - 2]);
    pin_observation(recorder, events[count - 1], records[count - 1]);
    return Attempt::done;
}

Attempt attempt(Recorder& recorder, int device, Target& target, bool anyway) {
    if (!begin_asking()) return Attempt::busy;
    if (!target.looked_for) look_for(recorder, device, target);
    Attempt result =
        target.device == nullptr ? Attempt::refused : ask(recorder, device, target.device, anyway);
    let_exit_wait();
    end_asking();
    return result;
}

// False after a vain wait.
bool sample_at_a_quiet_moment(Recorder& recorder, int device, Target& target) {
    bool tired = target.vain_waits >= kVainWaits;
    const timespec pause{0, kMillisecond_ns};
    for (uint32_t waited_ms = 0; waited_ms < (tired ? 1 : kPatience_ms); ++waited_ms) {
        Attempt result = attempt(recorder, device, target, false);
        if (result == Attempt::refused && target.device != nullptr)
            bump(recorder.header->counters.samples_failed);
        if (result != Attempt::busy) {
            target.vain_waits = 0;
            return true;
        }
        nanosleep(&pause, nullptr);
    }
    if (tired) return attempt(recorder, device, target, true) != Attempt::busy;
    ++target.vain_waits;
    return false;
}

}  // namespace

void reset_sampler() {
    g_sampler = Sampler{};
}

void ask_for_sample(Recorder& recorder) {
    uint64_t period_ns = recorder.header->sample_period_ms * kMillisecond_ns;
    if (period_ns == 0) return;
    uint64_t young_ns = period_ns / kYoungDivisor;
    if (young_ns < kYoung_ns) young_ns = kYoung_ns;
    uint64_t now_ns = read_monotonic_ns();
    uint64_t last_ns = recorder.last_sample_ns.load(std::memory_order_relaxed);
    if (now_ns - last_ns < young_ns || !recorder.last_sample_ns.compare_exchange_strong(last_ns, now_ns))
        return;
    recorder.sample_asked.store(true, std::memory_order_release);
    wake_side_thread();
}

uint64_t take_due_samples(Recorder& recorder) {
    uint64_t period_ns = recorder.header->sample_period_ms * kMillisecond_ns;
    if (period_ns == 0) return kNever_ns;
    bool asked = recorder.sample_asked.exchange(false, std::memory_order_acquire);
    uint64_t next_ns = kNever_ns;
    for (uint32_t device = 0; device < wire::kDeviceCapacity; ++device) {
        const DeviceState& state = recorder.devices[device];
        Target& target = g_sampler.targets[device];
        bool used = state.has_calls.load(std::memory_order_acquire) ||
                    state.has_reported.load(std::memory_order_acquire);
        if (!used || (target.looked_for && target.device == nullptr)) continue;
        uint64_t now_ns = read_monotonic_ns();
        if (asked || now_ns >= target.due_ns) {
            bool done = sample_at_a_quiet_moment(recorder, static_cast<int>(device), target);
            target.due_ns = now_ns + (done ? period_ns : kPatience_ms * kMillisecond_ns * 2);
            if (done) recorder.last_sample_ns.store(read_monotonic_ns(), std::memory_order_relaxed);
        }
        if (target.due_ns < next_ns) next_ns = target.due_ns;
    }
    return next_ns;
}

}  // namespace memsnap::recorder
