// SPDX-License-Identifier: Apache-2.0
//
// Text without allocation: building, comparing and reading numbers, and the process's environment. The rule:
// nothing here calls malloc, setlocale-dependent or variadic functions, because hooks run where those could
// deadlock or recurse.
#pragma once

#include <cstddef>
#include <cstdint>

namespace memsnap::recorder {

// A bounded text. What does not fit is dropped and remembered, so that a cut path is never used.
template <size_t kCapacity>
class Text {
  public:
    void add(char c) {
        if (size_ + 1 >= kCapacity) {
            cut_ = true;
            return;
        }
        data_[size_++] = c;
        data_[size_] = '\0';
    }
    void add(const char* text) {
        for (; *text != '\0'; ++text) {
            add(*text);
        }
    }
    void add(const char* text, size_t size) {
        for (size_t i = 0; i < size; ++i) {
            add(text[i]);
        }
    }
    void add_number(uint64_t number) {
        char digits[20];
        size_t count = 0;
        do {
            digits[count++] = static_cast<char>('0' + number % 10);
            number /= 10;
        } while (number != 0);
        while (count != 0) {
            add(digits[--count]);
        }
    }
    // For names made of values from outside: everything that could leave the folder or confuse a shell
    // becomes '_'.
    void add_as_file_name(const char* text) {
        for (const char* begin = text; *text != '\0'; ++text) {
            char c = *text;
            bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                         c == '-' || c == '_' || (c == '.' && text != begin);
            add(plain ? c : '_');
        }
    }
    void clear() {
        size_ = 0;
        cut_ = false;
        data_[0] = '\0';
    }
    void shorten(size_t size) {
        size_ = size;
        data_[size_] = '\0';
    }

    const char* c_str() const { return data_; }
    char* data() { return data_; }
    size_t size() const { return size_; }
    bool cut() const { return cut_; }

  private:
    char data_[kCapacity] = {};
    size_t size_ = 0;
    bool cut_ = false;
};

inline constexpr size_t kPathCapacity_bytes = 4096;
using Path = Text<kPathCapacity_bytes>;

bool equal(const char* a, const char* b);
bool starts_with(const char* text, const char* prefix);
const char* base_name(const char* path);

// Characters in UTF-8. What it cannot say (half of a surrogate pair) becomes U+FFFD.
inline constexpr size_t kLongestCharacter_bytes = 4;
size_t utf8_size(uint32_t character);
// Returns its size.
size_t write_utf8(uint32_t character, unsigned char* target);
// Whether a character began before this byte.
bool is_inside_character(char byte);
// The size of the beginning of a text that is cut at a character, where it is longer than the limit.
size_t whole_characters(const char* text, size_t text_bytes, size_t limit_bytes);

uint64_t fnv1a(const char* text, size_t size);
uint64_t fnv1a(const char* text);

// Settings that answer before the environment from now on: "NAME=value" texts, each ended by a zero byte;
// none of them leaves the environment alone. False when they are not that, or too long; what was told before
// then stays. One thread at a time.
bool override_environment(const char* settings, size_t settings_bytes);

// The value of an environment variable as it is now, or null. Reads `environ` itself: getenv may take a lock.
const char* environment(const char* name);
bool environment_is(const char* name, const char* value);

// Reads a decimal number at the start of `text` and moves past it; false when there is none or it overflows.
bool read_number(const char*& text, uint64_t& number);
// The whole of the variable as a number within [low, high]; otherwise `fallback`.
uint64_t environment_number(const char* name, uint64_t fallback, uint64_t low, uint64_t high);

// Reads at most capacity - 1 bytes of a small file and ends them with '\0'; 0 when it cannot be read.
size_t read_small_file(const char* path, char* buffer, size_t capacity);

}  // namespace memsnap::recorder
