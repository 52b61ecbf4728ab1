// SPDX-License-Identifier: Apache-2.0
//
// What a thread has done since its last success: if it ends in an out-of-memory failure, this is the evidence
// of what the failing operation asked the driver for. The rule: touched by its own thread only.
#pragma once

#include <atomic>
#include <cstdint>

#include "event.h"
#include "open_ranges.h"
#include "proven_stack.h"
#include "wire.h"

namespace memsnap::recorder {

class Operation {
  public:
    // A block was reported, or another library's call succeeded: what follows is a new operation.
    void restart() {
        if (call_count_ == 0) return;
        *this = Operation{};
    }

    void note(const wire::Record& committed, bool is_device_request) {
        ++call_count_;
        if (committed.kind == wire::Kind::mem_info && committed.code == 0) {
            last_mem_info_ = committed.seq - 1;
        }
        if (!is_device_request) return;
        if (committed.kind == wire::Kind::ok) attempt_bytes_ += committed.size;
        if (committed.kind == wire::Kind::fail) note_failure(committed);
    }

    uint32_t call_count() const { return call_count_; }

    // The Kind::operation event, without thread, time, device and library.
    void describe(Event& event) const;

  private:
    void note_failure(const wire::Record& failed) {
        bool maps_memory = failed.op == wire::Op::cuMemCreate;
        last_attempt_bytes_ = failed.size + (maps_memory ? attempt_bytes_ : 0);
        attempt_bytes_ = 0;
        ++failed_count_;
        if (failed_count_ != 1) return;
        first_failed_ticket_ = failed.seq - 1;
        first_failed_bytes_ = failed.size;
        first_failed_op_ = failed.op;
        first_failed_code_ = failed.code;
    }

    uint64_t first_failed_ticket_ = wire::kNoTicket;
    uint64_t first_failed_bytes_ = 0;
    uint64_t last_attempt_bytes_ = 0;
    uint64_t attempt_bytes_ = 0;  // granted by cuMemCreate since the last failure
    uint64_t last_mem_info_ = wire::kNoTicket;
    uint32_t call_count_ = 0;
    uint16_t failed_count_ = 0;
    uint16_t first_failed_code_ = 0;
    wire::Op first_failed_op_ = wire::Op::none;
};

struct PendingCall;
struct RecalledSites;

// How to leave a frame with that return address, as one thread found it last: see frame_rules.h.
struct KnownRule {
    uint64_t address;
    uint64_t rule;
};
inline constexpr uint32_t kKnownRules = 256;

// The private state of one thread.
struct ThreadState {
    Operation operation;
    const PendingCall* outer_call;    // the recorded call this thread is inside of, on its stack, or null
    std::atomic<uint32_t> unwinding;  // read by a thread that forks
    uint32_t walk_epoch;              // 1 + that of its first unwinding, see native_frames.h; 0: none yet
    OpenRanges ranges;
    ModuleRange module_range;
    KnownRule known_rules[kKnownRules];
    ProvenStack proven_stack;
    RecalledSites* recalled;  // null: none yet, see recalled_sites.h
    bool is_recall_refused;
    // The last call records of the operation: the record of call n is at n modulo the size.
    wire::Record calls[wire::kKeyframeOperationRecords];
};

}  // namespace memsnap::recorder
