// SPDX-License-Identifier: Apache-2.0
//
// Preloaded behind the recorder: a process that runs with more rights than who started it.
#include <elf.h>
#include <stddef.h>
#include <sys/auxv.h>

extern char** environ;

unsigned long getauxval(unsigned long type) {
    if (type == AT_SECURE) return 1;
    char** end = environ;
    while (*end != NULL) {
        ++end;
    }
    for (const Elf64_auxv_t* one = (const Elf64_auxv_t*)(end + 1); one->a_type != AT_NULL; ++one) {
        if (one->a_type == type) return one->a_un.a_val;
    }
    return 0;
}
