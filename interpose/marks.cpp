// SPDX-License-Identifier: Apache-2.0
#include "marks.h"

#include "dimensions.h"
#include "pinned.h"

namespace memsnap::recorder {
namespace {

Event make_event(Recorder& recorder, wire::Kind kind) {
    Event event;
    event.kind = kind;
    event.thread = thread_index(recorder);
    event.time = read_counter();
    return event;
}

}  // namespace

void write_mark(Recorder& recorder, const NameIds& names) {
    Event event = make_event(recorder, wire::Kind::mark);
    event.link = names.link();
    recorder.ring.commit(event);
}

void write_note(Recorder& recorder, const char* dimension, size_t dimension_bytes, int64_t value) {
    NameIds names = ids_of_text(recorder, dimension, dimension_bytes);
    Event event = make_event(recorder, wire::Kind::note);
    event.link = names.exact;
    event.size = static_cast<uint64_t>(value);
    recorder.ring.commit(event);
    note_dimension(recorder, names.exact, value);
}

void write_category(Recorder& recorder, int8_t device, uint64_t address, uint64_t size_bytes,
                    uint16_t category) {
    Event event = make_event(recorder, wire::Kind::category);
    event.address = address;
    event.size = size_bytes;
    event.device = device;
    event.code = category;
    recorder.ring.commit(event);
}

void write_cap(Recorder& recorder, int8_t device, uint64_t limit_bytes, uint16_t source) {
    Event event = make_event(recorder, wire::Kind::cap);
    event.device = device;
    event.link = limit_bytes;
    event.code = source;
    pin_cap(recorder, event, recorder.ring.commit(event));
}

}  // namespace memsnap::recorder
