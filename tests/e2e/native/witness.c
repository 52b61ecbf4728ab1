// SPDX-License-Identifier: Apache-2.0
//
// A second preload library, before the recorder: counts PyTorch's block reports that the recorder has
// returned from, thread by thread, in the page that MEMSNAP_TEST_WITNESS names.
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "c10.h"
#include "witness_page.h"

typedef void Report(void*, int64_t, size_t, size_t, struct Device);

static struct WitnessPage* page;
static Report* recorder;
static _Thread_local struct WitnessThread* mine;

__attribute__((constructor)) static void map_page(void) {
    const char* path = getenv("MEMSNAP_TEST_WITNESS");
    const int file = path == NULL ? -1 : open(path, O_RDWR | O_CLOEXEC);
    if (file < 0) return;
    void* mapped = mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (mapped == MAP_FAILED) return;
    page = mapped;
    recorder = (Report*)dlsym(RTLD_NEXT, "_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE");
    page->pid = (uint64_t)getpid();
}

void report_usage(void* address, int64_t size_bytes, size_t allocated_bytes, size_t reserved_bytes,
                  struct Device device) {
    recorder(address, size_bytes, allocated_bytes, reserved_bytes, device);
    if (device.type != 1) return;
    if (mine == NULL) {
        mine = &page->threads[page->thread_count++ % kWitnessThreads];
        mine->tid = (uint64_t)gettid();
    }
    mine->last_size_bytes = (uint64_t)(size_bytes < 0 ? -size_bytes : size_bytes);
    ++mine->block_reports;
}
