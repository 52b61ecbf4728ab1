// SPDX-License-Identifier: Apache-2.0
//
// Two multisets an act, filled by both witnesses.
#include "check_cupti.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "window_builder.h"

namespace memsnap {
namespace {

constexpr uint16_t kAllocation = 1;
constexpr uint16_t kRelease = 2;
// CUPTI's memory kinds that are memory of a device asked for by a call: device, array, managed.
constexpr std::array<uint64_t, 3> kComparedKinds = {3, 4, 5};

bool is_compared(Object object, uint64_t size_bytes) {
    const bool of_device = object == Object::device || object == Object::managed || object == Object::async ||
                           object == Object::array;
    return of_device && size_bytes != 0;
}

// Why one of the witnesses cannot have told everything.
std::vector<std::string> reasons(const Capture& capture) {
    const WindowFacts& facts = capture.window.facts;
    std::vector<std::string> list;
    if (capture.window.events.begin_ticket() != 0) list.emplace_back("the ring went round");
    for (size_t i = 0; i < kUncertaintyCount; ++i) {
        if (facts.uncertain[i]) list.emplace_back(name(static_cast<Uncertainty>(i)));
    }
    if (!capture.header.exit_ticket) list.emplace_back("no exit seen");
    return list;
}

}  // namespace

struct CuptiComparison::Sums {
    std::array<uint64_t, 2> both = {};  // allocations, releases
    uint64_t only_ours_count = 0;       // between acts that both saw
    uint64_t before_count = 0;          // of them: before all that CUPTI saw
    uint64_t after_count = 0;           // and after it
    uint64_t only_cupti_count = 0;
    uint64_t first_ticket = kNoTicket;  // of a difference
    std::string first_difference;
};

void CuptiComparison::operator()(const Event& event, const Ledger&, const Change& change) {
    if (event.kind == Kind::cupti_memory) return take_record(event);
    if (event.kind == Kind::ok && is_birth(event) && is_compared(object_of(event), event.size_bytes))
        allocations_[{event.address, event.size_bytes}].ours.push_back(event.ticket);
    if (change.object == nullptr || !is_compared(change.object->object, change.object->size_bytes)) return;
    std::vector<uint64_t>& released = releases_[{event.address, change.object->size_bytes}].ours;
    if (event.kind == Kind::free) {
        released.push_back(event.ticket);
    } else if (!released.empty()) {
        released.pop_back();  // it was refused
    }
}

void CuptiComparison::take_record(const Event& event) {
    ++record_count_;
    const bool compared = std::ranges::find(kComparedKinds, event.extra) != kComparedKinds.end();
    if (!compared || (event.code != kAllocation && event.code != kRelease)) return;
    Told& told = (event.code == kAllocation ? allocations_ : releases_)[{event.address, event.size_bytes}];
    ++told.cupti_count;
    told.cupti_ticket = std::min(told.cupti_ticket, event.ticket);
}

CuptiComparison::Sums CuptiComparison::compared() const {
    uint64_t from = kNoTicket, to = 0;  // ours that CUPTI saw for certain
    for (const Acts* acts : {&allocations_, &releases_}) {
        for (const auto& [key, told] : *acts) {
            if (told.ours.empty() || told.ours.size() != told.cupti_count) continue;
            from = std::min(from, told.ours.front());
            to = std::max(to, told.ours.back());
        }
    }
    Sums sums;
    for (const Acts* acts : {&allocations_, &releases_}) {
        const bool released = acts == &releases_;
        for (const auto& [key, told] : *acts) {
            const uint64_t both = std::min<uint64_t>(told.ours.size(), told.cupti_count);
            const uint64_t only_ours = told.ours.size() - both;
            const auto before = static_cast<uint64_t>(
                std::ranges::count_if(told.ours, [&](uint64_t ticket) { return ticket < from; }));
            const auto after = static_cast<uint64_t>(std::ranges::count_if(
                told.ours, [&](uint64_t ticket) { return ticket > to && ticket >= from; }));
            const uint64_t alone_before = std::min(only_ours, before);
            const uint64_t alone_after = std::min(only_ours - alone_before, after);
            const uint64_t alone_between = only_ours - alone_before - alone_after;
            sums.both[released] += both;
            sums.before_count += alone_before;
            sums.after_count += alone_after;
            sums.only_ours_count += alone_between;
            sums.only_cupti_count += told.cupti_count - both;
            if (told.cupti_count == both && alone_between == 0) continue;
            const uint64_t ticket = told.ours.empty() ? told.cupti_ticket : told.ours.front();
            if (ticket >= sums.first_ticket) continue;
            sums.first_ticket = ticket;
            sums.first_difference = fmt::format("{} of {} bytes at {:#x}: {} recorded, {} by CUPTI",
                                                released ? "release" : "allocation", key.second, key.first,
                                                told.ours.size(), told.cupti_count);
        }
    }
    return sums;
}

Result<std::string> CuptiComparison::result(const Capture& capture) const {
    if (record_count_ == 0) return std::string();
    const std::vector<std::string> why = reasons(capture);
    const Sums sums = compared();
    if (!sums.first_difference.empty() && why.empty()) {
        return failure(Error{.code = ErrorCode::disagreed,
                             .file = capture.path,
                             .offset_bytes = std::nullopt,
                             .ticket = sums.first_ticket,
                             .rule = "cupti_differs",
                             .detail = sums.first_difference,
                             .way_out = ""});
    }
    std::string text =
        fmt::format("    CUPTI agrees on {} allocations and {} releases\n", sums.both[0], sums.both[1]);
    if (sums.before_count + sums.after_count != 0) {
        text += fmt::format("    not compared: {} before CUPTI started, {} after its last record\n",
                            sums.before_count, sums.after_count);
    }
    if (!why.empty()) {
        text += fmt::format("    partial ({}): {} only recorded, {} only by CUPTI\n", fmt::join(why, ", "),
                            sums.only_ours_count, sums.only_cupti_count);
    }
    return text;
}

}  // namespace memsnap
