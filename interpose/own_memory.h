// SPDX-License-Identifier: Apache-2.0
//
// Two ways to read this process's memory: as it is, where a layout is proven, and through the kernel, where
// a wrong address must give an error rather than end the job.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace memsnap::recorder {

struct OwnMemory {
    bool read(uintptr_t address, void* target, size_t size_bytes) const {
        memcpy(target, reinterpret_cast<const void*>(address), size_bytes);
        return true;
    }
    template <typename T>
    T at(uintptr_t address) const {
        T value;
        memcpy(&value, reinterpret_cast<const void*>(address), sizeof value);
        return value;
    }
};

// After the first address that cannot be read everything reads as 0 and `failed` is set.
class CheckedMemory {
  public:
    CheckedMemory() = default;
    ~CheckedMemory();
    CheckedMemory(const CheckedMemory&) = delete;
    CheckedMemory& operator=(const CheckedMemory&) = delete;

    bool read(uintptr_t address, void* target, size_t size_bytes);
    template <typename T>
    T at(uintptr_t address) {
        T value{};
        if (!read(address, &value, sizeof value)) value = T{};
        return value;
    }
    bool failed() const { return failed_; }

  private:
    bool read_file(uintptr_t address, void* target, size_t size_bytes);

    bool failed_ = false;
    int memory_file_ = -1;  // where the kernel refuses the direct way
};

}  // namespace memsnap::recorder
