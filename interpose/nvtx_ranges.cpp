// SPDX-License-Identifier: Apache-2.0
#include "nvtx_ranges.h"

#include <string.h>

#include "early_marks.h"
#include "marks.h"
#include "phases.h"

namespace memsnap::recorder::nvtx {
namespace {

// More names or ranges than these are a flood: one range for each 4 of the last 4096 allocations.
constexpr uint32_t kMaxNames = 1024;
constexpr uint64_t kWindow_births = 4096;
constexpr uint32_t kMaxRanges = kWindow_births / 4;

bool contains(const Message& message, const char* part) {
    return memmem(message.text(), message.size(), part, strlen(part)) != nullptr;
}

// "aten::add, seq = 3, ...", "autograd::engine::evaluate_function: ...", "MulBackward0, seq = 7, ..."
bool names_operator(const Message& message) {
    return contains(message, "::") || contains(message, ", seq = ");
}

uint64_t count_births(const Recorder& recorder) {
    uint64_t births = 0;
    for (const DeviceState& device : recorder.devices) {
        births += device.block_births.load(std::memory_order_relaxed);
    }
    return births;
}

// Counts the range. Threads that do so at the same moment may miss one, which decides nothing.
bool is_flood(Recorder& recorder) {
    NvtxLoad& load = recorder.nvtx;
    uint32_t ranges = load.range_count.fetch_add(1, std::memory_order_relaxed) + 1;
    uint64_t births = count_births(recorder);
    if (ranges > kMaxRanges) load.flooded.store(true, std::memory_order_relaxed);
    if (births - load.window_begin.load(std::memory_order_relaxed) >= kWindow_births) {
        load.flooded.store(ranges > kMaxRanges, std::memory_order_relaxed);
        load.window_begin.store(births, std::memory_order_relaxed);
        load.range_count.store(0, std::memory_order_relaxed);
    }
    return load.flooded.load(std::memory_order_relaxed) ||
           load.name_count.load(std::memory_order_relaxed) > kMaxNames;
}

// Fills in the names, or leaves the range out.
void decide(Recorder& recorder, const Message& message, Range& range) {
    bool outermost = range.family == wire::Family::range && depth_of_next(recorder) == 0;
    range.silent = is_flood(recorder) && !outermost;
    if (range.silent) {
        bump(recorder.header->counters.boundaries_dropped);
        return;
    }
    range.names = ids_of_text(recorder, message.text(), message.size());
    if (range.names.fresh) recorder.nvtx.name_count.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

void mark(const Message& message) {
    EventScope scope(Start::never);
    if (scope.recorder() == nullptr) return;
    Recorder& recorder = *scope.recorder();
    Range as_label;
    decide(recorder, message, as_label);
    if (!as_label.silent) write_mark(recorder, as_label.names);
}

void push(uint8_t domain, const Message& message) {
    EventScope scope(Start::never);
    if (!scope.entered()) return;
    Range range;
    range.family = domain == 0 && !names_operator(message) ? wire::Family::range : wire::Family::none;
    range.domain = domain;
    range.pushed = true;
    if (scope.recorder() == nullptr) {
        keep_early_range(next_handle(), range, message.text(), message.size(), 0);
        return;
    }
    decide(*scope.recorder(), message, range);
    open_range(*scope.recorder(), next_handle(), range, 0);
}

void pop(uint8_t domain) {
    EventScope scope(Start::never);
    if (scope.recorder() != nullptr) {
        close_pushed_range(*scope.recorder(), domain);
    } else if (scope.entered()) {
        forget_early_push(domain);
    }
}

RangeId start(const Message& message) {
    EventScope scope(Start::never);
    if (!scope.entered()) return 0;
    uint64_t handle = next_handle();
    Range range;
    range.async = true;
    if (scope.recorder() == nullptr) {
        keep_early_range(handle, range, message.text(), message.size(), 0);
        return handle;
    }
    decide(*scope.recorder(), message, range);
    return range.silent ? 0 : open_range(*scope.recorder(), handle, range, 0);
}

void end(RangeId id) {
    EventScope scope(Start::never);
    if (scope.recorder() != nullptr) {
        close_range_anywhere(*scope.recorder(), id);
    } else if (scope.entered()) {
        forget_early_range(id);
    }
}

}  // namespace memsnap::recorder::nvtx
