// SPDX-License-Identifier: Apache-2.0
//
// What a cut is made of: the incident, the window it is looked at in, and the events of it that a short text
// keeps. The rule: events are kept from the failure backwards, without a hole among those of the failing
// device; what is older is stated as what was live.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "analysis.h"
#include "capture.h"
#include "operation.h"
#include "result.h"

namespace memsnap {

struct CutSource {
    const Capture& capture;
    const Analysis& analysis;
    const Incident& incident;
    std::unique_ptr<Keyframe> keyframe;  // of an incident that only a keyframe still holds

    const Event& failure() const { return incident.failure.event; }
    int device() const { return incident.failure.event.device; }
    const Window& window() const { return keyframe ? keyframe->window : capture.window; }
    const PinnedDevice& pinned() const {
        const PinnedDevices& devices = keyframe ? keyframe->pinned : capture.pinned;
        return devices[static_cast<size_t>(device())];
    }
    // The baseline of the outside bytes; nullptr: the verdict had none.
    const Event* baseline() const;
    // Whether an observation was made long enough before the failure to tell what was there before it.
    bool is_old(const Event& observation) const;
    // The caught failure whose survivors are no retention; nothing: no survivor of one is live.
    std::optional<uint64_t> kept_since_ticket() const;
};

Result<CutSource> open_source(const Capture& capture, const Analysis& analysis);

struct CutChoice {
    uint64_t begin_ticket = 0;               // the state is stated as of here
    std::vector<Event> restated;             // older observations that the verdict used
    std::map<uint64_t, uint64_t> job_bytes;  // of other processes of the job, by the sample they precede
    std::vector<Event> events;  // kept, by ticket: up to the failure, and its report and question after it
    Operation operation;
};

// Keeps `wanted_count` events, and more where the verdict needs more.
CutChoice choose_events(const CutSource& source, uint64_t wanted_count);

}  // namespace memsnap
