// SPDX-License-Identifier: Apache-2.0
//
// Redo and the state at the window's begin. The rule: one pass over the window and one bit a slot; only
// objects that are live at an end of the window are kept.
#include "window_builder.h"

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

namespace memsnap {

bool is_birth(const Event& event) {
    if (event.has(kNested) || event.has(kCapturing)) return false;
    if (event.kind == Kind::ok) return role(event.op) == OpRole::allocates;
    return event.kind == Kind::block_alloc || event.kind == Kind::initial ||
           event.kind == Kind::initial_segment;
}

bool is_death(const Event& event) {
    if (event.kind == Kind::block_free) return true;
    return event.kind == Kind::free && !event.has(kNested) && !event.has(kCapturing);
}

bool is_refused_death(const Event& event) {
    return event.kind == Kind::free_fail && !event.has(kNested) && !event.has(kCapturing);
}

Object object_of(const Event& event) {
    if (event.kind == Kind::block_alloc || event.kind == Kind::block_free || event.kind == Kind::initial) {
        return Object::block;
    }
    if (event.kind == Kind::initial_segment)
        return object_of(event.op) == Object::mapping ? Object::mapping : Object::device;
    return object_of(event.op);
}

namespace {

bool is_block(const Event& event) {
    return object_of(event) == Object::block;
}

// A birth record in the ring or beside the free. Blocks have frees of their own kind.
bool read_birth(const EventStream& events, const Event& death, uint64_t birth_ticket, Event& birth) {
    if (death.has(kBirthFollows)) return events.read(death.ticket + 1, birth) && birth.kind == Kind::birth;
    return birth_ticket < death.ticket && events.read(birth_ticket, birth) && is_birth(birth) &&
           is_block(birth) == is_block(death);
}

Object class_of_birth(const Event& death, const Event& birth) {
    if (birth.kind != Kind::birth) return object_of(birth);
    return is_block(death) ? Object::block : object_of(birth.op);
}

}  // namespace

Object freed_object(const EventStream& events, const Event& free) {
    Event birth;
    if (!read_birth(events, free, free.birth_ticket(), birth)) return object_of(free);
    return class_of_birth(free, birth);
}

bool serves_device_memory(const Event& event) {
    return role(event.op) == OpRole::allocates && is_device_memory(object_of(event.op));
}

uint64_t certain_until(const WindowFacts& facts, uint64_t begin_ticket, uint64_t incomplete_from_ticket) {
    const auto is = [&](Uncertainty u) { return facts.is_uncertain(u); };
    if (is(Uncertainty::events_lost) || is(Uncertainty::events_lapped) || is(Uncertainty::late_start) ||
        is(Uncertainty::copied_while_written) || is(Uncertainty::recording_dormant)) {
        return 0;
    }
    const uint64_t missing = facts.first_missing_ticket;
    // What was live at the begin is known by what happened to it later.
    if (missing != kNoTicket && begin_ticket != 0) return 0;
    const uint64_t until = std::min(missing, incomplete_from_ticket);
    return until < begin_ticket ? 0 : until;
}

namespace {

// One address can be only one of these, and one call may free any of them.
Object key_class(const Event& event) {
    const Object object = object_of(event);
    return object == Object::managed || object == Object::async ? Object::device : object;
}

LiveObject object_from_birth(const Event& event) {
    LiveObject object;
    object.address = event.address;
    object.size_bytes = event.size_bytes;
    object.birth_ticket = event.ticket;
    object.birth_time_counter = event.time_counter;
    object.site = event.site();
    object.library = event.library;
    object.object = object_of(event);
    object.op = event.op;
    object.device = event.device;
    object.flags = event.flags;
    object.last_ticket = event.ticket;
    object.birth_known = true;
    return object;
}

class Builder {
  public:
    explicit Builder(WindowSource source)
        : source_(std::move(source)),
          begin_(source_.events.begin_ticket()),
          end_(source_.events.end_ticket()),
          lossy_(certain_until(source_.facts, begin_, source_.incomplete_from_ticket) != kNoTicket) {
        born_.resize(static_cast<size_t>((end_ - begin_ + 63) / 64));
    }

    std::expected<Window, WindowProblem> build() {
        source_.events.for_each([&](const Event& event) {
            take(event);
            return true;
        });
        if (!take_table()) return std::unexpected(*problem_);
        redo_deaths();
        redo_births();
        add_freed();
        if (problem_) return std::unexpected(*problem_);
        std::sort(objects_.begin(), objects_.end(),
                  [](const LiveObject& a, const LiveObject& b) { return a.birth_ticket < b.birth_ticket; });
        Window window;
        window.facts = source_.facts;
        window.facts.certain_until_ticket =
            certain_until(window.facts, begin_, source_.incomplete_from_ticket);
        window.events = std::move(source_.events);
        window.objects = std::move(objects_);
        window.steps_at_begin = first_step_ ? *first_step_ - 1 : latest_step(window.objects);
        return window;
    }

