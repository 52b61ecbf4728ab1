// SPDX-License-Identifier: Apache-2.0
#include "anchors.h"

#include <time.h>

namespace memsnap::recorder {
namespace {

uint64_t read_realtime_ns() {
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

}  // namespace

void add_anchor(Recorder& recorder) {
    uint64_t capacity = recorder.header->areas[static_cast<uint32_t>(wire::AreaId::anchors)].entry_count;
    uint64_t number = recorder.anchor_count.fetch_add(1, std::memory_order_relaxed);
    wire::Anchor& anchor = recorder.anchors[number == 0 ? 0 : 1 + (number - 1) % (capacity - 1)];
    uint64_t values[] = {read_counter(), read_monotonic_ns(), read_realtime_ns()};
    uint64_t* fields[] = {&anchor.counter, &anchor.monotonic_ns, &anchor.realtime_ns};
    std::atomic_ref<uint64_t>(anchor.state).store(0, std::memory_order_relaxed);
    for (int i = 0; i < 3; ++i) {
        std::atomic_ref<uint64_t>(*fields[i]).store(values[i], std::memory_order_release);
    }
    std::atomic_ref<uint64_t>(anchor.state).store(number + 1, std::memory_order_release);
}

}  // namespace memsnap::recorder
