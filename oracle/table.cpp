// SPDX-License-Identifier: Apache-2.0
//
// Redoes the table and compares. Rule: a birth is taken up when nothing later of its object is in the window,
// a death when its entry is older than the death; either counts as lag of the event's thread.
#include "table.h"

#include <iterator>
#include <map>
#include <set>
#include <unordered_map>

namespace oracle {
namespace {

using Key = std::pair<Class, u64>;
using Named = std::tuple<Class, u64, u64>;  // class, address, birth

class Redo {
  public:
    Redo(const Recording& recording, const std::vector<Life>& lives) : recording_(recording), lives_(lives) {}

    std::vector<Issue> run() {
        take_entries();
        find_last_events();
        for (const auto& life : lives_)
            redo(life);
        check_deaths();
        check_lag();
        compare();
        return std::move(issues_);
    }

  private:
    void take_entries() {
        std::set<u64> births;
        for (const auto& entry : recording_.table) {
            if (!entry.live) continue;
            if (!entry.check_fits) {
                issues_.push_back({"table_check", entry.last_ticket, entry.offset});
                continue;
            }
            if (!births.insert(entry.birth).second) {
                issues_.push_back({"table_duplicate", entry.birth, entry.offset});
                continue;
            }
            const auto* event = recording_.at(entry.birth);
            bool others =
                event != nullptr && (birth_class(*event) != entry.object || event->address != entry.address);
            if (others && entry.object == kBlock) {
                issues_.push_back({"table_birth", entry.birth, entry.offset});
                continue;
            }
            if (entry.birth < recording_.end)
                entries_.emplace(Named{entry.object, entry.address, entry.birth}, &entry);
        }
    }

    void find_last_events() {
        for (const auto& event : recording_.events) {
            if (auto object = birth_class(event); object != kNoClass)
                last_event_[{object, event.address}] = event.ticket;
        }
        for (const auto& life : lives_) {
            if (life.own_free == kNoTicket) continue;
            auto& last = last_event_[{life.object, life.address}];
            last = std::max(last, life.own_free);
        }
    }

    void redo(const Life& life) {
        Named name{life.object, life.address, life.birth};
        auto found = entries_.find(name);
        if (life.own_free != kNoTicket) {
            const auto* free = recording_.at(life.own_free);
            bool its_own = free->link == life.birth && free->address == life.address;
            if (found != entries_.end() && its_own && found->second->last_ticket < life.own_free) {
                redone_.push_back(free);
                entries_.erase(found);
            }
            return;
        }
        bool event = life.in_window || life.from != 0;
        if (found == entries_.end() && event && last_event_[{life.object, life.address}] <= life.from) {
            redone_.push_back(recording_.at(life.from));
            entered_.insert(name);
        }
    }

    void check_deaths() {
        for (const auto& life : lives_) {
            if (life.object != kBlock || life.own_free == kNoTicket) continue;
            auto found = entries_.find({life.object, life.address, life.birth});
            if (found != entries_.end() && found->second->last_ticket >= life.own_free)
                issues_.push_back({"table_death", life.own_free, found->second->offset});
        }
    }

    void check_lag() {
        std::map<u16, int> by_thread;
        std::sort(redone_.begin(), redone_.end(),
                  [](const Event* a, const Event* b) { return a->ticket < b->ticket; });
        for (const auto* event : redone_) {
            if (event->ticket >= recording_.file->table_head) continue;
            if (event->thread != 0 && ++by_thread[event->thread] == 2)
                issues_.push_back({"table_lag", event->ticket, event->offset});
        }
    }

    // A birth that nobody wrote down explains an entry that the window does not end with.
    bool is_lost(u64 birth) const { return birth >= recording_.begin && recording_.at(birth) == nullptr; }

    void compare() {
        u64 last = recording_.last_ticket();
        std::map<Named, u64> blocks_at_end, blocks_in_table;  // their sizes
        std::set<Key> objects_at_end, objects_in_table;
        auto note = [](auto& blocks, auto& objects, const Named& name, u64 size) {
            auto [object, address, birth] = name;
            if (object == kBlock) {
                blocks.emplace(name, size);
            } else {
                objects.insert({object, address});
            }
        };
        for (const auto& life : lives_) {
            Named name{life.object, life.address, life.birth};
            if (life.death == kNoTicket) note(blocks_at_end, objects_at_end, name, life.size);
            if (entered_.contains(name)) note(blocks_in_table, objects_in_table, name, life.size);
        }
        for (const auto& [name, entry] : entries_) {
            if (!is_lost(entry->birth)) note(blocks_in_table, objects_in_table, name, entry->size);
        }
        if (blocks_at_end != blocks_in_table) issues_.push_back({"table_end", last, 0});
        std::vector<Key> differing;
        std::set_symmetric_difference(objects_at_end.begin(), objects_at_end.end(), objects_in_table.begin(),
                                      objects_in_table.end(), std::back_inserter(differing));
        for (std::size_t i = 0; i < differing.size(); ++i)
            issues_.push_back({"object_end", last, 0});
    }

    const Recording& recording_;
    const std::vector<Life>& lives_;
    std::map<Named, const Entry*> entries_;
    std::set<Named> entered_;
    std::map<Key, u64> last_event_;
    std::vector<const Event*> redone_;
    std::vector<Issue> issues_;
};

}  // namespace

std::vector<Issue> check_table(const Recording& recording, const std::vector<Life>& lives) {
    return Redo(recording, lives).run();
}

}  // namespace oracle
