// SPDX-License-Identifier: Apache-2.0
//
// The range of the outermost module call that a thread's block events are seen in. The rule: frames and
// modules are compared by their addresses and never read, since they may be gone.
#include "boundaries.h"
#include "phases.h"

namespace memsnap::recorder {
namespace {

bool same(const PythonFrame& a, const PythonFrame& b) {
    return a.code == b.code && a.instruction == b.instruction && a.generation == b.generation;
}

bool same(const ModuleCall& a, const ModuleCall& b) {
    return a.frame == b.frame && a.module == b.module && a.activation == b.activation &&
           same(a.caller, b.caller);
}

// What a module is called by, at one place: the same in every step.
NameIds ids_of_call(Recorder& recorder, const ModuleCall& call) {
    uint64_t place = reinterpret_cast<uint64_t>(call.module);
    for (uint64_t part : {reinterpret_cast<uint64_t>(call.caller.code), uint64_t{call.caller.instruction},
                          uint64_t{call.caller.generation}}) {
        place = mix(place) + part;
    }
    return ids_of_place(recorder, place, class_name_of, call.module);
}

PackedRecord commit_edge(Recorder& recorder, wire::Kind kind, uint16_t thread, const ModuleRange& range) {
    Event event;
    event.kind = kind;
    event.thread = thread;
    event.time = read_counter();
    event.link = range.names.link();
    event.code = static_cast<uint16_t>(wire::Family::module);
    if (kind == wire::Kind::phase_end) event.address = range.begin_ticket;
    return recorder.ring.commit(event);
}

void open(Recorder& recorder, uint16_t thread, ModuleRange& range, const ModuleCall& call) {
    range.open = true;
    range.call = call;
    range.names = ids_of_call(recorder, call);
    range.begin_ticket = commit_edge(recorder, wire::Kind::phase_begin, thread, range).ticket();
}

void close(Recorder& recorder, uint16_t thread, ModuleRange& range) {
    range.open = false;
    wire::Record end = commit_edge(recorder, wire::Kind::phase_end, thread, range).unpack();
    close_boundary(recorder,
                   {end.seq - 1, end.time, range.begin_ticket, range.names, thread, wire::Family::module, 0});
}

}  // namespace

void watch_module_call(Recorder& recorder, uint16_t thread, ThreadState* state, const ModuleCall& module,
                       bool born) {
    if (state == nullptr) return;
    ModuleRange& range = state->module_range;
    if (range.open) {
        if (module.frame != nullptr && same(range.call, module)) return;
        close(recorder, thread, range);
    }
    if (born && module.frame != nullptr) open(recorder, thread, range, module);
}

}  // namespace memsnap::recorder
