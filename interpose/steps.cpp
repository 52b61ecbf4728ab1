// SPDX-License-Identifier: Apache-2.0
#include "steps.h"

#include "boundaries.h"

namespace memsnap::recorder {
namespace {

Event commit_step(Recorder& recorder, uint16_t thread, uint32_t number, const NameIds& names, uint32_t flags,
                  uint64_t& ticket) {
    Event event;
    event.kind = wire::Kind::step;
    event.thread = thread;
    event.time = read_counter();
    event.size = number;
    event.link = names.link();
    event.code = static_cast<uint16_t>(flags);
    ticket = recorder.ring.commit(event).ticket();
    return event;
}

uint32_t next_number(Recorder& recorder) {
    return recorder.steps_ended.fetch_add(1, std::memory_order_relaxed) + 1;
}

}  // namespace

void note_told_steps() {
    g_process.steps_told.store(true, std::memory_order_relaxed);
}

void end_step(Recorder& recorder, const char* name, size_t name_bytes, uint32_t flags) {
    flags &= wire::kStepCollectionOff;
    uint16_t thread = thread_index(recorder);
    NameIds names = ids_of_text(recorder, name, name_bytes);
    uint64_t ticket = 0;
    const bool was_implied = recorder.last_step_implied.exchange(false, std::memory_order_relaxed);
    const uint32_t number =
        was_implied ? recorder.steps_ended.load(std::memory_order_relaxed) : next_number(recorder);
    Event event = commit_step(recorder, thread, number, names, flags, ticket);
    uint64_t opened = recorder.last_step.exchange(ticket + 1, std::memory_order_relaxed);
    close_boundary(recorder, {ticket, event.time, opened == 0 ? wire::kNoTicket : opened - 1, names, thread,
                              wire::Family::step, 0});
}

void end_implied_step(Recorder& recorder, uint16_t thread, bool collection_off) {
    if (g_process.steps_told.load(std::memory_order_relaxed)) return;
    uint64_t ticket = 0;
    const uint32_t flags = wire::kStepImplied | (collection_off ? wire::kStepCollectionOff : 0);
    commit_step(recorder, thread, next_number(recorder), {}, flags, ticket);
    recorder.last_step_implied.store(true, std::memory_order_relaxed);
    recorder.last_step.store(ticket + 1, std::memory_order_relaxed);
}

}  // namespace memsnap::recorder