  private:
    bool in_window(uint64_t ticket) const { return ticket >= begin_ && ticket < end_; }
    bool is_born(uint64_t ticket) const {
        return (born_[(ticket - begin_) / 64] >> ((ticket - begin_) % 64) & 1) != 0;
    }
    void set_born(uint64_t ticket, bool alive) {
        const uint64_t bit = uint64_t{1} << ((ticket - begin_) % 64);
        uint64_t& word = born_[(ticket - begin_) / 64];
        word = alive ? word | bit : word & ~bit;
    }

    // No step ends in the window: the latest birth tells.
    static uint32_t latest_step(const std::vector<LiveObject>& objects) {
        uint32_t steps = 0;
        for (const LiveObject& object : objects)
            steps = std::max(steps, object.step);
        return steps;
    }

    void take(const Event& event) {
        if (event.kind == Kind::step && !first_step_ && event.size_bytes != 0) {
            first_step_ = static_cast<uint32_t>(event.size_bytes);
        }
        if (is_birth(event)) {
            set_born(event.ticket, true);
        } else if (is_death(event)) {
            take_death(event);
        } else if (is_refused_death(event) && event.birth_ticket() != kNoTicket) {
            if (in_window(event.birth_ticket())) {
                set_born(event.birth_ticket(), true);
            } else if (const auto found = freed_.find(event.birth_ticket()); found != freed_.end()) {
                found->second.refused = true;
            }
        }
    }

    void take_death(const Event& event) {
        const uint64_t birth = event.birth_ticket();
        unnamed_deaths_ |= birth == kNoTicket;
        if (birth == kNoTicket || birth >= event.ticket) return;  // the ledger judges it
        if (birth >= begin_) {
            if (lossy_ && !is_birth_of(birth, event)) {
                unnamed_deaths_ =
                    true;  // after a loss a free may name another life; without one that is corruption
            } else {
                set_born(birth, false);
            }
            return;
        }
        Freed& freed = freed_[birth];
        freed = {
            .ticket = event.ticket, .object = object_from_birth(event), .refused = false, .in_table = false};
        freed.object.birth_ticket = birth;
        find_birth(event, freed.object);
        freed.object.live_at_begin = true;
    }

    bool is_birth_of(uint64_t ticket, const Event& death) const {
        Event birth;
        return source_.events.read(ticket, birth) && is_birth(birth) && birth.address == death.address &&
               is_block(birth) == is_block(death);
    }

    // The birth is in the ring before the window, beside the free, or not told.
    void find_birth(const Event& death, LiveObject& object) const {
        object.site = 0;
        object.birth_known = false;
        Event birth;
        if (!read_birth(source_.events, death, object.birth_ticket, birth)) return;
        if (birth.kind == Kind::birth) {
            object.step = birth.birth_step();
            object.phase = birth.birth_phase();
        }
        object.site = birth.site();
        object.birth_time_counter = birth.time_counter;
        object.size_bytes = birth.size_bytes;
        object.library = birth.library;
        object.op = birth.op;
        object.flags = birth.flags;
        object.birth_known = true;
        object.object = class_of_birth(death, birth);
    }

    bool take_table() {
        std::sort(source_.table.begin(), source_.table.end(),
                  [](const LiveObject& a, const LiveObject& b) { return a.birth_ticket < b.birth_ticket; });
        uint64_t previous = kNoTicket;
        for (LiveObject& entry : source_.table) {
            const uint64_t birth = entry.birth_ticket;
            if (birth >= end_) break;  // newer than the head that was read
            if (birth == previous) {
                if (!fail(Rule::table_duplicate, birth)) return false;
                continue;  // explained by a declared loss: the entries after it still count
            }
            previous = birth;
            entry.birth_known = true;
            entry.live_at_end = true;
            if (birth < begin_) {
                take_old_entry(entry);
            } else if (!take_new_entry(entry)) {
                return false;
            }
        }
        return true;
    }

    void take_old_entry(LiveObject& entry) {
        entry.live_at_begin = true;
        if (const auto found = freed_.find(entry.birth_ticket); found != freed_.end()) {
            found->second.in_table = true;
            if (!found->second.refused) {
                entry.live_at_end = false;
                redo_death(entry, found->second.ticket);
            }
        }
        objects_.push_back(entry);
    }

