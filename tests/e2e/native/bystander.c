// SPDX-License-Identifier: Apache-2.0
//
// A program that has nothing to do with CUDA and uses what the recorder stands in front of: dlsym, dlclose,
// fork, threads, the end. Prints what it sees and who it is, and ends with code 3.
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void* work(void* argument) {
    return argument;
}

static void at_end(void) {
    printf("the end\n");
}

int main(void) {
    atexit(at_end);
    pthread_t thread;
    void* result = NULL;
    pthread_create(&thread, NULL, work, &result);
    pthread_join(thread, &result);
    printf("thread %d\n", result == &result);
#if !defined(STATIC)
    void* self = dlopen(NULL, RTLD_NOW);
    printf("malloc %d cudaMalloc %d\n", dlsym(self, "malloc") != NULL, dlsym(self, "cudaMalloc") != NULL);
    printf("close %d\n", dlclose(self));
#endif
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) _exit(5);
    int status = 0;
    waitpid(child, &status, 0);
    printf("child %d user %u %u\n", WEXITSTATUS(status), (unsigned)getuid(), (unsigned)geteuid());
    return 3;
}
