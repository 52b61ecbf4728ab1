/* SPDX-License-Identifier: Apache-2.0
 *
 * Stands in for the recorder's C functions (interpose/api.h): preloaded, it writes a line for each call into
 * the file that TOLD names.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TEXT (int)name_bytes, name_bytes ? name : ""

static uint64_t next_handle = 1;

/* One write a line, so that lines of threads and of children do not mix. */
#define SAY(...)                                                                      \
    do {                                                                              \
        char line[512];                                                               \
        int length = snprintf(line, sizeof line, "%d ", (int)gettid());               \
        length += snprintf(line + length, sizeof line - (size_t)length, __VA_ARGS__); \
        say(line, (size_t)length);                                                    \
    } while (0)

static void say(const char* line, size_t length) {
    const char* path = getenv("TOLD");
    int file = path ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;
    if (file >= 0) {
        if (write(file, line, length) < 0) {
            abort();
        }
        close(file);
    }
}

void memsnap1_tap_state(uint32_t state) {
    SAY("tap_state %u\n", state);
}

uint32_t memsnap1_version(void) {
    return 1;
}

int memsnap1_recording(void) {
    return getenv("TOLD_RECORDING") != NULL;
}

uint64_t memsnap1_begin(uint32_t family, const char* name, size_t name_bytes, uint64_t detail) {
    uint64_t handle = __atomic_fetch_add(&next_handle, 1, __ATOMIC_RELAXED);
    SAY("begin %lu %u %lu %.*s\n", (unsigned long)handle, family, (unsigned long)detail, TEXT);
    return handle;
}

void memsnap1_end(uint64_t range) {
    SAY("end %lu\n", (unsigned long)range);
}

void memsnap1_step(const char* name, size_t name_bytes, uint32_t flags) {
    SAY("step %u %.*s\n", flags, TEXT);
}

void memsnap1_mark(const char* name, size_t name_bytes) {
    SAY("mark %.*s\n", TEXT);
}

void memsnap1_note(const char* name, size_t name_bytes, int64_t value) {
    SAY("note %ld %.*s\n", (long)value, TEXT);
}

void memsnap1_category(int32_t device, uint64_t address, uint64_t size_bytes, uint32_t category) {
    SAY("category %d %lu %lu %u\n", device, (unsigned long)address, (unsigned long)size_bytes, category);
}

void memsnap1_cap(int32_t device, uint64_t limit_bytes, uint32_t source) {
    SAY("cap %d %lu %u\n", device, (unsigned long)limit_bytes, source);
}
