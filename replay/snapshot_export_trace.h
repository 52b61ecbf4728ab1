// SPDX-License-Identifier: Apache-2.0
//
// The events of one device as entries of PyTorch's trace. The rule: entries follow from each other and end at
// the memory that is live; a call is told when nothing can take it back any more, pages that were mapped in a
// row as one range.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "../snapshot/write_snapshot.h"
#include "capture.h"
#include "ranges.h"
#include "snapshot_export_memory.h"
#include "snapshot_export_names.h"
#include "snapshot_export_survey.h"

namespace memsnap {

using EntrySink = std::function<void(const snapshot::WrittenEntry&)>;

class DeviceTrace {
  public:
    DeviceTrace(const Capture& capture, const ExportSurvey& survey, ExportNames& names, int device,
                EntrySink sink);

    // Each event of the window, also those of other devices.
    void take(const Event& event);
    void finish();

    const ExportedMemory& memory() const { return memory_; }
    // Before which entry each was made.
    const std::vector<snapshot::Observation>& observations() const { return observations_; }

  private:
    // What is still to be told.
    struct Pending {
        snapshot::WrittenEntry entry;
        ExportedSegment segment;           // as it was, of an end
        std::optional<Event> observation;  // instead
        bool whole = false;                // a range that the allocator told itself
    };
    struct TapAlloc {
        uint64_t address = 0;
        uint64_t requested_bytes = 0;
        uint64_t stream = 0;
        uint16_t pool = snapshot::kPoolUnknown;
    };
    struct TapFree {
        uint64_t address = 0;
        snapshot::WrittenEntry entry;  // without its block
    };

    void take_begin();
    void take_label(const Event& event);
    void block_alloc(const Event& event);
    void block_free(const Event& event);
    void initial(const Event& event);
    void oom(const Event& event);
    void observe(const Event& event);
    void region_begins(const ExportedSegment& segment, const Event& event);
    void region_ends(const Event& event);
    void region_comes_back(const Event& event);
    // snapshot_export_tap.cpp
    void take_tap(const Event& event);
    void tap_free_completed(const Event& event);
    void tap_segment(const Event& event, snapshot::Action action);
    void tell_pending(const Event& event, snapshot::Action action);
    void tell_oom(const Event& oom, snapshot::WrittenEntry& entry) const;

    ExportedBlock block_of(const Event& birth) const;
    void enter(const ExportedBlock& block, const Event& event);
    void make_room(uint64_t from, uint64_t to, const Event& event);
    void end_blocks(uint64_t from, uint64_t to, const Event& event);
    void tell_free(const ExportedBlock& block, const snapshot::WrittenEntry& entry);
    snapshot::WrittenEntry entry_of(const Event& event, snapshot::Action action) const;
    void tell_later(const Pending& pending);
    void emit(const snapshot::WrittenEntry& entry);
    void flush();
    void keep_observation(const snapshot::Observation& observation);
    void keep_last_observation();

    const Capture& capture_;
    const ExportSurvey& survey_;
    ExportNames& names_;
    const int device_;
    EntrySink sink_;
    ExportedMemory memory_;
    std::vector<Pending> pending_;
    std::unordered_map<uint16_t, RangeStack> labels_;        // by thread, of exact names
    std::unordered_map<uint64_t, ExportedSegment> regions_;  // live, by birth ticket; each page is one
    TapAlloc tap_alloc_;
    std::optional<TapFree> tap_requested_, tap_completed_;  // of the free that is told next
    std::optional<Event> last_answer_;                      // to cudaMemGetInfo
    uint64_t last_answer_entry_ = 0;
    std::vector<snapshot::Observation> observations_;
    std::optional<snapshot::Observation> last_observation_;  // that is not among them
    uint64_t entry_count_ = 0;
    uint64_t last_time_us_ = 0;
    bool quiet_ = true;  // what is taken now was there at the begin
};

}  // namespace memsnap
