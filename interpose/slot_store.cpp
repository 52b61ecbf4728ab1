// SPDX-License-Identifier: Apache-2.0
#include "slot_store.h"

#include <fcntl.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

namespace memsnap::recorder {
namespace {

uintptr_t read_hex(const char*& text) {
    uintptr_t value = 0;
    for (;; ++text) {
        char c = *text;
        if (c >= '0' && c <= '9') {
            value = value * 16 + static_cast<uintptr_t>(c - '0');
        } else if (c >= 'a' && c <= 'f') {
            value = value * 16 + static_cast<uintptr_t>(c - 'a' + 10);
        } else {
            return value;
        }
    }
}

}  // namespace

MemoryMap::MemoryMap() {
    void* memory = mmap(nullptr, kCapacity * sizeof(Part), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return;
    parts_ = static_cast<Part*>(memory);
    int file = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    if (file < 0) return;
    read(file);
    close(file);
}

MemoryMap::~MemoryMap() {
    if (parts_ != nullptr) munmap(parts_, kCapacity * sizeof(Part));
}

// Lines end where the kernel says; a part of one is kept until the rest comes. Of long names the beginning
// will do.
void MemoryMap::read(int file) {
    char buffer[16384];
    char line[128];
    size_t line_size = 0;
    for (;;) {
        ssize_t got = ::read(file, buffer, sizeof buffer);
        if (got <= 0) return;
        for (ssize_t i = 0; i < got; ++i) {
            if (buffer[i] == '\n') {
                line[line_size] = '\0';
                line_size = 0;
                if (!read_line(line)) return;
            } else if (line_size + 1 < sizeof line) {
                line[line_size++] = buffer[i];
            }
        }
    }
}

// "7f12ab000000-7f12ab001000 rw-p ..."
bool MemoryMap::read_line(const char* line) {
    if (count_ == kCapacity) return false;
    Part& part = parts_[count_];
    part.begin = read_hex(line);
    if (*line++ != '-') return false;
    part.end = read_hex(line);
    if (*line++ != ' ' || strlen(line) < 4) return false;
    part.access = line[0] != 'r' ? Access::none : line[1] == 'w' ? Access::writable : Access::read_only;
    if (line[2] == 'x') part.access = Access::none;  // code, whatever else it is
    ++count_;
    return true;
}

// The kernel lists them in order.
Access MemoryMap::access_to(uintptr_t address) const {
    size_t low = 0;
    size_t high = count_;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (parts_[middle].end <= address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < count_ && address >= parts_[low].begin ? parts_[low].access : Access::none;
}

bool replace_word(uintptr_t address, uintptr_t expected, uintptr_t value, Access access) {
    if (access == Access::none || address % sizeof(uintptr_t) != 0) return false;
    const size_t page_bytes = getauxval(AT_PAGESZ);
    void* page = reinterpret_cast<void*>(address / page_bytes * page_bytes);
    const bool locked = access == Access::read_only;
    if (locked && mprotect(page, page_bytes, PROT_READ | PROT_WRITE) != 0) return false;
    bool replaced = __atomic_compare_exchange_n(reinterpret_cast<uintptr_t*>(address), &expected, value,
                                                false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
    if (locked) mprotect(page, page_bytes, PROT_READ);
    return replaced;
}

}  // namespace memsnap::recorder
