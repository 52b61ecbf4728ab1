// SPDX-License-Identifier: Apache-2.0
//
// The boundary table: where each device stood when a step or range ended. The rules: a killed process leaves
// whole entries only; the entries of one boundary are there for all its devices or for none; whoever cannot
// have the table soon goes on without, counted.
#pragma once

#include "process.h"

namespace memsnap::recorder {

struct Closing {
    uint64_t ticket;  // of the closing record, and its time
    uint64_t time;
    uint64_t opened_ticket;  // kNoTicket: not known
    NameIds names;
    uint16_t thread;
    wire::Family family;
    uint8_t depth;
};

void close_boundary(Recorder& recorder, const Closing& closing);

// The address word of a device_sample taken at `time`: the last boundary before it, and its age.
uint64_t last_boundary_word(const Recorder& recorder, uint64_t time);

}  // namespace memsnap::recorder
