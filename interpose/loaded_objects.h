// SPDX-License-Identifier: Apache-2.0
//
// The loaded objects as the sidecar tells them, so that native frames can be named later. The rules: an
// object is entered once a generation, under no lock but that of dl_iterate_phdr; the generation grows before
// anything can come to lie where an unloaded object was, as far as a dlclose shows; code that was walked
// through and is gone is remembered, since what was learnt of its frames may not be used for other code.
#pragma once

#include <atomic>
#include <cstdint>

#include "process.h"

namespace memsnap::recorder {

// A loaded object that the sidecar tells of. One that is gone stays until other code lies at its place.
struct MappedObject {
    uint64_t begin, end;  // end 0: nothing any more
    uint64_t identity;    // of its name, size and build id
    uint64_t content;     // of its build id, 0: it has none
    std::atomic<bool> is_walked;
};
inline constexpr uint32_t kMappedObjectCapacity = 16384;

// Of one recording; pages come when they are touched.
struct ObjectMap {
    std::atomic<uint32_t> busy;            // a thread reads or changes what follows
    std::atomic<uint64_t> added, removed;  // the linker's counts at the last look
    uint32_t count;
    MappedObject objects[kMappedObjectCapacity];
};

extern std::atomic<uint32_t> g_object_generation;
extern std::atomic<uint32_t> g_walk_epoch;

// How often objects were seen to have been unloaded.
inline uint32_t object_generation() {
    return g_object_generation.load(std::memory_order_acquire);
}

// Changes when other code came to lie where walked frames had been: what a thread learnt of frames in an
// earlier epoch may be untrue.
inline uint32_t walk_epoch() {
    return g_walk_epoch.load(std::memory_order_acquire);
}

// Takes note of what was unloaded since the last look; true when something was.
bool notice_unloading();

// After a dlclose: whether code that was walked through is gone; then a new epoch has begun.
void retire_walked_objects(Recorder& recorder);

// Whether the map of this recording lacks something.
bool are_objects_unmapped(const Recorder& recorder);
// Enters the objects that the sidecar does not tell of yet.
void map_loaded_objects(Recorder& recorder);

// Stacks lead through these addresses. False when one of them lies in no object of the map.
bool note_walked(Recorder& recorder, const uint64_t* addresses, uint32_t count);

}  // namespace memsnap::recorder