    bool take_new_entry(LiveObject& entry) {
        const uint64_t birth = entry.birth_ticket;
        Event event;
        if (!source_.events.read(birth, event)) {
            // Only a lost record explains an entry without one; the ledger never sees its birth.
            return source_.facts.first_missing_ticket != kNoTicket || fail(Rule::table_birth, birth);
        }
        const bool agrees =
            is_birth(event) && event.address == entry.address && object_of(event) == entry.object;
        if (!agrees && entry.object == Object::block) return fail(Rule::table_birth, birth);
        if (is_born(birth)) {
            set_born(birth, false);  // accounted for
            objects_.push_back(entry);
            return true;
        }
        if (is_birth(event)) dead_.emplace(birth, kNoTicket);
        return true;
    }

    // Entries of objects that were born in the window and freed in it.
    void redo_deaths() {
        if (dead_.empty()) return;
        source_.events.for_each([&](const Event& event) {
            if (!is_death(event) || event.birth_ticket() >= event.ticket) return true;
            const auto found = dead_.find(event.birth_ticket());
            if (found != dead_.end()) found->second = event.ticket;
            return true;
        });
        for (const LiveObject& entry : source_.table) {
            const auto found = dead_.find(entry.birth_ticket);
            if (found != dead_.end()) redo_death(entry, found->second);
        }
    }

    void redo_death(const LiveObject& entry, uint64_t death) {
        ++source_.facts.redone_count;
        if (entry.last_ticket >= death && entry.object == Object::block) fail(Rule::table_death, death);
        count_lag(death, entry.object);
    }

    // A free that names no birth, or one whose record was lost, also ends a life: a later birth or death of
    // the same object tells. Without such a free or a loss every end is named by its birth.
    void end_superseded() {
        if (!unnamed_deaths_ && source_.facts.first_missing_ticket == kNoTicket) return;
        std::map<std::pair<Object, uint64_t>, uint64_t> births;  // of what is still taken for live
        source_.events.for_each([&](const Event& event) {
            const Object object = key_class(event);
            const bool counted =
                object == Object::vmm_handle || object == Object::import;  // one end a reference
            if (counted || (!is_birth(event) && !is_death(event))) return true;
            const auto found = births.find({object, event.address});
            if (found != births.end()) {
                set_born(found->second, false);
                births.erase(found);
            }
            if (is_birth(event) && is_born(event.ticket))
                births.insert_or_assign({object, event.address}, event.ticket);
            return true;
        });
    }

    // Births whose record is there and whose entry is not.
    void redo_births() {
        end_superseded();
        for (size_t word = 0; word < born_.size(); ++word) {
            for (uint64_t bits = born_[word]; bits != 0; bits &= bits - 1) {
                const uint64_t birth = begin_ + word * 64 + static_cast<uint64_t>(__builtin_ctzll(bits));
                Event event;
                // A refused free revives an object whose own birth record may be lost.
                if (!source_.events.read(birth, event) || !is_birth(event)) continue;
                LiveObject object = object_from_birth(event);
                object.live_at_end = true;
                objects_.push_back(object);
                if (birth >= source_.incomplete_from_ticket) continue;
                ++source_.facts.redone_count;
                count_lag(birth, object.object);
            }
        }
    }

    // The table may lag by one event a thread, the one that its writer did not finish.
    void count_lag(uint64_t ticket, Object object) {
        Event event;
        if (ticket >= source_.table_head_ticket || object != Object::block) return;
        if (!source_.events.read(ticket, event) || event.thread == 0) return;
        if (++lag_[event.thread] > 1) fail(Rule::table_lag, ticket);
    }

    void add_freed() {
        for (auto& [birth, freed] : freed_) {
            if (freed.in_table) continue;
            freed.object.live_at_end = freed.refused;
            objects_.push_back(freed.object);
        }
    }

    bool fail(Rule rule, uint64_t ticket) {
        const uint64_t until = certain_until(source_.facts, begin_, source_.incomplete_from_ticket);
        if (until != kNoTicket && ticket >= until) return true;
        if (!problem_) problem_ = WindowProblem{rule, ticket};
        return false;
    }

    struct Freed {
        uint64_t ticket = 0;
        LiveObject object;
        bool refused = false;
        bool in_table = false;
    };

    WindowSource source_;
    uint64_t begin_;
    uint64_t end_;
    bool lossy_;
    std::vector<uint64_t> born_;                   // a bit a ticket: born in the window and not freed in it
    std::unordered_map<uint64_t, Freed> freed_;    // born before the window and freed in it, by birth
    std::unordered_map<uint64_t, uint64_t> dead_;  // deaths by birth, of entries born and freed in the window
    std::unordered_map<uint16_t, uint32_t> lag_;
    std::vector<LiveObject> objects_;
    std::optional<uint32_t> first_step_;
    std::optional<WindowProblem> problem_;
    bool unnamed_deaths_ = false;
};

}  // namespace

std::expected<Window, WindowProblem> build_window(WindowSource source) {
    return Builder(std::move(source)).build();
}

}  // namespace memsnap
