// SPDX-License-Identifier: Apache-2.0
//
// A stretch of recorded events together with what was live at its two ends. The ring gives one and each
// failure keyframe gives one, with the same interface. The rule: the events stay where they were read; a
// window is a view that decodes them in ticket order.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "event.h"

namespace memsnap {

// An object of the live table, or one that was freed in the window.
struct LiveObject {
    uint64_t address = 0;
    uint64_t size_bytes = 0;
    uint64_t birth_ticket = kNoTicket;
    uint64_t birth_time_counter = 0;
    uint64_t site = 0;
    uint64_t last_ticket = 0;
    uint32_t step = 0;  // steps ended before the birth
    uint16_t phase = 0;
    uint16_t library = 0;
    Object object = Object::none;
    Op op = Op::none;
    int8_t device = -1;
    uint8_t flags = 0;  // EventFlag of the birth
    bool live_at_begin = false;
    bool live_at_end = false;  // in the redone table
    bool birth_known = false;  // site, time, step and phase are those of the birth
};

// Why an impossible sight may be a loss of the recorder instead of corruption.
enum class Uncertainty : uint8_t {
    records_missing,       // tickets of the window without a committed record
    events_lost,           // dropped before they had a ticket
    events_lapped,         // dropped because the ring had gone round
    late_start,            // recording began in a running process
    table_incomplete,      // births that found the live table full
    copied_while_written,  // the file is a copy taken without pausing the job
    recording_dormant,     // cold or standby
    kinds_unknown,         // records of a newer minor version were skipped
};
inline constexpr size_t kUncertaintyCount = 8;
std::string_view name(Uncertainty uncertainty);

struct WindowFacts {
    uint64_t accepted_count = 0;
    uint64_t missing_count = 0;       // gaps: tickets of the window that have no committed record
    uint64_t torn_count = 0;          // of them: the slot names the ticket, its check does not fit
    uint64_t unknown_kind_count = 0;  // committed, of a kind or call that this build does not know
    uint64_t redone_count = 0;        // committed events that the live table had not taken up
    uint64_t first_missing_ticket = kNoTicket;
    std::array<bool, kUncertaintyCount> uncertain = {};

    bool is_uncertain(Uncertainty u) const { return uncertain[static_cast<size_t>(u)]; }
    // Nothing before this ticket was lost; 0 when the state at the begin itself is uncertain.
    uint64_t certain_until_ticket = kNoTicket;
};

// Where the records of a stream lie: ticket t in slot (t - origin_ticket) mod slot_count.
struct StreamLayout {
    std::span<const std::byte> slots;
    uint64_t slot_count = 0;
    uint64_t origin_ticket = 0;
    uint64_t oldest_ticket = 0;  // of the records there are; those before the begin only tell births
    uint64_t begin_ticket = 0;
    uint64_t end_ticket = 0;
    std::vector<uint64_t> accepted;  // one bit a slot
};

class EventStream {
  public:
    EventStream() = default;
    explicit EventStream(StreamLayout layout) : layout_(std::move(layout)) {}

    uint64_t oldest_ticket() const { return layout_.oldest_ticket; }
    uint64_t begin_ticket() const { return layout_.begin_ticket; }
    uint64_t end_ticket() const { return layout_.end_ticket; }
    bool covers(uint64_t ticket) const { return ticket >= begin_ticket() && ticket < end_ticket(); }
    // The events all follow the ticket, and there are some.
    bool began_after(uint64_t ticket) const {
        return ticket < begin_ticket() && begin_ticket() < end_ticket();
    }
    // A committed record of a known kind, from the oldest ticket on.
    bool accepted(uint64_t ticket) const {
        if (ticket < layout_.oldest_ticket || ticket >= layout_.end_ticket) return false;
        const uint64_t at = slot(ticket);
        return (layout_.accepted[at / 64] >> (at % 64) & 1) != 0;
    }
    bool read(uint64_t ticket, Event& event) const;  // false: not accepted
    Kind kind(uint64_t ticket) const;                // Kind::none when not accepted

    // Calls f(const Event&) for each accepted record of [from, to) in ticket order; f returns false to stop.
    template <class F>
    void for_each(uint64_t from, uint64_t to, F&& f) const {
        static_assert(std::is_same_v<std::invoke_result_t<F, const Event&>, bool>);
        std::array<Event, 64> chunk;
        while (from < to) {
            for (const Event& event : decode(from, to, chunk)) {
                if (!f(event)) return;
            }
        }
    }
    template <class F>
    void for_each(F&& f) const {
        for_each(begin_ticket(), end_ticket(), f);
    }

  private:
    // Decodes up to a chunk of accepted records and moves `from` behind them.
    std::span<const Event> decode(uint64_t& from, uint64_t to, std::span<Event> chunk) const;
    uint64_t slot(uint64_t ticket) const { return (ticket - layout_.origin_ticket) % layout_.slot_count; }

    StreamLayout layout_;
};

struct Window {
    EventStream events;
    std::vector<LiveObject> objects;  // live at the begin, at the end or both; by birth ticket
    WindowFacts facts;
    uint32_t steps_at_begin = 0;  // steps ended before the window
};

}  // namespace memsnap
