// SPDX-License-Identifier: Apache-2.0
#include "ring_pages.h"

#include <sys/mman.h>

namespace memsnap::recorder {
namespace {

constexpr uint64_t kAhead_records = 8 * 1024 * 1024 / sizeof(wire::Record);
constexpr uint64_t kRecordsPerStep = wire::kAreaAlignment_bytes / sizeof(wire::Record);
#ifndef MADV_POPULATE_WRITE
constexpr int MADV_POPULATE_WRITE = 23;  // Linux 5.14
#endif

void populate(wire::Record* slots, uint64_t begin, uint64_t end) {
    begin = begin / kRecordsPerStep * kRecordsPerStep;
    madvise(slots + begin, (end - begin) * sizeof(wire::Record), MADV_POPULATE_WRITE);
}

// Not yet armed: the lap begins at the earliest with the next ticket.
uint64_t end_of_first_lap(const Recorder& recorder, uint64_t head) {
    const uint64_t first = recorder.ring.first();
    return (first == wire::kNoTicket ? head : first) + recorder.ring.slot_count();
}

}  // namespace

bool in_first_lap(const Recorder& recorder) {
    return recorder.ring.slots() != nullptr &&
           recorder.prepared_until < end_of_first_lap(recorder, recorder.ring.head());
}

void prepare_ring(Recorder& recorder, wire::Record* slots, uint64_t head) {
    const uint64_t slot_count = recorder.ring.slot_count();
    uint64_t begin = recorder.prepared_until;
    if (begin < head) begin = head;
    uint64_t wanted = (head + kAhead_records) / kRecordsPerStep * kRecordsPerStep;
    const uint64_t lap_end = end_of_first_lap(recorder, head);
    if (wanted > lap_end) wanted = lap_end;
    if (wanted <= begin) return;
    const uint64_t count = wanted - begin;
    const uint64_t first_slot = recorder.ring.slot_of(begin);
    const uint64_t up_to_the_end = count < slot_count - first_slot ? count : slot_count - first_slot;
    populate(slots, first_slot, first_slot + up_to_the_end);
    if (count > up_to_the_end) populate(slots, 0, count - up_to_the_end);
    recorder.prepared_until = wanted;
}

}  // namespace memsnap::recorder
