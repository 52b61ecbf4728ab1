// SPDX-License-Identifier: Apache-2.0
//
// A job as a walk of random acts.
#include "natural.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "allocator_model.h"
#include "random.h"
#include "rewriting.h"

namespace memsnap::differential {

namespace {

struct Held {
    Block block;
    unsigned thread = 1;
};

// What a library or the program made and still has.
struct Owned {
    std::string name;
    Actor who;
    uint64_t card_bytes = 0;  // that it takes from the card
    bool captured = false;
};

class Walk {
  public:
    explicit Walk(const Plan& plan)
        : plan_(plan),
          random_(plan.seed),
          talkative_(random_.one_in(2)),
          notes_(random_.one_in(2)),
          sites_(random_.one_in(6) ? 2000 : 6) {
        lines_.header(fmt::format(
            "ring_records={} keyframe_records=64 table_entries=512 keyframe_entries=512", plan.ring_records));
        if (plan.expandable) lines_.header("expandable");
        if (plan.origin != 0) lines_.header(fmt::format("origin={}", plan.origin));
        if (plan.total_stated) lines_.header("stated=total");
        if (talkative_) {
            lines_.header(
                fmt::format("python_version=31203 stack_wish={} python_stacks={} native_stacks={} "
                            "stack_depth=20 no_stack={} names_dropped={} boundaries_dropped={}",
                            random_.below(6), random_.below(6), random_.below(4), random_.below(3),
                            random_.below(3), random_.below(3)));
        }
        lines_.add("library_entry 3 role=program");
        lines_.add("library_entry 4 role=torch");
        const size_t count = plan.second_device ? 2 : 1;
        cards_.reserve(count);
        for (size_t i = 0; i < count; ++i) {
            cards_.push_back({plan.card_bytes / (i + 1), random_.between(20, 200) * kMiB});
            ModelOptions options{plan.expandable, plan.tap};
            options.base_address += i << 41;
            options.tells_again = random_.one_in(2);
            options.pools_untold = random_.one_in(3);
            options.sums_requests = random_.one_in(2);
            options.untold_every = static_cast<unsigned>(random_.below(3)) * 3;
            options.asks_device = !plan.silent;
            options.segment_gap_bytes = random_.one_in(4) ? 0 : 4 * kMiB;
            models_.emplace_back(lines_, cards_[i], options);
            held_.emplace_back();
            owned_.emplace_back();
        }
    }

    std::vector<std::string> run() {
        // What is left behind shows only over many steps. A mapping's handle is lost with the window that
        // told it: a longer walk over expandable segments would lap its ring.
        const unsigned acts =
            talkative_ && !plan_.expandable ? 3 * plan_.natural_events : plan_.natural_events;
        for (unsigned i = 0; i < acts; ++i)
            act();
        if (plan_.end.exit_status) lines_.exit(*plan_.end.exit_status);
        return lines_.lines();
    }

  private:
    void act() {
        const size_t device = random_.below(models_.size());
        Actor who{static_cast<int>(device), 1 + static_cast<unsigned>(random_.below(3)), 0, 0};
        if (talkative_ && random_.one_in(3)) return talk(device, who);
        const uint64_t chance = random_.below(100);
        if (chance < 44) {
            allocate(device, who);
        } else if (chance < 74) {
            free_one(device, who);
        } else if (chance < 78) {
            models_[device].complete_deferred(who);
        } else if (chance < 82) {
            if (!plan_.silent)
                lines_.device_sample(who, cards_[device].total_bytes, models_[device].free_on_card_bytes());
        } else if (chance < 85) {
            sample_processes(device, who);
        } else if (chance < 88) {
            use_library(device, who);
        } else if (chance < 93) {
            lines_.step(who);
        } else if (chance < 95) {
            models_[device].empty_cache(who);
        } else if (chance < 96) {
            lines_.cap(who, random_.one_in(2) ? 0 : cards_[device].total_bytes / 2);
        } else if (chance < 97) {
            if (!plan_.damaged) lines_.add("lose");
        } else if (chance < 98) {
            if (notes_) lines_.note("batch", static_cast<int64_t>(random_.below(3)));
        } else if (chance < 99) {
            if (!plan_.silent)
                lines_.question(who, cards_[device].total_bytes, models_[device].free_on_card_bytes(), false);
        } else {
            ranges(who);
        }
    }

    void allocate(size_t device, Actor who) {
        who.site = random_.below(sites_);
        const uint64_t scales[] = {4 * kKiB, 300 * kKiB, kMiB, 3 * kMiB, 11 * kMiB, 60 * kMiB};
        BlockRequest request{who, random_.one_of(scales) + random_.below(9) * kGranule_bytes, 0, 0};
        if (random_.one_in(8)) request.stream = 7;
        if (random_.one_in(8)) request.pool = 1;
        if (plan_.tap) request.bytes -= random_.below(2 * kGranule_bytes);
        if (const auto block = models_[device].allocate(request)) {
            held_[device].push_back({*block, who.thread});
        } else if (random_.one_in(2)) {
            lines_.keyframe();
        }
    }

