// SPDX-License-Identifier: Apache-2.0
//
// A job as a walk of random acts.
#include "natural.h"

#include <fmt/format.h>

#include <algorithm>

#include "allocator_model.h"
#include "random.h"
#include "rewriting.h"

namespace memsnap::differential {

namespace {

struct Held {
    Block block;
    unsigned thread = 1;
};

class Walk {
  public:
    explicit Walk(const Plan& plan) : plan_(plan), random_(plan.seed) {
        lines_.header(fmt::format(
            "ring_records={} keyframe_records=64 table_entries=160 keyframe_entries=160", plan.ring_records));
        if (plan.expandable) lines_.header("expandable");
        lines_.add("library_entry 3 role=program");
        lines_.add("library_entry 4 role=torch");
        const size_t count = plan.second_device ? 2 : 1;
        cards_.reserve(count);
        for (size_t i = 0; i < count; ++i) {
            cards_.push_back({plan.card_bytes / (i + 1), random_.between(20, 200) * kMiB});
            ModelOptions options{plan.expandable, plan.tap};
            options.base_address += i << 41;
            options.segment_gap_bytes = random_.one_in(4) ? 0 : 4 * kMiB;
            models_.emplace_back(lines_, cards_[i], options);
            held_.emplace_back();
        }
    }

    std::vector<std::string> run() {
        for (unsigned i = 0; i < plan_.natural_events; ++i)
            act();
        if (plan_.end.exit_status) lines_.exit(*plan_.end.exit_status);
        return lines_.lines();
    }

  private:
    void act() {
        const size_t device = random_.below(models_.size());
        Actor who{static_cast<int>(device), 1 + static_cast<unsigned>(random_.below(3)), 0, 0};
        const uint64_t chance = random_.below(100);
        if (chance < 44) {
            allocate(device, who);
        } else if (chance < 74) {
            free_one(device, who);
        } else if (chance < 78) {
            models_[device].complete_deferred(who);
        } else if (chance < 82) {
            lines_.device_sample(who, cards_[device].total_bytes, models_[device].free_on_card_bytes());
        } else if (chance < 85) {
            others_ = random_.below(cards_[device].total_bytes / 16);
            lines_.process_sample(who, models_[device].reserved_bytes(), others_);
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
            lines_.add(fmt::format("note batch {}", random_.below(3)));
        } else {
            ranges(who);
        }
    }

    void allocate(size_t device, Actor who) {
        who.site = random_.below(6);
        const uint64_t scales[] = {4 * kKiB, 300 * kKiB, kMiB, 3 * kMiB, 11 * kMiB, 60 * kMiB};
        BlockRequest request{who, random_.one_of(scales) + random_.below(9) * kGranule_bytes, 0, 0};
        if (random_.one_in(8)) request.stream = 7;
        if (random_.one_in(8)) request.pool = 1;
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

    // Another library's memory, or its refusal.
    void use_library(size_t device, Actor who) {
        who.library = 3 + static_cast<unsigned>(random_.below(3));
        const uint64_t bytes = random_.between(1, 30) * kMiB;
        if (models_[device].free_on_card_bytes() < bytes || random_.one_in(6)) {
            lines_.refused(who, "cudaMalloc", bytes, false);
            return;
        }
        constexpr std::string_view kCalls[] = {"cudaMalloc", "cudaMallocAsync", "cudaMallocHost",
                                               "cudaMallocManaged", "cuMemCreate"};
        const std::string name = lines_.fresh('f');
        const std::string_view call = random_.one_of(kCalls);
        lines_.foreign(name, who, call, bytes);
        if (call != "cudaMallocHost" && call != "cudaMallocManaged") cards_[device].outside_bytes += bytes;
        if (random_.one_in(2)) return;
        lines_.release_foreign(name, who);
        if (call != "cudaMallocHost" && call != "cudaMallocManaged") cards_[device].outside_bytes -= bytes;
    }

    void ranges(const Actor& who) {
        constexpr std::string_view kFamilies[] = {"range", "optimizer", "module"};
        lines_.begin_range(who, random_.one_of(kFamilies), random_.one_in(2) ? "a_1" : "b");
        if (random_.one_in(2)) act();
        lines_.end_range(who);
    }

    const Plan& plan_;
    Random random_;
    EventLines lines_;
    std::vector<Card> cards_;
    std::vector<AllocatorModel> models_;
    std::vector<std::vector<Held>> held_;
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
