// SPDX-License-Identifier: Apache-2.0
//
// Makes a scene. Rule: lives first, then what ends them early (overlaps), then everything that reads them.
#include "scene.h"

#include "categories.h"
#include "validate.h"

namespace oracle {

Int Scene::live_block_bytes(int device, u64 ticket) const {
    Int bytes = 0;
    for (const auto& life : lives) {
        if (life.object == kBlock && life.device == device && life.alive_at(ticket)) bytes += life.size;
    }
    return bytes;
}

Int Scene::unseen_block_bytes(int device, u64 ticket) const {
    const Event* last = nullptr;
    for (const auto& event : recording.events) {
        if (event.ticket <= ticket && event.device == device && event.is_report()) last = &event;
    }
    return last == nullptr ? Int{0} : last->allocated_bytes - live_block_bytes(device, last->ticket);
}

Int Scene::held_bytes(int device, u64 ticket) const {
    Int bytes = regions.held_at(device, ticket);
    for (const auto& piece : pieces.unmapped) {
        if (piece.device == device && piece.there_at(ticket)) bytes += piece.bytes;
    }
    return bytes;
}

Sums Scene::live_blocks(int device) const {
    std::vector<Stay> stays;
    for (const auto& life : lives) {
        if (life.object == kBlock && life.device == device)
            stays.push_back({life.from, life.death, life.size});
    }
    return {recording.begin, stays};
}

Scene make_scene(Recording recording) {
    Scene scene;
    scene.recording = std::move(recording);
    scene.ranges = ranges_of(scene.recording);
    auto lives = build_lives(scene.recording, scene.ranges);
    scene.lives = std::move(lives.all);
    scene.issues = std::move(lives.issues);
    auto add = [&](std::vector<Issue> issues) {
        scene.issues.insert(scene.issues.end(), issues.begin(), issues.end());
    };
    add(check_overlaps(scene.lives));
    tell_categories(scene.recording, scene.lives);
    scene.regions = build_regions(scene.recording, scene.lives);
    add(check_block_regions(scene.lives, scene.regions.all));
    add(check_records(scene.recording));
    add(check_totals(scene.recording, scene.lives, scene.issues));
    add(scene.regions.issues);
    add(check_table(scene.recording, scene.lives));
    scene.pieces = cut_pieces(scene.recording, scene.lives, scene.regions);
    return scene;
}

}  // namespace oracle
