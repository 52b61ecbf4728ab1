// SPDX-License-Identifier: Apache-2.0
//
// A busy job that runs until it is killed. Arguments: the witness page's file, the number of threads.
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "witness_page.h"

void run_allocator(struct WitnessThread* witness);

static void* run(void* witness) {
    run_allocator(witness);
    return NULL;
}

int main(int argc, char** argv) {
    if (argc != 3) return 2;
    const int file = open(argv[1], O_RDWR | O_CLOEXEC);
    struct WitnessPage* page = mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (page == MAP_FAILED) return 1;
    page->thread_count = (uint64_t)atoi(argv[2]);
    page->pid = (uint64_t)getpid();
    pthread_t thread;
    for (uint64_t i = 0; i < page->thread_count; ++i) {
        if (pthread_create(&thread, NULL, run, &page->threads[i]) != 0) return 1;
    }
    return pthread_join(thread, NULL);
}
