// SPDX-License-Identifier: Apache-2.0
// Copies and fills that do not give storage to what was never written.
// Rule: a page the kernel has not populated reads as zero, so copying it is dropping the destination's pages.
// Only private anonymous memory of this library's own may be dropped; the caller guarantees that of
// destinations.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "driver_memory.h"

namespace simcuda {
namespace {

constexpr uint64_t kSparseThresholdBytes = uint64_t{256} << 10;

// One flag a page: does it have contents (present, or swapped out)? All true when the kernel does not tell.
std::vector<bool> populated_pages(uint64_t first_page, uint64_t page_count) {
    std::vector<uint64_t> entries(page_count, ~uint64_t{0});
    const int descriptor = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    if (descriptor >= 0) {
        const auto bytes = static_cast<ssize_t>(page_count * sizeof(uint64_t));
        const ssize_t got = pread(descriptor, entries.data(), static_cast<size_t>(bytes),
                                  static_cast<off_t>(first_page * sizeof(uint64_t)));
        if (got != bytes) std::ranges::fill(entries, ~uint64_t{0});
        close(descriptor);
    }
    std::vector<bool> populated;
    for (const uint64_t entry : entries)
        populated.push_back((entry >> 62) != 0);
    return populated;
}

}  // namespace

void fill_zero(uint64_t base, uint64_t bytes) {
    const uint64_t first = round_up(base, kPageBytes);
    const uint64_t last = (base + bytes) / kPageBytes * kPageBytes;
    if (bytes < kSparseThresholdBytes || last <= first) {
        std::memset(reinterpret_cast<void*>(base), 0, bytes);
        return;
    }
    std::memset(reinterpret_cast<void*>(base), 0, first - base);
    std::memset(reinterpret_cast<void*>(last), 0, base + bytes - last);
    madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
}

void copy_sparse(uint64_t destination, uint64_t source, uint64_t bytes) {
    if (bytes < kSparseThresholdBytes) {
        std::memmove(reinterpret_cast<void*>(destination), reinterpret_cast<void*>(source), bytes);
        return;
    }
    const uint64_t first_page = source / kPageBytes;
    const uint64_t end = source + bytes;
    const std::vector<bool> populated = populated_pages(first_page, (end - 1) / kPageBytes - first_page + 1);
    for (uint64_t at = source; at < end;) {
        const bool has_contents = populated[at / kPageBytes - first_page];
        uint64_t run_end = at;
        while (run_end < end && populated[run_end / kPageBytes - first_page] == has_contents) {
            run_end = std::min(end, (run_end / kPageBytes + 1) * kPageBytes);
        }
        const uint64_t target = destination + (at - source);
        if (has_contents) {
            std::memcpy(reinterpret_cast<void*>(target), reinterpret_cast<void*>(at), run_end - at);
        } else {
            fill_zero(target, run_end - at);
        }
        at = run_end;
    }
}

}  // namespace simcuda
