// SPDX-License-Identifier: Apache-2.0
//
// Takes from each observation what is known to be the process's own. Rule: own bytes, rounding and pools are
// sums at the observation's ticket.
#include "residual.h"

#include "inputs.h"
#include "thresholds.h"

namespace oracle {
namespace {

std::vector<Stay> stays_of(const std::vector<Piece>& pieces, int device) {
    std::vector<Stay> stays;
    for (const auto& piece : pieces) {
        if (piece.device == device) stays.push_back({piece.from, piece.to, piece.bytes});
    }
    return stays;
}

// What the driver takes beyond the size that it was asked for.
Int rounding_of(const Life& life) {
    Int beyond = life.size % thresholds::kDriverPageBytes;
    return beyond == 0 ? 0 : thresholds::kDriverPageBytes - beyond;
}

std::vector<Stay> rounding_stays(const Scene& scene, int device) {
    std::vector<Stay> stays;
    for (const auto& life : scene.lives) {
        bool rounded = (life.object == kDevice || life.object == kArray) && !is_imported(life);
        if (rounded && life.device == device) stays.push_back({life.from, life.death, rounding_of(life)});
    }
    return stays;
}

struct Pool {
    std::vector<Stay> asked, taken;  // a pool grows by whole pages
};

Pool pool_stays(const Scene& scene, int device) {
    Pool pool;
    for (const auto& life : scene.lives) {
        if (life.object != kAsync || life.device != device || (life.flags & kCapturing) != 0) continue;
        pool.asked.push_back({life.from, life.death, life.size});
        pool.taken.push_back({life.from, life.death, life.size + rounding_of(life)});
    }
    return pool;
}

}  // namespace

std::vector<Residual> residuals_of(const Scene& scene, int device, u64 ticket) {
    u64 begin = scene.recording.begin;
    Sums own(begin, stays_of(scene.pieces.outside, device));
    Sums unmapped(begin, stays_of(scene.pieces.unmapped, device));
    Sums rounding(begin, rounding_stays(scene, device));
    auto pool = pool_stays(scene, device);
    Sums asked(begin, pool.asked), taken(begin, pool.taken);
    std::vector<Residual> residuals;
    for (const auto& event : scene.recording.events) {
        if (event.ticket > ticket) break;
        if (!is_observation(event, device) || is_untold(*scene.recording.file, event)) continue;
        u64 at = event.ticket;
        Int held = scene.regions.held_at(device, at) + unmapped.at(at);
        Int rest = Int{event.size} - event.link - held - own.at(at);
        Int pool_slack = taken.peak_by(at).bytes - asked.at(at);
        residuals.push_back({&event, rest - rounding.at(at) - pool_slack, rest});
    }
    return residuals;
}

}  // namespace oracle
