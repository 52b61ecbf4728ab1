// SPDX-License-Identifier: Apache-2.0
//
// Which card a CUDA device number means. The program's numbers are its own (CUDA_VISIBLE_DEVICES), so the
// rule: a card is known by its UUID, else by its place on the bus, never by its number. Side thread only,
// after the program's own cuInit.
#pragma once

#include <cstdint>

#include "text.h"

namespace memsnap::recorder {

struct DeviceIdentity {
    // "GPU-00112233-4455-6677-8899-aabbccddeeff" without the first word, which for an instance of a divided
    // card is another one; empty: not told.
    Text<48> uuid;
    Text<32> bus_id;
};

DeviceIdentity identify_device(int device);

}  // namespace memsnap::recorder
