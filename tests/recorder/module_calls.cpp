// SPDX-License-Identifier: Apache-2.0
//
// Shows the recorder block events inside and outside of module calls, as its walk of Python's frames would.
// Each argument is one event: "FRAME MODULE INSTRUCTION ACTIVATION born|freed", frame 0: outside of all
// modules.
#include <cstdint>
#include <cstdio>

#include "birth.h"
#include "phases.h"
#include "pinned.h"

namespace {

using namespace memsnap;
using namespace memsnap::recorder;

const void* at(unsigned long number) {
    return reinterpret_cast<const void*>(uintptr_t{number});
}

void show(Recorder& recorder, const ModuleCall& call, bool born) {
    uint16_t thread = thread_index(recorder);
    watch_module_call(recorder, thread, thread_state(recorder, thread), call, born);
    Event event;
    event.kind = born ? wire::Kind::block_alloc : wire::Kind::block_free;
    event.thread = thread;
    event.device = 0;
    event.address = 4096;
    event.size = 512;
    event.set_totals(born ? 512 : 0, 1024);
    PackedRecord record =
        born ? commit_birth(recorder, event, wire::Object::block)
             : commit_death(recorder, event, recorder.table.claim(wire::Object::block, event.address));
    pin_block(recorder, event, record, born ? 512 : 0, 1024);
}

}  // namespace

int main(int argc, char** argv) {
    prepare_process_region();
    EventScope scope(Start::if_needed);
    if (scope.recorder() == nullptr) return 1;
    for (int i = 1; i < argc; ++i) {
        unsigned long frame = 0;
        unsigned long module = 0;
        unsigned instruction = 0;
        unsigned activation = 0;
        char what = 0;
        int read =
            std::sscanf(argv[i], "%lu %lu %u %u %c", &frame, &module, &instruction, &activation, &what);
        if (read != 5) return 2;
        show(*scope.recorder(), {at(frame), at(module), {at(77), instruction, 0}, activation}, what == 'b');
    }
    return 0;
}
