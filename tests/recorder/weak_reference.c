// SPDX-License-Identifier: Apache-2.0
//
// Asks the way libraries do that run with and without CUDA.
#include <stdio.h>

__attribute__((weak)) int cudaMalloc(void** out, unsigned long size);

int main(void) {
    puts(cudaMalloc != NULL ? "present" : "absent");
    return 0;
}
