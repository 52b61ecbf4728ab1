// SPDX-License-Identifier: Apache-2.0
//
// Groups births and deaths by object and pairs them. Rule: a free belongs to the life with its birth ticket;
// without one, or where that life is not there, to the youngest life of the address.
#include "lives.h"

#include <unordered_map>

namespace oracle {
namespace {

enum class What : u8 {
    kOlder,
    kBirth,
    kDeath,
    kTakenBack
};

struct Fact {
    Class object = kNoClass;
    u64 address = 0;
    u64 ticket = 0;
    What what = What::kOlder;
    const Event* event = nullptr;
    std::size_t older = 0;  ///< index of the life, of what was live at B
};

Life life_of(const Event& event, Class object) {
    Life life;
    life.object = object;
    life.address = event.address;
    life.size = event.size;
    life.from = life.birth = event.ticket;
    life.site = event.link;
    life.library = event.library;
    life.device = event.device;
    life.call = event.call;
    life.flags = event.flags;
    life.offset = event.offset;
    if (event.kind == kOk && event.call == kCallMemMap) life.handle = event.extra;
    return life;
}

Life life_of(const Entry& entry) {
    Life life;
    life.object = entry.object;
    life.address = entry.address;
    life.size = entry.size;
    life.birth = entry.birth;
    life.site = entry.site;
    life.step = entry.step;
    life.phase = entry.phase;
    life.library = entry.library;
    life.device = entry.device;
    life.call = entry.call;
    life.flags = entry.flags;
    life.offset = entry.offset;
    return life;
}

class Builder {
  public:
    explicit Builder(const Recording& recording) : recording_(recording) {}

    Lives build() {
        index_births();
        for (const auto& entry : recording_.table) {
            if (entry.live && entry.check_fits && entry.birth < recording_.begin) add_older(life_of(entry));
        }
        for (const auto& event : recording_.events)
            add(event);
        std::stable_sort(facts_.begin(), facts_.end(), [](const Fact& a, const Fact& b) {
            return std::tuple(a.object, a.address, a.ticket) < std::tuple(b.object, b.address, b.ticket);
        });
        for (std::size_t begin = 0; begin < facts_.size();) {
            std::size_t end = begin;
            while (end < facts_.size() && facts_[end].object == facts_[begin].object &&
                   facts_[end].address == facts_[begin].address)
                ++end;
            pair_up({facts_.data() + begin, end - begin});
            begin = end;
        }
        std::stable_sort(lives_.all.begin(), lives_.all.end(), [](const Life& a, const Life& b) {
            return std::tuple(a.from, a.birth, a.address) < std::tuple(b.from, b.birth, b.address);
        });
        return std::move(lives_);
    }

  private:
    struct Seen {
        Class object;
        u64 birth;
    };

    void see(Class object, u64 address, u64 birth) {
        class_of_birth_.try_emplace(birth, object);
        if (object != kBlock) at_address_[address].push_back({object, birth});
    }

    void index_births() {
        for (const auto& event : recording_.earlier) {
            if (auto object = birth_class(event); object != kNoClass) {
                see(object, event.address, event.ticket);
                earlier_.emplace(event.ticket, &event);
            }
        }
        for (const auto& event : recording_.events) {
            if (auto object = birth_class(event); object != kNoClass)
                see(object, event.address, event.ticket);
        }
        for (const auto& entry : recording_.table) {
            if (entry.live && entry.check_fits) see(entry.object, entry.address, entry.birth);
        }
        for (const auto& event : recording_.events) {
            const auto* beside = is_death(event) && event.kind == kFree ? birth_beside(event) : nullptr;
            auto object = beside != nullptr ? allocates(beside->call) : kNoClass;
            if (object != kNoClass && event.link != kNoTicket)
                class_of_birth_.try_emplace(event.link, object);
        }
    }

    const Event* birth_beside(const Event& free) const {
        if (!free.has(kBirthFollows)) return nullptr;
        const auto* next = recording_.at(free.ticket + 1);
        return next != nullptr && next->kind == kBirth && next->address == free.address ? next : nullptr;
    }

    // The birth ticket names the object, whatever class the call names. Blocks have frees of their own.
    Class class_freed(const Event& free) const {
        if (free.kind == kBlockFree) return kBlock;
        if (auto found = class_of_birth_.find(free.link);
            free.link != kNoTicket && found != class_of_birth_.end() && found->second != kBlock)
            return found->second;
        const Seen* best = nullptr;
        if (auto found = at_address_.find(free.address); found != at_address_.end()) {
            for (const auto& seen : found->second) {
                if (seen.birth < free.ticket && may_free(free.call, seen.object) &&
                    (best == nullptr || seen.birth > best->birth))
                    best = &seen;
            }
        }
        return best != nullptr ? best->object : frees(free.call);
    }

    void add_older(Life life) {
        life.from = 0;
        facts_.push_back({life.object, life.address, 0, What::kOlder, nullptr, older_.size()});
        older_.push_back(life);
    }

    // What was born before B and freed in the window is known from its free, or better.
    void add_older_of(const Event& free, Class object) {
        Life life = life_of(free, object);
        life.site = 0;
        if (const auto* beside = birth_beside(free)) {
            life = life_of(*beside, object);
            life.step = beside->extra;
            life.phase = beside->extra16;
        } else if (auto found = earlier_.find(free.link); found != earlier_.end() &&
                                                          found->second->address == free.address &&
                                                          birth_class(*found->second) == object) {
            life = life_of(*found->second, object);
        }
        life.birth = free.link;
        add_older(life);
    }

