// SPDX-License-Identifier: Apache-2.0
//
// A small CUDA program: takes memory, gives it back, says so, and ends with code 3.
#include <stddef.h>
#include <stdio.h>

int cudaMalloc(void**, size_t);
int cudaFree(void*);

int main(void) {
    void* kept = NULL;
    void* given_back = NULL;
    int results[] = {cudaMalloc(&kept, 4 << 20), cudaMalloc(&given_back, 8 << 20), cudaFree(given_back)};
    printf("results %d %d %d\n", results[0], results[1], results[2]);
    return 3;
}
