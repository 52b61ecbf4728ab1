// SPDX-License-Identifier: Apache-2.0
#include "text.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

namespace memsnap::recorder {

bool equal(const char* a, const char* b) {
    return strcmp(a, b) == 0;
}

bool starts_with(const char* text, const char* prefix) {
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

const char* base_name(const char* path) {
    const char* slash = strrchr(path, '/');
    return slash == nullptr ? path : slash + 1;
}

uint64_t fnv1a(const char* text, size_t size) {
    uint64_t hash = 0xcbf29ce484222325;
    for (size_t i = 0; i < size; ++i) {
        hash = (hash ^ static_cast<unsigned char>(text[i])) * 0x100000001b3;
    }
    return hash;
}

uint64_t fnv1a(const char* text) {
    return fnv1a(text, strlen(text));
}

const char* environment(const char* name) {
    if (environ == nullptr) return nullptr;
    size_t size = strlen(name);
    for (char** entry = environ; *entry != nullptr; ++entry) {
        if (strncmp(*entry, name, size) == 0 && (*entry)[size] == '=') return *entry + size + 1;
    }
    return nullptr;
}

bool environment_is(const char* name, const char* value) {
    const char* set = environment(name);
    return set != nullptr && equal(set, value);
}

bool read_number(const char*& text, uint64_t& number) {
    if (*text < '0' || *text > '9') return false;
    uint64_t value = 0;
    for (; *text >= '0' && *text <= '9'; ++text) {
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, static_cast<uint64_t>(*text - '0'), &value)) {
            return false;
        }
    }
    number = value;
    return true;
}

uint64_t environment_number(const char* name, uint64_t fallback, uint64_t low, uint64_t high) {
    const char* text = environment(name);
    uint64_t number = 0;
    if (text == nullptr || !read_number(text, number) || *text != '\0') return fallback;
    return number < low || number > high ? fallback : number;
}

size_t read_small_file(const char* path, char* buffer, size_t capacity) {
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (file < 0) return 0;
    size_t size = 0;
    while (size + 1 < capacity) {
        ssize_t got = read(file, buffer + size, capacity - 1 - size);
        if (got <= 0) break;
        size += static_cast<size_t>(got);
    }
    close(file);
    buffer[size] = '\0';
    return size;
}

}  // namespace memsnap::recorder
