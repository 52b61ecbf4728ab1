// SPDX-License-Identifier: Apache-2.0
//
// A CUPTI as small as the cross-check can do with. Enabling makes records of an allocation, of something else
// and, if FAKE_CUPTI_COUNT asks for them, of more allocations, as each flush does; they are delivered by a
// thread of its own when they are flushed. A forced flush adds a release. FAKE_CUPTI_REFUSE names a call that
// is refused, FAKE_CUPTI_CODE with what; FAKE_CUPTI_SAID is a file with a line for each call.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    kSuccess = 0,
    kMaxLimitReached = 12,
    kMemory2 = 49,
    kRecordBytes = 128
};

typedef struct {
    uint32_t kind, operation, memory_kind, correlation;
    uint64_t address, bytes, timestamp_ns, program_counter;
    uint32_t process, device;
    unsigned char rest[kRecordBytes - 56];
} Record;

typedef void (*Requested)(uint8_t** buffer, size_t* size, size_t* max_records);
typedef void (*Completed)(void* context, uint32_t stream, uint8_t* buffer, size_t size, size_t valid);

typedef struct {
    uint8_t* bytes;
    size_t size, valid;
} Buffer;

static Requested requested;
static Completed completed;
static Buffer buffers[1024];
static size_t buffer_count;
static size_t dropped;

static int say(const char* call) {
    const char* path = getenv("FAKE_CUPTI_SAID");
    FILE* file = path == NULL ? NULL : fopen(path, "a");
    if (file != NULL) {
        fprintf(file, "%d %s\n", (int)getpid(), call);
        fclose(file);
    }
    const char* refused = getenv("FAKE_CUPTI_REFUSE");
    return refused != NULL && strcmp(refused, call) == 0 ? atoi(getenv("FAKE_CUPTI_CODE")) : kSuccess;
}

static void add(Record record) {
    Buffer* last = buffer_count == 0 ? NULL : &buffers[buffer_count - 1];
    if (last == NULL || last->valid + sizeof record > last->size) {
        Buffer fresh = {NULL, 0, 0};
        size_t max_records = 0;
        if (buffer_count < sizeof buffers / sizeof buffers[0])
            requested(&fresh.bytes, &fresh.size, &max_records);
        if (fresh.bytes == NULL) {
            ++dropped;
            return;
        }
        last = &buffers[buffer_count++];
        *last = fresh;
    }
    memcpy(last->bytes + last->valid, &record, sizeof record);
    last->valid += sizeof record;
}

static void add_more(void) {
    const char* more = getenv("FAKE_CUPTI_COUNT");
    for (long i = 0; more != NULL && i < atol(more); ++i) {
        add((Record){.kind = kMemory2,
                     .operation = 1,
                     .memory_kind = 3,
                     .address = 0x8000000000 + (uint64_t)i,
                     .bytes = 512});
    }
}

static void* deliver(void* unused) {
    for (size_t i = 0; i < buffer_count; ++i) {
        completed(NULL, 0, buffers[i].bytes, buffers[i].size, buffers[i].valid);
    }
    buffer_count = 0;
    return unused;
}

int cuptiSubscribe(void** subscriber, void* callback, void* data) {
    *subscriber = callback;
    return data == NULL ? say("subscribe") : 1;
}
int cuptiUnsubscribe(void* subscriber) {
    return subscriber == NULL ? 1 : say("unsubscribe");
}
int cuptiActivityRegisterCallbacks(Requested on_request, Completed on_completion) {
    requested = on_request;
    completed = on_completion;
    return say("register");
}
int cuptiActivityEnable(uint32_t kind) {
    int result = say("enable");
    if (result != kSuccess || kind != kMemory2) return result;
    add((Record){.kind = kMemory2,
                 .operation = 1,
                 .memory_kind = 3,
                 .address = 0x7000000000,
                 .bytes = 2 << 20,
                 .timestamp_ns = 1000});
    add((Record){.kind = 5, .operation = 1, .address = 0x1111});
    add_more();
    return result;
}
int cuptiActivityFlushAll(uint32_t flag) {
    int forced = flag == 1;
    if (!forced) add_more();
    if (forced) {
        add((Record){.kind = kMemory2,
                     .operation = 2,
                     .memory_kind = 3,
                     .address = 0x7000000000,
                     .bytes = 2 << 20,
                     .timestamp_ns = 2000,
                     .device = 1});
    }
    pthread_t worker;
    if (pthread_create(&worker, NULL, deliver, NULL) == 0) pthread_join(worker, NULL);
    return say(forced ? "forced flush" : "flush");
}
int cuptiActivityGetNextRecord(uint8_t* buffer, size_t valid, Record** record) {
    Record* first = (Record*)(void*)buffer;
    *record = *record == NULL ? first : *record + 1;
    return (size_t)(*record + 1 - first) * sizeof(Record) <= valid ? kSuccess : kMaxLimitReached;
}
int cuptiActivityGetNumDroppedRecords(void* context, uint32_t stream, size_t* count) {
    *count = dropped;
    dropped = 0;
    return context == NULL && stream == 0 ? kSuccess : 1;
}
