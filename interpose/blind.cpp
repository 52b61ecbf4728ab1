// SPDX-License-Identifier: Apache-2.0
#include "blind.h"

#include "callers.h"

namespace memsnap::recorder {

void record_blind(Recorder& recorder, wire::Blind reason, wire::Op op, uint16_t library) {
    if (library >=
        std::atomic_ref<uint32_t>(recorder.header->library_count).load(std::memory_order_relaxed)) {
        list_callers(recorder);
    }
    Event event;
    event.kind = wire::Kind::blind;
    event.thread = thread_index(recorder);
    event.time = read_counter();
    event.op = op;
    event.library = library;
    event.code = static_cast<uint16_t>(reason);
    recorder.ring.commit(event);
    bump(recorder.header->counters.blind);
}

}  // namespace memsnap::recorder
