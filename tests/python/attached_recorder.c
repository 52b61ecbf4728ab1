// SPDX-License-Identifier: Apache-2.0
//
// A stand-in for the recorder that is attached: writes down what the payload tells it to $TOLD, and answers
// $ANSWER to the attach, and $BEGINS to the list.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static void say(const char* text) {
    FILE* file = fopen(getenv("TOLD"), "a");
    fprintf(file, "%s\n", text);
    fclose(file);
}

uint32_t memsnap1_attach(const char* settings, size_t settings_bytes) {
    char line[256];
    size_t at = (size_t)snprintf(line, sizeof line, "attach ");
    for (size_t i = 0; i < settings_bytes && at < sizeof line - 1; i++)
        line[at++] = settings[i] ? settings[i] : ';';
    line[at] = 0;
    say(line);
    return (uint32_t)strtoul(getenv("ANSWER") ? getenv("ANSWER") : "0", NULL, 10);
}

int memsnap1_initial_begin(void) {
    say("begin");
    return getenv("BEGINS") ? atoi(getenv("BEGINS")) : 1;
}

void memsnap1_initial(uint32_t told, int32_t device, uint64_t address, uint64_t size_bytes) {
    char line[128];
    snprintf(line, sizeof line, "%u cuda:%d %llu+%llu", told, device, (unsigned long long)address,
             (unsigned long long)size_bytes);
    say(line);
}

uint32_t memsnap1_initial_end(void) {
    say("end");
    return 2;
}
