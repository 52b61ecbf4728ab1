// SPDX-License-Identifier: Apache-2.0
//
// Any bytes as a snapshot pickle. The rule: the reader either refuses with a rule and a way out, or every
// number in its tables is of something that is there. Entry point of libFuzzer; mutated_pickles.cpp calls it
// too.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <tuple>

#include "../../snapshot/read_snapshot.h"

namespace {

using namespace memsnap::snapshot;

void require(bool holds, const char* what) {
    if (holds) return;
    std::fprintf(stderr, "pickle_fuzzer: %s\n", what);
    std::abort();
}

class Checked {
  public:
    explicit Checked(const Snapshot& snapshot) : snapshot_(snapshot) {}

    void all(size_t file_bytes) const {
        size_t rows = snapshot_.host_trace.size() + snapshot_.annotations.size();
        for (const auto& trace : snapshot_.traces) {
            rows += trace.size();
            entries(trace);
        }
        entries(snapshot_.host_trace);
        segments(snapshot_.segments, snapshot_.blocks);
        segments(snapshot_.host_segments, snapshot_.host_blocks);
        rows += snapshot_.segments.size() + snapshot_.blocks.size() + snapshot_.host_segments.size() +
                snapshot_.host_blocks.size();
        require(rows <= file_bytes, "more rows than bytes");
        for (const Annotation& one : snapshot_.annotations)
            text(one.name);
    }

  private:
    void text(TextId id) const { require(id <= snapshot_.texts.count(), "a text that is not there"); }
    void stack(StackId id) const {
        require(id <= snapshot_.stacks.count(), "a stack that is not there");
        for (const Frame& frame : snapshot_.stacks.frames(id)) {
            text(frame.file);
            text(frame.function);
        }
    }
    void entries(const std::vector<TraceEntry>& entries) const {
        for (const TraceEntry& one : entries) {
            text(one.user_metadata);
            stack(one.stack);
            require(one.size_bytes >> 63 == 0, "a size of half the address space");
        }
    }
    void segments(const std::vector<Segment>& segments, const std::vector<Block>& blocks) const {
        const auto by_place = [](const Segment& a, const Segment& b) {
            return std::tie(a.device, a.address) < std::tie(b.device, b.address);
        };
        require(std::ranges::is_sorted(segments, by_place), "segments out of order");
        for (const Segment& one : segments) {
            stack(one.stack);
            require(one.address + one.total_bytes >= one.address, "a segment beyond the last address");
            require(uint64_t{one.first_block} + one.block_count <= blocks.size(),
                    "blocks that are not there");
            uint64_t address = 0;
            for (uint32_t at = one.first_block; at < one.first_block + one.block_count; ++at) {
                const Block& block = blocks[at];
                require(block.address >= address, "blocks out of order");
                require(block.address + block.size_bytes >= block.address, "a block beyond the last address");
                address = block.address;
                text(block.user_metadata);
                stack(block.stack);
            }
        }
    }

    const Snapshot& snapshot_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const int file = ::memfd_create("pickle", MFD_CLOEXEC);
    require(file >= 0 && ::write(file, data, size) == static_cast<ssize_t>(size), "no file to write to");
    const auto snapshot = read_snapshot("/proc/self/fd/" + std::to_string(file));
    ::close(file);
    if (snapshot) {
        Checked(*snapshot).all(size);
    } else {
        const memsnap::Error& error = snapshot.error();
        require(!error.rule.empty() && !error.detail.empty() && !error.way_out.empty(),
                "an error without its rule");
        require(error.code == memsnap::ErrorCode::not_memsnap || error.code == memsnap::ErrorCode::corrupt,
                "an error of another class");
        require(error.offset_bytes.value_or(0) <= size, "a place behind the file");
    }
    return 0;
}