    void free_one(size_t device, Actor who) {
        std::vector<Held>& held = held_[device];
        if (held.empty()) return;
        const size_t at = random_.below(held.size());
        if (random_.one_in(3)) who.thread = held[at].thread;
        models_[device].free(held[at].block, who, random_.one_in(6));
        held.erase(held.begin() + static_cast<ptrdiff_t>(at));
    }

    void sample_processes(size_t device, const Actor& who) {
        others_ = random_.below(cards_[device].total_bytes / 16);
        for (uint64_t count = random_.below(3); count > 0; --count) {
            lines_.add(fmt::format("neighbour pid={} bytes={}{}{} device={}", 100 + count,
                                   random_.below(others_ + 1), random_.one_in(2) ? " job" : "",
                                   random_.one_in(8) ? " unavailable" : "", device));
        }
        if (random_.one_in(8)) {
            lines_.add(fmt::format("process_sample own=0 others=0 unavailable device={}", device));
            return;
        }
        lines_.process_sample(who, models_[device].reserved_bytes(), others_);
    }

    // Another library's memory, its refusal, or the end of what it has.
    void use_library(size_t device, Actor who) {
        who.library = 3 + static_cast<unsigned>(random_.below(3));
        const uint64_t bytes = random_.between(1, 30) * kMiB - random_.below(2) * 512;
        if (models_[device].free_on_card_bytes() < bytes || random_.one_in(6)) {
            lines_.refused(who, "cudaMalloc", bytes, false);
        } else if (random_.one_in(3)) {
            release(device);
        } else {
            make(device, who, bytes);
        }
    }

    struct Making {
        std::string_view call;
        std::string_view flags;
        bool on_card = true;
    };

    void make(size_t device, const Actor& who, uint64_t bytes) {
        constexpr Making kMakings[] = {{"cudaMalloc", ""},
                                       {"cuMemAlloc", ""},
                                       {"cudaMallocAsync", ""},
                                       {"cudaMallocArray", ""},
                                       {"cuMemCreate", ""},
                                       {"cudaMallocHost", "", false},
                                       {"cudaMallocManaged", "", false},
                                       {"cudaIpcOpenMemHandle", " imported", false},
                                       {"cudaGraphAddMemAllocNode", "", false},
                                       {"cudaMallocAsync", " capturing", false}};
        const Making& making = random_.one_of(kMakings);
        const std::string name = lines_.fresh('f');
        lines_.foreign(name, who, making.call, bytes, making.flags);
        if (making.on_card) cards_[device].outside_bytes += bytes;
        owned_[device].push_back({name, who, making.on_card ? bytes : 0,
                                  making.flags.find("capturing") != std::string_view::npos});
        if (making.call == "cuMemCreate" && random_.one_in(2)) {
            const std::string again = lines_.fresh('f');
            lines_.add(fmt::format("call {} cuMemRetainAllocationHandle {} at={} device={}", again, bytes,
                                   name, device));
            owned_[device].push_back({again, who, 0, false});
        }
    }

    // By its own call, or with the context that it was made in, or not after all.
    void release(size_t device) {
        std::vector<Owned>& owned = owned_[device];
        if (owned.empty()) return;
        const size_t at = random_.below(owned.size());
        const Owned one = owned[at];
        const uint64_t how = one.captured ? 0 : random_.below(8);
        const std::string with_context = fmt::format("end_context cudaDeviceReset {} device={} library={}",
                                                     one.name, one.who.device, one.who.library);
        if (how == 0 && !one.captured) {
            lines_.add(fmt::format("free_fail {} device={}", one.name, one.who.device));
        } else if (how == 1) {
            lines_.add(with_context + " code=1");
        } else {
            if (how == 2) {
                lines_.add(with_context);
            } else {
                lines_.release_foreign(one.name, one.who);
            }
            cards_[device].outside_bytes -= one.card_bytes;
            owned.erase(owned.begin() + static_cast<ptrdiff_t>(at));
        }
    }

    void ranges(const Actor& who) {
        constexpr std::string_view kFamilies[] = {"range", "optimizer", "module"};
        begin_range(who, random_.one_of(kFamilies));
        if (random_.one_in(2)) act();
        if (!open_[who.thread].empty()) end_range(who, {});  // that act may have ended it
    }

