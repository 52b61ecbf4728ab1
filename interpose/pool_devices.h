// SPDX-License-Identifier: Apache-2.0
//
// The devices of pools that the program did not create: each device has a default one, which the driver hands
// out on request. The rule: a pool that was never seen has no known device, since the current device need not
// be its own.
#pragma once

#include <cstdint>

#include "cuda_abi.h"

namespace memsnap::recorder {

// The driver said that this is the device's default or current pool.
void note_pool_of_device(cuda::Pool pool, int device);
void note_pool_at_location(cuda::Pool pool, const cuda::Location& location);

int8_t device_of_pool(cuda::Pool pool);

}  // namespace memsnap::recorder
