// SPDX-License-Identifier: Apache-2.0
//
// An NVML with one card and one of the forms that drivers have shipped. FAKE_NVML_FORM 1: the first forms
// alone; 2 and 3: the second, and the second and third, with the first beside them, as real ones keep it. The
// environment's FAKE_NVML, a list of words, makes it awkward. One lock is held in every call, as in the real
// one.
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    kSuccess = 0,
    kInvalidArgument = 2,
    kNotSupported = 3,
    kNotFound = 6,
    kInsufficientSize = 7,
    kLost = 15,
    kMebibyte = 1 << 20
};
static const unsigned long long kNotAvailable = ~0ULL;
static const unsigned long long kTotal = 1024ULL * kMebibyte;  // as CUDA counts
static const unsigned long long kFree = 300ULL * kMebibyte;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile int torn_down;

static int is(const char* word) {
    const char* words = getenv("FAKE_NVML");
    return words != NULL && strstr(words, word) != NULL;
}

static unsigned long query_count;
unsigned long fake_nvml_query_count(void) {
    pthread_mutex_lock(&lock);
    unsigned long count = query_count;
    pthread_mutex_unlock(&lock);
    return count;
}

// The body of every call. One that is running when the library is torn down is what crashes a process.
static void enter(void) {
    pthread_mutex_lock(&lock);
    ++query_count;
    if (is("slow")) usleep(5000);
    if (torn_down) abort();
    pthread_mutex_unlock(&lock);
}

static void tear_down(void) {
    torn_down = 1;
    if (is("slow")) usleep(20000);
}

int nvmlInit_v2(void) {
    if (is("refuses")) return kNotSupported;
    atexit(tear_down);
    return kSuccess;
}

static char card, instance;  // their addresses are the handles

int nvmlDeviceGetHandleByUUID(const char* uuid, void** device) {
    enter();
    // A divided card is not found by the UUID of an instance.
    const char* kind = is("divided") ? "MIG-" : "GPU-";
    char known[64];
    snprintf(known, sizeof known, "%s00010203-0405-0607-0809-0a0b0c0d0eff", kind);
    if (is("no_uuid") || strcmp(uuid, known) != 0) return kNotFound;
    *device = is("divided") ? &instance : &card;
    return kSuccess;
}

int nvmlDeviceGetHandleByPciBusId_v2(const char* bus_id, void** device) {
    enter();
    if (is("no_bus") || strcmp(bus_id, "0000:07:00.0") != 0) return kNotFound;
    *device = &card;
    return kSuccess;
}

int nvmlDeviceGetMigMode(void* device, unsigned* current, unsigned* pending) {
    *current = *pending = is("divided") ? 1 : 0;
    return device == &card ? kSuccess : kNotSupported;
}

static int memory_numbers(void* device, unsigned long long* total, unsigned long long* free) {
    enter();
    if (is("lost")) return kLost;
    *total = device == &card ? kTotal : kTotal / 2;
    *free = kFree;
    return kSuccess;
}

struct Memory {
    unsigned long long total, free, used;
};
int nvmlDeviceGetMemoryInfo(void* device, struct Memory* memory) {
    return memory_numbers(device, &memory->total, &memory->free);
}

struct ProcessV1 {
    unsigned pid;
    unsigned long long bytes;
};
struct ProcessV2 {
    unsigned pid;
    unsigned long long bytes;
    unsigned gpu_instance, compute_instance;
};

// We hold 500 MiB; others come from FAKE_NVML_OTHERS: "PID:MEBIBYTES ...".
static unsigned list_processes(struct ProcessV2* list, unsigned room) {
    unsigned count = 0;
    if (!is("without_us")) {
        list[count].pid = (unsigned)getpid() + (is("host_numbers") ? 1000000 : 0);
        list[count].bytes = is("our_bytes_untold") ? kNotAvailable
                            : is("our_bytes_zero") ? 0
                                                   : 500ULL * kMebibyte;
        ++count;
    }
    const char* others = getenv("FAKE_NVML_OTHERS");
    for (const char* at = others; at != NULL && *at != '\0' && count < room; at = strchr(at, ' ')) {
        at += *at == ' ';
        long mebibytes = 0;
        sscanf(at, "%u:%ld", &list[count].pid, &mebibytes);
        list[count++].bytes = mebibytes < 0 ? kNotAvailable : (unsigned long long)mebibytes * kMebibyte;
    }
    return count;
}

static int second_form(unsigned* count, struct ProcessV2* processes) {
    enter();
    if (is("unlisted")) return kNotSupported;
    struct ProcessV2 list[64];
    unsigned found = is("too_many") ? *count + 1 : list_processes(list, 64);
    unsigned room = *count;
    *count = found;
    if (found > room) return kInsufficientSize;
    for (unsigned i = 0; i < found; ++i) {
        processes[i] = list[i];
        processes[i].gpu_instance = processes[i].compute_instance = 0xffffffff;
    }
    return kSuccess;
}

int nvmlDeviceGetComputeRunningProcesses(void* device, unsigned* count, struct ProcessV1* processes) {
    struct ProcessV2 list[64];
    unsigned found = 64;
    int result = second_form(&found, list);
    if (device == NULL) return kInvalidArgument;
    for (unsigned i = 0; result == kSuccess && i < found && i < *count; ++i) {
        processes[i].pid = list[i].pid;
        processes[i].bytes = list[i].bytes;
    }
    *count = found;
    return result;
}

#if FAKE_NVML_FORM >= 2
static const unsigned long long kReserved = 64ULL * kMebibyte;
struct MemoryV2 {
    unsigned version;
    unsigned long long total, reserved, free, used;
};
int nvmlDeviceGetMemoryInfo_v2(void* device, struct MemoryV2* memory) {
    if (memory->version != (sizeof *memory | 2 << 24)) return kInvalidArgument;
    memory->reserved = kReserved;
    int result = memory_numbers(device, &memory->total, &memory->free);
    memory->total += kReserved;
    return result;
}
int nvmlDeviceGetComputeRunningProcesses_v2(void* device, unsigned* count, struct ProcessV2* processes) {
    return device == NULL ? kInvalidArgument : second_form(count, processes);
}
#endif

#if FAKE_NVML_FORM >= 3
int nvmlDeviceGetComputeRunningProcesses_v3(void* device, unsigned* count, struct ProcessV2* processes) {
    return device == NULL ? kInvalidArgument : second_form(count, processes);
}
// A process that computes and draws.
int nvmlDeviceGetGraphicsRunningProcesses_v3(void* device, unsigned* count, struct ProcessV2* processes) {
    if (!is("draws")) return kNotSupported;
    return nvmlDeviceGetComputeRunningProcesses_v3(device, count, processes);
}
// What the compute list calls the server's, by its clients.
int nvmlDeviceGetMPSComputeRunningProcesses_v3(void* device, unsigned* count, struct ProcessV2* processes) {
    if (device == NULL || !is("shared")) return kNotSupported;
    *count = 1;
    processes[0] = (struct ProcessV2){4000001, 7ULL * kMebibyte, 0, 0};
    return kSuccess;
}
#endif
