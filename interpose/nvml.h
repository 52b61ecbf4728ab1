// SPDX-License-Identifier: Apache-2.0
//
// NVML, as far as samples need it, whatever its version. The rules: used by the side thread alone; nothing is
// needed but the library itself, which is asked what it has and restated here from its public reference; a
// number that it does not tell is not told here either.
#pragma once

#include <cstdint>

#include "holders.h"
#include "wire.h"

namespace memsnap::recorder::nvml {

using Device = void*;

struct Memory {
    uint64_t total_bytes = 0;  // without what the driver keeps for itself, as cudaMemGetInfo counts
    uint64_t free_bytes = 0;
    bool operator==(const Memory&) const = default;
};

// Loads the library and starts it, once a process.
wire::Sampling open();

// Null when there is no such device.
Device find_by_uuid(const char* uuid);
Device find_by_bus_id(const char* bus_id);
// A card that is divided into instances: its numbers are those of no instance.
bool is_divided(Device device);

bool read_memory(Device device, Memory& memory);
// False when NVML does not list a device's processes.
bool read_holders(Device device, Holders& holders);

}  // namespace memsnap::recorder::nvml