    // What the job says of itself: ranges that stay open, steps, notes, categories.
    void talk(size_t device, const Actor& who) {
        constexpr std::string_view kFamilies[] = {"range", "optimizer", "module",    "collection",
                                                  "none",  "none",      "collection"};
        constexpr std::string_view kSteps[] = {"", " collection_off", " implied"};
        constexpr std::string_view kDimensions[] = {"batch", "sequence", "depth"};
        std::vector<std::string>& open = open_[who.thread];
        const uint64_t chance = random_.below(100);
        if (chance < 25) {
            begin_range(who, random_.one_of(kFamilies));
        } else if (chance < 45) {
            if (!open.empty()) end_range(who, random_.one_in(2) ? "" : random_.one_of(open));
        } else if (chance < 47) {
            lines_.end_of_ticket(who, random_.below(lines_.size()));
        } else if (chance < 67) {
            lines_.step(who, random_.one_of(kSteps));
        } else if (chance < 82 && notes_) {
            lines_.note(random_.one_of(kDimensions), static_cast<int64_t>(random_.below(4)));
        } else {
            tell_category(device, who);
        }
    }

    void begin_range(const Actor& who, std::string_view family) {
        constexpr std::string_view kNames[] = {"a_1", "a_2", "b"};
        const std::string_view name = random_.one_of(kNames);
        open_[who.thread].emplace_back(name);
        lines_.begin_range(who, family, name);
    }

    // The innermost of the name; the innermost of all when it is empty.
    void end_range(const Actor& who, std::string_view name) {
        std::vector<std::string>& open = open_[who.thread];
        lines_.end_range(who, name);
        const auto ends = name.empty() ? open.rbegin() : std::find(open.rbegin(), open.rend(), name);
        open.erase(std::next(ends).base());
    }

    // Of any byte of a block, or of the first behind it; now and then of another device.
    void tell_category(size_t device, Actor who) {
        constexpr std::string_view kCategories[] = {
            "parameter", "gradient", "optimizer_state", "buffer", "input", "activation", "none"};
        if (held_[device].empty()) return;
        const Block& block = random_.one_of(held_[device]).block;
        if (random_.one_in(16)) who.device = 1 - who.device;
        const uint64_t offset_bytes = random_.one_in(4) ? block.bytes : random_.below(block.bytes);
        lines_.category(who, block.name, random_.one_of(kCategories), offset_bytes);
    }

    const Plan& plan_;
    Random random_;
    bool talkative_;
    bool notes_;      // boundaries with other notes are not the same point
    uint64_t sites_;  // how many birth sites there are, and none
    EventLines lines_;
    std::vector<Card> cards_;
    std::vector<AllocatorModel> models_;
    std::vector<std::vector<Held>> held_;
    std::vector<std::vector<Owned>> owned_;
    std::map<unsigned, std::vector<std::string>> open_;  // names of ranges by thread
    uint64_t others_ = 0;
};

std::string strange_number(Random& random) {
    constexpr std::string_view kNumbers[] = {"0",
                                             "1",
                                             "511",
                                             "512",
                                             "513",
                                             "1048576",
                                             "0x7f0000000000",
                                             "7",
                                             "0x1000000000000000",
                                             "0xfffffffffffffe00",
                                             "none"};
    return std::string(random.one_of(kNumbers));
}

}  // namespace

std::vector<std::string> build_natural(const Plan& plan) {
    return Walk(plan).run();
}

void damage(std::vector<std::string>& lines, const Plan& plan) {
    Random random(plan.seed ^ 0xda3a6e);
    const std::vector<std::string> blocks = live_blocks(lines);
    std::vector<size_t> reports;
    for (size_t i = 0; i < lines.size(); ++i) {
        if (lines[i].starts_with("alloc ") || lines[i].starts_with("free b")) reports.push_back(i);
    }
    if (reports.empty() || blocks.empty()) return;
    lines[random.one_of(reports)] += " as=hit";
    switch (random.below(6)) {
        case 0:
        case 1:
        case 2: {
            constexpr std::string_view kFields[] = {"size", "address", "link", "allocated", "reserved"};
            lines.push_back(
                fmt::format("corrupt record of=@hit {}={}", random.one_of(kFields), strange_number(random)));
            break;
        }
        case 3:
            lines.push_back(random.one_in(2)
                                ? "torn of=@hit"
                                : fmt::format("corrupt record of=@hit device={}", random.below(3)));
            break;
        case 4: {
            constexpr std::string_view kFields[] = {"size", "address", "birth_ticket", "device"};
            lines.push_back(fmt::format("corrupt entry {} {}={}", random.one_of(blocks),
                                        random.one_of(kFields), random.below(64)));
            break;
        }
        case 5: {
            constexpr std::string_view kHow[] = {"drop", "copy", "unseal"};
            lines.push_back(fmt::format("{} entry {}", random.one_of(kHow), random.one_of(blocks)));
            break;
        }
        default:
            break;
    }
}

}  // namespace memsnap::differential
