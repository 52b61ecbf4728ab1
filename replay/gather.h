// SPDX-License-Identifier: Apache-2.0
//
// Collects the evidence of one failure from the state at its instant. The rule: the ring's window and a
// failure keyframe are looked at through the same interface, so both lead to the same evidence.
#pragma once

#include <optional>
#include <vector>

#include "boundary.h"
#include "capture.h"
#include "evidence.h"
#include "incident.h"
#include "ledger.h"
#include "operation.h"
#include "outside.h"
#include "scene.h"

namespace memsnap {

// Where the failing instant is looked at.
struct Vantage {
    const Capture& capture;
    const Window& window;
    const PinnedDevices& pinned;
    const std::vector<Event>& operation_records;
    bool from_keyframe = false;
};

struct Gathered {
    Evidence evidence;
    Scene scene;
};

// `ledger` is the state at the failing record.
Gathered gather(const Vantage& vantage, const Failure& failure, const Ledger& ledger, const Matched& matched,
                const ObservationLog& log, std::optional<uint64_t> kept_since_ticket);

}  // namespace memsnap
