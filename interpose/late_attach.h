// SPDX-License-Identifier: Apache-2.0
//
// The recorder in a process that it was not preloaded into: it starts when it is told to, brings what is
// loaded under its hooks, and gives all of it back. The rules: nothing of the process is changed before
// everything that can be refused was; what is refused leaves the process as it was; a library that was loaded
// late and is not attached records nothing, in forked children too.
#pragma once

#include <cstddef>
#include <cstdint>

namespace memsnap::recorder {

// What memsnap1_attach and memsnap1_detach answer; numbers are for ever.
enum class Answer : uint16_t {
    done = 0,
    already_attached = 1,    // it is armed and disarmed by its file
    preloaded = 2,           // a recorder came with the process: it is armed and disarmed by its file
    disabled = 3,            // MEMSNAP_DISABLE, or more rights than who set the environment
    no_driver = 4,           // libcuda.so.1 is not loaded: nothing was allocated yet
    driver_not_started = 5,  // cuInit has not succeeded yet
    bad_settings = 6,        // no NAME=value texts, or too long
    no_file = 7,             // with errno: the recording could not be made
    busy = 8,                // another thread is at it and does not come to an end; detach: with errno, too
    not_attached = 9,        // detach: there is nothing to give back
    slots_kept = 10,         // recording has ended, some slots could not be given back; it can be asked again
};
inline uint32_t answer_word(Answer answer, int error = 0) {
    return static_cast<uint32_t>(answer) | static_cast<uint32_t>(error) << 16;
}

// Any thread that holds no lock of an allocator or of the dynamic linker.
uint32_t attach_late(const char* settings, size_t settings_bytes);
uint32_t detach_late();

// The driver has loaded this library within its own start. Nothing was allocated yet.
void start_injected();

}  // namespace memsnap::recorder
