// SPDX-License-Identifier: Apache-2.0
//
// The text of a cut. The rule: ordinals and names of the text's own instead of addresses, stack tokens,
// thread and library numbers; tickets only as an order; a time only where the verdict needs to know that an
// observation was old.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <unordered_map>

#include "cut_places.h"
#include "cut_source.h"
#include "cut_state.h"

namespace memsnap {

struct CutDraft {
    uint64_t first_ticket = 0;  // of the ring that the text makes
    uint64_t ring_records = 0;
    std::string head;  // the header's lines but for the layout
    std::string body;  // up to the failure
    std::string rest;  // behind it
    uint64_t table_entries = 0;
    uint64_t boundary_entries = 0;
    bool in_keyframe = false;
    bool without_ring = false;  // in the keyframe of a recording that kept no ring then
    bool states_reserved_peak = true;

    uint64_t events_count = 0;
    uint64_t segments_count = 0;
    uint64_t blocks_count = 0;               // in the segment that has most at a time
    std::map<uint64_t, uint64_t> sites;      // ordinals
    std::map<uint16_t, uint64_t> libraries;  // ordinals

    // keyframe_records: how many the failure's keyframe copies; 0: it is not written.
    std::string text(uint64_t keyframe_records) const;
};

class CutWriter {
  public:
    CutWriter(const CutSource& source, const CutChoice& choice, const CutState& state);
    CutDraft write();

  private:
    // ---- words (cut_writer.cpp)
    uint64_t site(uint64_t token);
    uint64_t thread(uint16_t number);
    uint64_t stream(
        uint64_t handle);  // 0 is the default stream; a handle is an address, so others are counted
    uint64_t library(uint16_t number);
    std::string phase(uint16_t name);
    uint64_t old_ticket(uint64_t ticket) const;  // of something older than the cut
    uint64_t new_ticket() { return synthetic_++; }
    std::string keys(const Event& event);  // thread, label and time of an event's line
    std::string time_key(const Event& observation, const char* key);
    void say(std::string line) { (failed_ ? draft_.rest : draft_.body) += line + "\n"; }
    void say_event(std::string line) {
        ++draft_.events_count;
        say(std::move(line));
    }

    // ---- what was live (cut_writer.cpp)
    void find_places();
    void find_older();
    void write_head();
    void write_state();
    void write_region(const StatedRegion& region);
    void write_block(const StatedBlock& block, const std::string& where);
    void write_foreign();
    void open_state();  // what can only be told by events

    // ---- events (cut_events.cpp)
    void find_labels();
    void write_events();
    void write_event(const Event& event);
    void write_alloc(const Event& event);
    void write_free(const Event& event);
    void write_made(const Event& event);
    void write_observation(const Event& event);
    void write_refusal(const Event& event);
    void write_operation(const Event& event);
    void write_tap(const Event& event);
    void show_tap();
    void agree_totals(const Event& event);
    std::string label_of(uint64_t ticket) const;  // "@label", empty: no line of it

    // ---- facts beside them (cut_facts.cpp)
    // Where a boundary opened matters only to what followed a caught failure.
    bool tells_openings() const { return source_.kept_since_ticket().has_value(); }
    void choose_boundaries();
    void write_boundary(const Boundary& boundary, const std::string& closing);
    void write_boundaries_before(uint64_t ticket);
    void write_pinned();
    void pin(const char* copy, const Event& event);
    void find_earlier_peak();
    void write_followed();

    const CutSource& source_;
    const CutChoice& choice_;
    const CutState& state_;
    CutDraft draft_;
    CutPlaces places_;
    std::map<uint64_t, uint64_t> threads_, phases_, streams_;
    std::vector<uint64_t> older_;  // tickets of what is older than the cut, ascending
    uint64_t synthetic_ = 0;
    uint64_t synthetic_limit_ = 0;

    std::unordered_map<uint64_t, std::string> objects_;      // names by birth ticket
    std::map<uint64_t, std::string> regions_;                // names by address
    std::unordered_map<uint64_t, std::string> block_names_;  // by address, also of freed ones
    std::unordered_map<uint64_t, uint64_t> block_sizes_;     // of live ones, by address
    std::unordered_map<uint64_t, uint64_t> reserved_by_;     // bytes by birth ticket of a region
    struct Deferred {
        std::string name, where;
        uint64_t size_bytes = 0;
    };
    std::vector<Deferred> deferred_;  // blocks to be freed first
    std::string some_name_;           // of anything that is live
    uint64_t name_count_ = 0;
    bool has_handle_ = false;

    std::map<uint64_t, std::string> labels_;  // by ticket
    std::vector<Boundary> boundaries_;        // carried, by ticket
    size_t next_boundary_ = 0;
    uint64_t allocated_bytes_ = 0, reserved_bytes_ = 0;  // as the encoder derives them
    std::optional<uint64_t> earlier_bytes_;              // of the peak, beside what is live
    bool device_reports_ = false;
    bool defers_one_by_one_ = false;
    bool tap_shown_ = false;
    bool time_is_new_ = false;
    bool failed_ = false;
};

}  // namespace memsnap
