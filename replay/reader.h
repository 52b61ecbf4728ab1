// SPDX-License-Identifier: Apache-2.0
//
// The reader's state while it takes a file apart; part of the reader, which alone knows the wire format. The
// rule: the first error ends the reading, and says where.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "reader_decode.h"
#include "reader_live.h"
#include "rules.h"
#include "window_builder.h"

namespace memsnap {

class Reader {
  public:
    explicit Reader(RingFile file) : capture_(std::move(file)) {}
    Result<Capture> read(bool with_events);
    Result<LiveFacts> read_live();

  private:
    bool fail(ErrorCode code, std::string_view rule, std::string detail, std::optional<uint64_t> offset_bytes,
              std::string way_out);
    bool corrupt(std::string_view rule, std::string detail, uint64_t offset_bytes);
    bool broken(Rule rule, std::optional<uint64_t> ticket, uint64_t offset_bytes);
    bool copy(uint64_t offset_bytes, std::span<std::byte> into);
    const wire::Area& area(wire::AreaId id) const { return wire_.areas[static_cast<size_t>(id)]; }
    bool exited() const { return wire_.exit_mark != 0; }
    bool made_in_standby() const { return area(wire::AreaId::keyframes).entry_count > wire::kDisarmedSlot; }
    // A file that waits to be armed has no areas yet.
    bool is_dormant() const {
        return wire_.arm_state != wire::ArmState::recording && area(wire::AreaId::ring).entry_count == 0 &&
               area(wire::AreaId::table).entry_count == 0;
    }

    bool read_header();
    bool copy_header();
    bool reread_header();
    bool check_areas();
    bool check_area(size_t i);
    bool check_counts();
    bool check_arming();
    void take_header();

    bool refuse_dormant();
    bool read_events();
    bool read_armed();
    bool read_table();
    bool read_ring(StreamLayout& layout);
    bool accept_record(StreamLayout& layout, uint64_t slot);
    bool take_ring(StreamLayout layout, uint64_t head_before_table);
    void begin_window(StreamLayout& layout, uint64_t top_ticket) const;
    void declare_losses(WindowFacts& facts) const;
    bool take_window(WindowSource source);
    // ---- what was disarmed, or never armed (reader_disarmed.cpp)
    bool keeps_ring() const;
    bool read_disarmed();
    bool read_without_window();
    bool read_newest(std::vector<Event>& newest);
    bool read_pinned();
    bool read_live_pinned();
    bool read_boundaries();
    bool read_small_tables();
    bool list_keyframes();
    bool is_of_later(uint64_t ticket) const;

    // Calls f(entry, offset in the file) for each of the first `count` entries of an area; f returns false to
    // stop with the error it set.
    template <class T, class F>
    bool each_entry(wire::AreaId id, uint64_t count, F&& f) {
        constexpr uint64_t kChunk_entries = 65536 / sizeof(T);
        std::vector<T> chunk;
        for (uint64_t at = 0; at < count; at += kChunk_entries) {
            chunk.resize(std::min(kChunk_entries, count - at));
            const uint64_t offset_bytes = area(id).offset_bytes + at * sizeof(T);
            if (!copy(offset_bytes, std::as_writable_bytes(std::span(chunk)))) return false;
            for (size_t i = 0; i < chunk.size(); ++i) {
                if (!f(chunk[i], offset_bytes + i * sizeof(T))) return false;
            }
        }
        return true;
    }

    Capture capture_;
    wire::Header wire_ = {};
    std::vector<LiveObject> table_;
    uint64_t bad_table_offset_bytes_ = 0;      // of a live entry with a wrong check, 0: none
    std::optional<uint64_t> disarmed_ticket_;  // where the window ends that the disarmed slot is the state of
    uint64_t top_ticket_ = 0;                  // behind the newest committed record of the ring
    uint64_t top_of_table_ = 0;                // behind the newest event that the live table took up
    Error error_;
};

// The pinned area's bytes, 32 devices. Returns the offset of a record that is neither unused nor intact, or
// nullopt.
std::optional<uint64_t> decode_pinned(std::span<const std::byte> bytes, PinnedDevices& devices);

// A keyframe slot's copy, cut into its parts.
struct KeyframeParts {
    wire::Keyframe head = {};
    std::span<const std::byte> operation, pinned, ring, table;
};
bool cut_keyframe(std::span<const std::byte> slot, KeyframeParts& parts);  // false: a part lies outside
std::vector<LiveObject> table_entries(std::span<const std::byte> table);
// Counts what is missing between the layout's begin and end, and why.
void find_gaps(const StreamLayout& layout, WindowFacts& facts);

}  // namespace memsnap
