// SPDX-License-Identifier: Apache-2.0
//
// Stands for libc10_cuda.so: an allocator with one lock, as PyTorch's, whose threads allocate and free each
// other's blocks. Each thread counts in the witness page what is complete. Rule: what is reported is true (no
// overlap, exact totals), so that any ring left by a kill must replay without a broken rule.
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "c10.h"
#include "witness_page.h"

enum {
    kSlots = 256,
    kSlot_bytes = 8192,
    kSegment_bytes = kSlots * kSlot_bytes,
    kUnit_bytes = 512
};

int cudaMalloc(void** address, size_t size_bytes);
int cudaFree(void* address);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const struct Device device = {1, 0};
static char* segment;
static uint64_t live_bytes[kSlots];
static uint64_t allocated_bytes, reserved_bytes;

static void* device_allocate(struct WitnessThread* witness) {
    void* address = NULL;
    if (cudaMalloc(&address, kSegment_bytes) != 0) abort();
    ++witness->device_allocations;
    reserved_bytes += kSegment_bytes;
    return address;
}

static void device_free(void* address, struct WitnessThread* witness) {
    if (cudaFree(address) != 0) abort();
    ++witness->device_frees;
    reserved_bytes -= kSegment_bytes;
}

static void report(void* address, int64_t size_bytes, struct WitnessThread* witness) {
    allocated_bytes += (uint64_t)size_bytes;
    report_usage(address, size_bytes, allocated_bytes, reserved_bytes, device);
    witness->last_size_bytes = (uint64_t)(size_bytes < 0 ? -size_bytes : size_bytes);
    ++witness->block_reports;
}

// Takes or gives back the block of one slot.
static void turn_slot(unsigned slot, uint64_t size_bytes, struct WitnessThread* witness) {
    char* address = segment + (size_t)slot * kSlot_bytes;
    const uint64_t freed_bytes = live_bytes[slot];
    live_bytes[slot] = freed_bytes == 0 ? size_bytes : 0;
    report(address, freed_bytes == 0 ? (int64_t)size_bytes : -(int64_t)freed_bytes, witness);
}

// A block with a segment of its own, as a large one has.
static void large_block(struct WitnessThread* witness) {
    void* address = device_allocate(witness);
    report(address, kSegment_bytes, witness);
    report(address, -(int64_t)kSegment_bytes, witness);
    device_free(address, witness);
}

void run_allocator(struct WitnessThread* witness) {
    unsigned state = (unsigned)gettid();
    witness->tid = (uint64_t)gettid();
    for (uint64_t turn = 0;; ++turn) {
        state = state * 1664525u + 1013904223u;
        pthread_mutex_lock(&lock);
        if (segment == NULL) segment = device_allocate(witness);
        if (turn % 64 == 63) {
            large_block(witness);
        } else {
            turn_slot(state >> 24, (1 + turn % 15) * kUnit_bytes, witness);
        }
        pthread_mutex_unlock(&lock);
    }
}
