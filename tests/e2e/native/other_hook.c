// SPDX-License-Identifier: Apache-2.0
//
// Another tool that hooks dlsym and the driver's resolver, as several do, and passes everything on. With
// COUNT_WITHIN set to a library's name it prints, at exit, for each asking library how many of the pointers
// handed to it lie in that library.
#include <dlfcn.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void* Dlsym(void*, const char*);
typedef int Resolve(const char*, void**, int, uint64_t, void*);

enum {
    kAskers = 64
};
static struct {
    char name[256];
    unsigned count;
} askers[kAskers];
static Resolve* resolve_next;

static const char* library_of(const void* address) {
    Dl_info info;
    if (dladdr(address, &info) == 0 || info.dli_fname == NULL) return "";
    const char* slash = strrchr(info.dli_fname, '/');
    return slash == NULL ? info.dli_fname : slash + 1;
}

static void count(const void* given, const void* asker) {
    const char* wanted = getenv("COUNT_WITHIN");
    if (given == NULL || wanted == NULL || strcmp(library_of(given), wanted) != 0) return;
    const char* name = library_of(asker);
    for (int i = 0; i < kAskers; ++i) {
        if (askers[i].count != 0 && strcmp(askers[i].name, name) != 0) continue;
        strncpy(askers[i].name, name, sizeof askers[i].name - 1);
        ++askers[i].count;
        return;
    }
}

__attribute__((destructor)) static void print(void) {
    for (int i = 0; i < kAskers && askers[i].count != 0; ++i) {
        printf("%s %u\n", askers[i].name, askers[i].count);
    }
    fflush(stdout);
}

static int hooked_resolve(const char* symbol, void** found, int version, uint64_t flags, void* status) {
    int result = resolve_next(symbol, found, version, flags, status);
    if (result == 0 && found != NULL) {
        count(*found, __builtin_return_address(0));
        if (strcmp(symbol, "cuGetProcAddress") == 0 && version >= 12000) *found = (void*)hooked_resolve;
    }
    return result;
}

// The next tool's, or the C library's. Asked for by this library, whichever way it is preloaded.
static Dlsym* next(void) {
    static Dlsym* found;
    if (found != NULL) return found;
    Dlsym* plain = (Dlsym*)dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
    if (plain == NULL) plain = (Dlsym*)dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.17");
    found = (Dlsym*)plain(RTLD_NEXT, "dlsym");
    return found;
}

void* dlsym(void* handle, const char* name) {
    if (handle == RTLD_NEXT || handle == RTLD_DEFAULT || strncmp(name, "cu", 2) != 0 || name[2] < 'A' ||
        name[2] > 'Z')
        return next()(handle, name);
    void* found = next()(handle, name);
    count(found, __builtin_return_address(0));
    if (found != NULL && strcmp(name, "cuGetProcAddress_v2") == 0) {
        resolve_next = (Resolve*)found;
        return (void*)hooked_resolve;
    }
    return found;
}
