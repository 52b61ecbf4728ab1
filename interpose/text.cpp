// SPDX-License-Identifier: Apache-2.0
#include "text.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <atomic>

namespace memsnap::recorder {
namespace {

bool is_unsayable(uint32_t character) {
    return (character >= 0xd800 && character <= 0xdfff) || character > 0x10ffff;
}

// The texts of the last two tellings: who still reads the older one has time until the next.
constexpr size_t kOverrideCapacity_bytes = 8192;
char g_override_texts[2][kOverrideCapacity_bytes];
std::atomic<const char*> g_overrides{nullptr};

}  // namespace

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

size_t utf8_size(uint32_t character) {
    if (character < 0x80) return 1;
    if (character < 0x800) return 2;
    return is_unsayable(character) || character < 0x10000 ? 3 : 4;
}

size_t write_utf8(uint32_t character, unsigned char* target) {
    constexpr unsigned char kLeads[] = {0, 0, 0xc0, 0xe0, 0xf0};
    if (is_unsayable(character)) character = 0xfffd;
    const size_t size_bytes = utf8_size(character);
    for (size_t i = size_bytes; i > 1; --i) {
        target[i - 1] = static_cast<unsigned char>(0x80 | (character & 0x3f));
        character >>= 6;
    }
    target[0] = static_cast<unsigned char>(kLeads[size_bytes] | character);
    return size_bytes;
}

bool is_inside_character(char byte) {
    return (static_cast<unsigned char>(byte) & 0xc0) == 0x80;
}

size_t whole_characters(const char* text, size_t text_bytes, size_t limit_bytes) {
    if (text_bytes <= limit_bytes) return text_bytes;
    while (limit_bytes != 0 && is_inside_character(text[limit_bytes])) {
        --limit_bytes;
    }
    return limit_bytes;
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

bool override_environment(const char* settings, size_t settings_bytes) {
    if (settings_bytes == 0) {
        g_overrides.store(nullptr, std::memory_order_release);
        return true;
    }
    if (settings_bytes >= kOverrideCapacity_bytes || settings[settings_bytes - 1] != '\0') return false;
    for (size_t at = 0; at < settings_bytes; at += strlen(settings + at) + 1) {
        if (strchr(settings + at, '=') == nullptr || settings[at] == '=') return false;
    }
    static uint32_t told_count = 0;
    char* target = g_override_texts[++told_count % 2];
    memcpy(target, settings, settings_bytes);
    target[settings_bytes] = '\0';
    g_overrides.store(target, std::memory_order_release);
    return true;
}

const char* environment(const char* name) {
    const size_t size = strlen(name);
    if (const char* entry = g_overrides.load(std::memory_order_acquire)) {
        for (; *entry != '\0'; entry += strlen(entry) + 1) {
            if (strncmp(entry, name, size) == 0 && entry[size] == '=') return entry + size + 1;
        }
    }
    if (environ == nullptr) return nullptr;
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