    void add(const Event& event) {
        if (auto object = birth_class(event); object != kNoClass) {
            facts_.push_back({object, event.address, event.ticket, What::kBirth, &event});
            return;
        }
        bool back = event.kind == kFreeFail && !event.has(kNested) && !event.has(kCapturing);
        if (!back && !is_death(event)) return;
        auto object = class_freed(event);
        if (object == kNoClass) return;
        if (!back && event.link != kNoTicket && event.link < recording_.begin) add_older_of(event, object);
        facts_.push_back(
            {object, event.address, event.ticket, back ? What::kTakenBack : What::kDeath, &event});
    }

    void issue(std::string_view rule, const Event& event) {
        lives_.issues.push_back({rule, event.ticket, event.offset});
    }

    void pair_up(std::span<const Fact> group) {
        std::vector<Life> alive, dead;
        for (const auto& fact : group) {
            switch (fact.what) {
                case What::kOlder:
                    if (std::none_of(alive.begin(), alive.end(), [&](const Life& life) {
                            return life.birth == older_[fact.older].birth;
                        }))
                        alive.push_back(older_[fact.older]);
                    break;
                case What::kBirth:
                    bear(fact, alive, dead);
                    break;
                case What::kDeath:
                    bury(fact, alive, dead);
                    break;
                case What::kTakenBack:
                    give_back(fact, alive, dead);
                    break;
            }
        }
        lives_.all.insert(lives_.all.end(), dead.begin(), dead.end());
        lives_.all.insert(lives_.all.end(), alive.begin(), alive.end());
    }

    // A block at the address of a live one shows that the older one's free was lost. Other objects keep both:
    // which of the two ended is not known.
    void bear(const Fact& fact, std::vector<Life>& alive, std::vector<Life>& dead) {
        const auto& event = *fact.event;
        if (fact.object == kBlock && !alive.empty()) {
            issue("block_live_twice", event);
            for (auto& life : alive) {
                life.death = event.ticket;
                dead.push_back(life);
            }
            alive.clear();
        }
        auto life = life_of(event, fact.object);
        life.in_window = true;
        alive.push_back(life);
    }

    void bury(const Fact& fact, std::vector<Life>& alive, std::vector<Life>& dead) {
        const auto& event = *fact.event;
        bool block = fact.object == kBlock;
        if (alive.empty()) return issue(block ? "free_unmatched" : "object_unmatched", event);
        auto found = std::find_if(alive.begin(), alive.end(),
                                  [&](const Life& life) { return life.birth == event.link; });
        bool other_birth = found == alive.end() && event.link != kNoTicket;
        if (found == alive.end()) found = alive.end() - 1;
        if (block && (other_birth || found->size != event.size || found->device != event.device))
            issue("free_mismatch", event);
        if (!block && other_birth) issue("object_unmatched", event);
        found->death = event.ticket;
        found->freed = true;
        found->own_free = event.ticket;
        dead.push_back(*found);
        alive.erase(found);
    }

    static void give_back(const Fact& fact, std::vector<Life>& alive, const std::vector<Life>& dead) {
        for (auto life = dead.rbegin(); life != dead.rend(); ++life) {
            if (fact.event->link != kNoTicket && life->birth != fact.event->link) continue;
            alive.push_back(*life);
            alive.back().from = fact.ticket;
            alive.back().death = kNoTicket;
            alive.back().freed = false;
            alive.back().own_free = kNoTicket;
            alive.back().in_window = false;
            return;
        }
    }

    const Recording& recording_;
    std::vector<Fact> facts_;
    std::vector<Life> older_;
    std::unordered_map<u64, Class> class_of_birth_;
    std::unordered_map<u64, std::vector<Seen>> at_address_;
    std::unordered_map<u64, const Event*> earlier_;
    Lives lives_;
};

}  // namespace

std::vector<const Life*> blocks_at(const std::vector<Life>& lives, int device, u64 ticket) {
    std::vector<const Life*> blocks;
    for (const auto& life : lives) {
        if (life.object == kBlock && life.device == device && life.alive_at(ticket)) blocks.push_back(&life);
    }
    std::stable_sort(blocks.begin(), blocks.end(),
                     [](const Life* a, const Life* b) { return a->address < b->address; });
    return blocks;
}

Class birth_class(const Event& event) {
    switch (event.kind) {
        case kBlockAlloc:
        case kInitial:
            return kBlock;
        case kInitialSegment:
            return event.call == kCallMemMap ? kMapping : kDevice;
        case kOk:
            return event.has(kNested) || event.has(kCapturing) ? kNoClass : allocates(event.call);
        default:
            return kNoClass;
    }
}

bool is_death(const Event& event) {
    return event.kind == kBlockFree || (event.kind == kFree && !event.has(kNested) && !event.has(kCapturing));
}

Lives build_lives(const Recording& recording, const std::vector<Range>& ranges) {
    auto lives = Builder(recording).build();
    note_steps_and_phases(recording, ranges, lives.all);
    return lives;
}

}  // namespace oracle
