// SPDX-License-Identifier: Apache-2.0
//
// What a program may tell the recorder, as plain C functions that the Python package finds by name in the
// global scope (memsnap1_version tells that they are there). The rules: any thread, at any time, with or
// without the GIL; bounded work, never a wait; nothing of it but the tap's words creates a recording, and
// what is told before there is one, open ranges, notes and limits, is kept until then. Texts are UTF-8 of any
// length, not ended; what is longer than 255 bytes is cut at a character.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "visibility.h"

extern "C" {

// 1. A later one that an older caller cannot use has functions of other names.
MEMSNAP_EXPORT uint32_t memsnap1_version(void);
// Whether this process has a recording by now.
MEMSNAP_EXPORT int memsnap1_recording(void);

// Opens a range on the calling thread; `family` is one of wire::Family: none (a label), optimizer, range,
// collection (then `detail` is the generation collected); an optimizer's `detail` is 1 when cyclic collection
// is switched off, else it is 0. The handle is not 0.
MEMSNAP_EXPORT uint64_t memsnap1_begin(uint32_t family, const char* name, size_t name_bytes, uint64_t detail);
// Closes it, on the thread that opened it; ranges may be closed out of order. An unknown handle is ignored.
MEMSNAP_EXPORT void memsnap1_end(uint64_t range);

// A step ends here. `flags`: wire::StepFlag.
MEMSNAP_EXPORT void memsnap1_step(const char* name, size_t name_bytes, uint32_t flags);
MEMSNAP_EXPORT void memsnap1_mark(const char* name, size_t name_bytes);
// A dimension of what follows, until it is noted anew; at most 16 of them make steps differ.
MEMSNAP_EXPORT void memsnap1_note(const char* dimension, size_t dimension_bytes, int64_t value);

// The block at (or around) an address holds this: wire::Category. `device` is CUDA's number.
MEMSNAP_EXPORT void memsnap1_category(int32_t device, uint64_t address, uint64_t size_bytes,
                                      uint32_t category);
// The most that this process may take of a device, 0: no limit. `source`: wire::CapSource.
MEMSNAP_EXPORT void memsnap1_cap(int32_t device, uint64_t limit_bytes, uint32_t source);

// The torch tap (python/memsnap/tap): one word of the allocator's own trace, under its device's lock. `kind`
// is one of wire::Kind's tap_*; what its record means is in WIRE.md. A word of memory that is taken, or of a
// failure, creates a recording, as the report behind it would.
MEMSNAP_EXPORT void memsnap1_tap(uint32_t kind, int32_t device, uint64_t address, uint64_t size_bytes,
                                 uint64_t link, uint64_t stream, uint32_t pool, uint32_t code);
// Whether so many of its words at once, which only say again what was said, leave enough of the ring to the
// events. Asked at a failure: it creates a recording too.
MEMSNAP_EXPORT int memsnap1_tap_may_repeat(uint32_t record_count);
// What became of it: wire::TapState.
MEMSNAP_EXPORT void memsnap1_tap_state(uint32_t state);

// ---- for who loads the library into a running process (docs/attach.md). Called where no lock of an
// allocator or of the dynamic linker is held; from several threads at once it happens once.

// Starts to record: `settings` are "NAME=value" texts, each ended by a zero byte, that answer before the
// environment. The low 16 bits are an Answer (late_attach.h), 0: done; the high ones an errno. What is
// refused leaves the process as it was.
MEMSNAP_EXPORT uint32_t memsnap1_attach(const char* settings, size_t settings_bytes);
// Ends the recording and gives the slots back. The library stays loaded; attaching again makes a new file.
MEMSNAP_EXPORT uint32_t memsnap1_detach(void);
// What was there before, in this order: begin, torch's memory_snapshot(), one call for each object, end.
// `told`: 0 a segment of cudaMalloc, 1 a block in state active_allocated, 2 a piece of an expandable segment
// as it was mapped. Returns whether it may begin, and how many were entered; the end takes 50 ms.
MEMSNAP_EXPORT int memsnap1_initial_begin(void);
MEMSNAP_EXPORT void memsnap1_initial(uint32_t told, int32_t device, uint64_t address, uint64_t size_bytes);
MEMSNAP_EXPORT uint32_t memsnap1_initial_end(void);
}
