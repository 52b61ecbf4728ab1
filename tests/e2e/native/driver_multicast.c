// SPDX-License-Identifier: Apache-2.0
//
// A multicast object takes no memory, nor does binding to it; its handle is mapped and released as memory's.
#include "driver.h"

int main(void) {
    start_on(0);
    const size_t bytes = 20 * kMebibyte;
    const CUmemAllocationProp properties = memory_on(0);
    const CUmulticastObjectProp team = {.numDevices = 1, .size = 2 * bytes};
    CUmemGenericAllocationHandle multicast = 0;
    CUmemGenericAllocationHandle memory = 0;
    CUdeviceptr range = 0;
    const size_t before = free_bytes();
    OK(DRIVER(cuMemCreate)(&memory, bytes, &properties, 0));  // + 20 MiB
    OK(DRIVER(cuMemAddressReserve)(&range, 4 * bytes, 0, 0, 0));
    OK(DRIVER(cuMemMap)(range, bytes, 0, memory, 0));
    OK(DRIVER(cuMulticastCreate)(&multicast, &team));
    OK(DRIVER(cuMulticastAddDevice)(multicast, 0));
    OK(DRIVER(cuMulticastBindMem)(multicast, 0, memory, 0, bytes, 0));
    OK(DRIVER(cuMulticastBindAddr)(multicast, bytes, range, bytes, 0));
    OK(DRIVER(cuMemMap)(range + bytes, 2 * bytes, 0, multicast, 0));
    if (free_bytes() != before - bytes) return 1;
    OK(DRIVER(cuMulticastUnbind)(multicast, 0, bytes, bytes));
    OK(DRIVER(cuMulticastUnbind)(multicast, 0, 0, bytes));
    OK(DRIVER(cuMemUnmap)(range, 3 * bytes));
    OK(DRIVER(cuMemRelease)(multicast));
    OK(DRIVER(cuMemRelease)(memory));  // - 20 MiB
    if (free_bytes() != before) return 1;
    return 0;
}
