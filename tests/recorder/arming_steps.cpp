// SPDX-License-Identifier: Apache-2.0
//
// For step_kill: a process that is armed and disarmed by its own side thread's work, done here on the one
// thread that is looked at after every instruction, with block events before, between and after:
//   MEMSNAP_ARM=standby arming_steps ROUNDS
#include <signal.h>

#include <cstdlib>

#include "arming.h"
#include "birth.h"
#include "cpu.h"

namespace {

using namespace memsnap;
using namespace memsnap::recorder;

constexpr uint64_t kBlock_bytes = 512;

void block_event(bool born, uint64_t address) {
    EventScope scope(born ? Start::if_needed : Start::never);
    if (scope.recorder() == nullptr) return;
    Recorder& recorder = *scope.recorder();
    Event event;
    event.kind = born ? wire::Kind::block_alloc : wire::Kind::block_free;
    event.thread = thread_index(recorder);
    event.device = 0;
    event.address = address;
    event.size = kBlock_bytes;
    event.set_totals(kBlock_bytes, kBlock_bytes);
    if (born) {
        commit_birth(recorder, event, wire::Object::block);
    } else {
        commit_death(recorder, event, recorder.table.claim(wire::Object::block, address));
    }
}

void ask(wire::ArmWish wish) {
    static uint64_t serial = 0;
    Recorder* newest = g_process.newest.load();
    newest->header->arm_request = ++serial << 8 | static_cast<uint64_t>(wish);
    tend_arming(0);
}

}  // namespace

int main(int argc, char** argv) {
    const long rounds = argc > 1 ? std::atol(argv[1]) : 1;
    prepare_process_region();
    wait_to_be_armed();
    block_event(true, 4096);
    raise(SIGSTOP);
    for (long i = 0; i < rounds; ++i) {
        ask(wire::ArmWish::record);
        block_event(false, 4096);
        block_event(true, 4096);
        block_event(true, 8192);
        ask(wire::ArmWish::disarm);
        block_event(false, 8192);
    }
    raise(SIGSTOP);
    return 0;
}
