// SPDX-License-Identifier: Apache-2.0
//
// A program that only looks: it takes the primary context and no memory.
#include "driver.h"

int main(void) {
    start_on(0);
    OK(DRIVER(cuDevicePrimaryCtxRelease_v2)(0));
    return 0;
}
