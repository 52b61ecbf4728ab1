// SPDX-License-Identifier: Apache-2.0
//
// Reads a ring file by the rules of WIRE.md, for tests of the recorder. It shares nothing with the recorder
// but the layout, and knows objects only by the ticket of their birth.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "wire.h"

namespace memsnap::test {

struct LiveObject {
    uint64_t address = 0;
    uint64_t size = 0;
    uint64_t last_ticket = 0;
    bool operator==(const LiveObject& other) const { return address == other.address && size == other.size; }
};
using LiveSet = std::map<uint64_t, LiveObject>;  // by ticket of the birth

class RingView {
  public:
    // A copy of the file's bytes, or a mapping that does not change while it is looked at.
    RingView(const unsigned char* bytes, size_t size);

    // Why the file cannot be opened, or empty.
    std::string unreadable() const;

    const wire::Header& header() const { return *reinterpret_cast<const wire::Header*>(bytes_); }
    uint64_t head() const { return header().head; }
    uint64_t capacity() const { return area(wire::AreaId::ring).entry_count; }
    // A process that waits to be armed: nothing but a header.
    bool is_header_alone() const { return capacity() == 0 && area(wire::AreaId::table).entry_count == 0; }
    // Disarmed, and the state at that ticket kept.
    bool is_closed() const;
    // The window that the ring holds records of: from the oldest ticket up to the end.
    uint64_t end_ticket() const;
    uint64_t oldest_ticket() const { return oldest_ticket_; }
    // The committed record of a ticket, or null: a gap.
    const wire::Record* record(uint64_t ticket) const;
    const std::vector<wire::Record>& records() const { return records_; }
    uint64_t gap_count() const { return end_ticket() - oldest_ticket() - records_.size(); }

    const wire::PinnedDevice& pinned(uint32_t device) const;
    const wire::Keyframe* keyframe(uint32_t slot) const;  // null unless valid
    std::vector<wire::LiveEntry> keyframe_entries(uint32_t slot) const;
    const wire::Library& library(uint32_t index) const;
    uint32_t live_entry_count() const;
    std::vector<wire::LiveEntry> live_entries() const;  // as they are, in the order of their places
    std::vector<wire::Boundary> boundaries() const;     // by ordinal, then device

    // The live table at the end of the window, after redoing what was committed and not yet entered.
    LiveSet redone_table() const;
    // Every broken rule: torn slots, wrong checks of entries, a window that does not end at the table.
    std::vector<std::string> violations() const;

  private:
    const wire::Area& area(wire::AreaId id) const { return header().areas[static_cast<uint32_t>(id)]; }
    const unsigned char* area_begin(wire::AreaId id) const { return bytes_ + area(id).offset_bytes; }
    bool waits_with_a_table() const;
    uint64_t find_oldest_ticket() const;
    LiveSet table(std::vector<std::string>& broken) const;
    void check_boundaries(std::vector<std::string>& broken) const;
    void replay_window(const LiveSet& final_state, std::vector<std::string>& broken) const;

    const unsigned char* bytes_;
    size_t size_;
    uint64_t oldest_ticket_ = 0;
    std::vector<wire::Record> records_;  // the committed ones, in ticket order
    std::vector<std::string> torn_;
};

uint32_t crc32c(const unsigned char* bytes, size_t size, uint32_t state = 0);

enum class Effect {
    none,
    birth,
    death,
    death_undone
};
Effect effect_of(const wire::Record& record);

// The bytes of a file.
std::vector<unsigned char> read_file(const std::string& path);

}  // namespace memsnap::test
