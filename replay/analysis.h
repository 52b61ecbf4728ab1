// SPDX-License-Identifier: Apache-2.0
//
// The stages in order: capture in; incident, evidence, verdict and what the renderers print of them out. The
// rule: one pass over the events replays and validates, and the state is looked at where it failed, not at
// the end of the file.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "balance.h"
#include "boundary.h"
#include "capture.h"
#include "evidence.h"
#include "explain.h"
#include "history.h"
#include "incident.h"
#include "levels.h"
#include "peak_sites.h"
#include "replay.h"
#include "requests.h"
#include "result.h"
#include "scene.h"
#include "shapes.h"
#include "trail.h"
#include "verdict.h"

namespace memsnap {

struct AnalysisOptions {
    std::optional<int> device;          // look at this device only
    std::optional<uint64_t> at_ticket;  // explain the failure with this ticket
};

// The failure that is explained.
struct Incident {
    Failure failure;
    Scene scene;
    Evidence evidence;
    Matched boundaries;  // what growth was measured between
    History history;
    Trail trail;
    Verdict verdict;
    Explanations explanations;
    uint16_t phase = 0;          // that a birth on the failing thread would have, 0: none
    bool from_keyframe = false;  // the ring no longer holds the failing instant
};

struct Analysis {
    ReplayOutcome replay;
    Failures failures;
    std::optional<Incident> incident;
    std::vector<DeviceShapes> shapes;   // by device; of the one asked for
    std::vector<Balance> holders;       // peak and failure, or a peak and an end for each of the shapes
    std::vector<PeakSites> peak_sites;  // of the incident's device, or of each of the shapes
    std::vector<Requests> requests;     // likewise; empty where the torch tap was not there
    Levels levels;                      // of the window, or of the keyframe's own that the incident is from
    std::vector<Note> notes;            // what the user noted last before the failure, or the end
    uint32_t lost_failure_count = 0;    // counted by the recorder, and none of them can be read any more

    // Something failed, and nothing can be decided about it.
    bool without_evidence() const {
        return !incident && (lost_failure_count != 0 || failures.only_unplaced());
    }
};

// Errors: corrupt, as replay() finds it; usage when options name a device or failure that is not there.
Result<Analysis> analyse(const Capture& capture, const AnalysisOptions& options);

// 0 no incident, 10 a primary or a qualifier that is the answer, 11 the evidence does not suffice.
int exit_status(const Analysis& analysis);

}  // namespace memsnap
