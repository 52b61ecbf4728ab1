// SPDX-License-Identifier: Apache-2.0
//
// A program that loads libraries in every way there is: `loads STEP...` does the steps in order.
//   local:LIBRARY     dlopen, then plugin_run; also prints where it lies
//   deepbind:LIBRARY  the same with RTLD_DEEPBIND
//   lazy:LIBRARY      with RTLD_DEEPBIND and RTLD_LAZY, nothing called
//   apart:LIBRARY     dlmopen in a namespace of its own, then plugin_run
//   unload            dlclose of the last one
//   again:LIBRARY     a hundred times dlopen, plugin_run, dlclose
//   ask:NAME          for a driver entry point, in both ways
//   init              the driver's start
//   allocate          a cudaMalloc of the program's own
//   wait              until standard input ends
// Prints what each call returned.
#include <dlfcn.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int cudaMalloc(void**, size_t);

typedef int Run(size_t);
typedef int Resolve(const char*, void**, int, uint64_t, void*);

static void* last;

static void run(void* library) {
    if (library == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    last = library;
    Run* plugin = __extension__(Run*) dlsym(library, "plugin_run");
    printf("%d\n", plugin == NULL ? 0 : plugin(1 << 20));
}

static void* driver(void) {
    return dlopen(getenv("FAKE_CUDA"), RTLD_NOW | RTLD_LOCAL);
}

static void ask(const char* name) {
    Resolve* resolve = __extension__(Resolve*) dlsym(driver(), "cuGetProcAddress_v2");
    void* found = NULL;
    int status = 0;
    printf("%d\n", resolve(name, &found, 13000, 0, &status) == 0);
    printf("%d\n", dlsym(driver(), name) == found);
}

static void step(const char* text) {
    const char* colon = strchr(text, ':');
    size_t size = colon == NULL ? strlen(text) : (size_t)(colon - text);
    const char* argument = colon == NULL ? "" : colon + 1;
#define IS(word) (size == sizeof word - 1 && strncmp(text, word, size) == 0)
    if (IS("local")) {
        run(dlopen(argument, RTLD_NOW | RTLD_LOCAL));
        printf("at %lx\n", (unsigned long)((struct link_map*)last)->l_addr);
    } else if (IS("deepbind")) {
        run(dlopen(argument, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND));
    } else if (IS("lazy")) {
        last = dlopen(argument, RTLD_LAZY | RTLD_LOCAL | RTLD_DEEPBIND);
    } else if (IS("apart")) {
        run(dlmopen(LM_ID_NEWLM, argument, RTLD_NOW));
    } else if (IS("unload")) {
        dlclose(last);
    } else if (IS("again")) {
        for (int i = 0; i < 100; ++i) {
            run(dlopen(argument, RTLD_NOW | RTLD_LOCAL));
            dlclose(last);
        }
    } else if (IS("ask")) {
        ask(argument);
    } else if (IS("init")) {
        printf("%d\n", (__extension__(int (*)(unsigned)) dlsym(driver(), "cuInit"))(0));
    } else if (IS("wait")) {
        while (getchar() != EOF) {
        }
    } else {
        void* pointer = NULL;
        printf("%d\n", cudaMalloc(&pointer, 4096));
    }
}

int main(int argc, char** argv) {
    for (int i = 1; i < argc; ++i) {
        step(argv[i]);
    }
    return 0;
}
