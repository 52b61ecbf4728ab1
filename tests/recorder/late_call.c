// SPDX-License-Identifier: Apache-2.0
//
// Preloaded behind the recorder, thus initialised before it: its exit handler runs after the recorder's.
#include <stdio.h>
#include <stdlib.h>

int cudaMalloc(void** pointer, size_t size);

static void at_exit(int status, void* unused) {
    (void)status;
    (void)unused;
    void* pointer = NULL;
    cudaMalloc(&pointer, 512);
    puts("called late");
    fflush(stdout);
}

__attribute__((constructor)) static void at_start(void) {
    on_exit(at_exit, NULL);
}
