// SPDX-License-Identifier: Apache-2.0
//
// `memsnap-replay dump --state`: what is live after the last recorded event, as the ledgers replayed it.
// Addresses are hexadecimal, sizes decimal; each group is ordered by device, then address. Words never
// change.
//
//   totals <device> <allocated_bytes> <reserved_bytes>
//   segment <device> <address> <size_bytes> native|expandable
//   block <device> <address> <size_bytes> <birth_ticket>
#include "dump_state.h"

#include <fmt/format.h>

#include "replay.h"

namespace memsnap {

namespace {

const char* word(SegmentKind kind) {
    switch (kind) {
        case SegmentKind::native:
            return "native";
        case SegmentKind::expandable:
            return "expandable";
    }
    return "unknown";
}

}  // namespace

Result<void> dump_state(const Capture& capture, std::FILE* out) {
    Ledger ledger(capture.window);
    const auto outcome =
        replay(capture, capture.window, ledger, [](const Event&, const Ledger&, const Change&) {});
    if (!outcome) return failure(outcome.error());
    const std::vector<int> devices = ledger.devices();
    for (const int device : devices) {
        const DeviceTotals& totals = ledger.device(device);
        fmt::print(out, "totals {} {} {}\n", device, totals.allocated_bytes, totals.segment_bytes);
    }
    for (const int device : devices) {
        ledger.for_each_segment(device, [&](const Segment& segment) {
            if (segment.state != SegmentState::segment) return;
            fmt::print(out, "segment {} {:#x} {} {}\n", device, segment.address, segment.size_bytes,
                       word(segment.kind));
        });
    }
    for (const int device : devices) {
        ledger.for_each_block(device, [&](const Block& block) {
            fmt::print(out, "block {} {:#x} {} {}\n", device, block.address, block.size_bytes,
                       block.birth_ticket);
        });
    }
    return {};
}

}  // namespace memsnap
