// SPDX-License-Identifier: Apache-2.0
//
// Changing a pointer in another library's data while the program runs. The rules: one aligned store of eight
// bytes, made only where the word still holds what was seen; a page that the dynamic linker made read-only is
// writable for as long as that takes; a page that the kernel does not tell of is not touched.
#pragma once

#include <cstddef>
#include <cstdint>

namespace memsnap::recorder {

enum class Access : uint8_t {
    none,
    read_only,
    writable
};

// What the kernel says of this process's memory, as it was at one moment.
class MemoryMap {
  public:
    MemoryMap();
    ~MemoryMap();
    MemoryMap(const MemoryMap&) = delete;
    MemoryMap& operator=(const MemoryMap&) = delete;

    Access access_to(uintptr_t address) const;

  private:
    struct Part {
        uintptr_t begin, end;
        Access access;
    };
    static constexpr size_t kCapacity = 262144;  // pages come when they are touched

    void read(int file);
    bool read_line(const char* line);

    Part* parts_ = nullptr;
    size_t count_ = 0;
};

// False: it could not be changed, or holds something else by now.
bool replace_word(uintptr_t address, uintptr_t expected, uintptr_t value, Access access);

inline uintptr_t load_word_at(uintptr_t address) {
    return __atomic_load_n(reinterpret_cast<const uintptr_t*>(address), __ATOMIC_RELAXED);
}

}  // namespace memsnap::recorder
