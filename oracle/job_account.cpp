// SPDX-License-Identifier: Apache-2.0
//
// Asks a case what a job wants to know of it. Rule: all of it is of the device that failed, else of the one
// that most was reserved of.
#include "job_account.h"
#include "clock.h"
#include "receipt.h"

namespace oracle {
namespace {

constexpr std::size_t kRisePoints = 6;  // five pairs

Int reported(const Event& event, u64 Event::*total) {
    return event.has_totals() ? Int{event.*total} : Int{0};
}

std::optional<int> most_reserved(const File& file) {
    std::optional<int> device;
    Int most = -1;
    for (std::size_t i = 0; i < file.pinned.size(); ++i) {
        const auto& peak = file.pinned[i].peak_reserved;
        if (!peak || reported(*peak, &Event::reserved_bytes) <= most) continue;
        device = static_cast<int>(i);
        most = reported(*peak, &Event::reserved_bytes);
    }
    return device;
}

Amounts peaks_of(const File& file, int device) {
    const auto& pinned = file.pinned[static_cast<std::size_t>(device)];
    Amounts peaks;
    if (pinned.peak_allocated) peaks[kActive] = reported(*pinned.peak_allocated, &Event::allocated_bytes);
    if (pinned.peak_reserved) peaks[kReserved] = reported(*pinned.peak_reserved, &Event::reserved_bytes);
    if (pinned.peak_outside && !is_untold(file, *pinned.peak_outside))
        peaks[kOutside] = outside_of(*pinned.peak_outside);
    for (const auto& event : file.events) {
        if (is_observation(event, device))
            peaks[kDeviceUsed] = std::max(peaks[kDeviceUsed].value_or(0), less(event.size, event.link));
    }
    return peaks;
}

Json steps_document(Family family, std::size_t count, std::optional<Int> rise) {
    return Json::Object{{"family", family_name(family)}, {"point_count", u64{count}}, {"rise_bytes", rise}};
}

Json steps_of(const File& file, int device, u64 until) {
    auto points = marked_points(file, device, until);
    std::optional<Int> rise;
    if (points.list.size() >= kRisePoints)
        rise = points.list.back().active_bytes - points.list[points.list.size() - kRisePoints].active_bytes;
    return steps_document(points.family, points.list.size(), rise);
}

// Those that stand between the last two samples before the failure.
std::vector<Holder> holders_of(const Recording& recording, int device, u64 failing) {
    std::vector<Holder> since, holders;
    for (const auto& event : recording.events) {
        if (event.ticket >= failing || event.device != device) continue;
        if (event.kind == kNeighbour && !event.has(kUnavailable))
            since.push_back({static_cast<u32>(event.address), event.link});
        if (event.kind == kProcessSample) {
            holders = std::move(since);
            since.clear();
        }
    }
    std::stable_sort(holders.begin(), holders.end(),
                     [](const Holder& a, const Holder& b) { return a.bytes > b.bytes; });
    return holders;
}

Fall fall_of(const Case& c) {
    const auto& incident = *c.incident;
    const auto& failure = incident.failed.event;
    Fall fall;
    fall.ticket = failure.ticket;
    fall.in_keyframe = incident.in_keyframe;
    fall.time_ns = realtime_ns(c.file, failure.time);
    fall.external = incident.decision.primary() == kExternal;
    fall.holder_shares_job = incident.inputs.holder_shares_job;
    fall.others_bytes = incident.inputs.others_bytes;
    fall.holders = holders_of(incident.scene.recording, failure.device, failure.ticket);
    return fall;
}

Fate fate_of(const Case& c) {
    if (c.incident) return c.incident->followed ? Fate::kSurvived : Fate::kFatal;
    return c.without_evidence ? Fate::kLost : Fate::kNone;
}

std::optional<Int> last_seen(const File& file) {
    std::optional<Int> last;
    if (!file.anchors.empty()) last = file.anchors.back().realtime_ns;
    if (!file.events.empty()) last = std::max(last, realtime_ns(file, file.events.back().time));
    return last;
}

}  // namespace

Json no_steps() {
    return steps_document(Family::kNoFamily, 0, std::nullopt);
}

Expected<Account> account_of(Bytes ring, const Options& options) {
    Case c;
    if (auto made = make_case(ring, options, c); !made) return std::unexpected(made.error());
    auto identity = read_identity(ring, ring.size());
    if (!identity) return std::unexpected(identity.error());
    Account account;
    account.identity = *identity;
    account.fate = fate_of(c);
    if (!c.file.anchors.empty()) account.first_seen_ns = c.file.anchors.front().realtime_ns;
    account.last_seen_ns = last_seen(c.file);
    account.device = most_reserved(c.file);
    account.steps = no_steps();
    u64 until = kNoTicket;
    if (c.incident) {
        account.fall = fall_of(c);
        account.device = c.incident->failed.event.device;
        until = account.fall->ticket;
    }
    if (account.device) {
        account.peaks = peaks_of(c.file, *account.device);
        account.steps = steps_of(c.file, *account.device, until);
    }
    auto result = result_of(c);
    const auto& verdict = result.document["verdict"];
    account.exit_status = result.exit_code;
    account.verdict = Json::Object{{"primary", verdict["primary"]},
                                   {"qualifiers", verdict["qualifiers"]},
                                   {"exit_status", verdict["exit_status"]}};
    auto receipt = receipt_members(result);
    receipt["references"] = Json::Array();
    account.receipt = receipt_digest(receipt);
    return account;
}

}  // namespace oracle
