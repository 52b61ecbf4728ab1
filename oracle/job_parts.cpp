// SPDX-License-Identifier: Apache-2.0
//
// The first failure, and then a role for each process. Rule: the table of roles in VERDICT.md §17, first
// row that fits.
#include "job_parts.h"

namespace oracle {
namespace {

constexpr Int kSharedClockNs = 1'000'000;

class Settling {
  public:
    Settling(const std::vector<Account>& members, Int clocks_within_ns, const std::vector<Sight>& sights)
        : members_(members), clocks_within_ns_(clocks_within_ns), sights_(sights) {}

    Parts settle() {
        choose_failing();
        choose_first();
        for (std::size_t process = 0; process < members_.size(); ++process)
            parts_.all.push_back(part_of(process));
        return std::move(parts_);
    }

  private:
    void choose_failing() {
        failing_.resize(members_.size());
        auto mark = [&](Fate least) {
            bool any = false;
            for (std::size_t process = 0; process < members_.size(); ++process) {
                failing_[process] = members_[process].fate >= least;
                any = any || failing_[process];
            }
            return any;
        };
        if (!mark(Fate::kLost)) mark(Fate::kSurvived);
    }

    void choose_first() {
        for (std::size_t process = 0; process < members_.size(); ++process) {
            if (!failing_[process]) continue;
            auto at = members_[process].failed_ns();
            if (!parts_.first) {
                parts_.first = First{process, {}, false};
            } else if (auto earliest = members_[parts_.first->process].failed_ns();
                       at && (!earliest || *at < *earliest)) {
                parts_.first->process = process;
            }
        }
        for (std::size_t process = 0; process < members_.size(); ++process) {
            if (!failing_[process] || process == parts_.first->process) continue;
            if (!share_clock(process, parts_.first->process)) parts_.first->clocks_compared = true;
            if (order_of(process, members_[process].failed_ns()) == Order::kNotTold)
                parts_.first->rivals.push_back(process);
        }
    }

    bool share_clock(std::size_t a, std::size_t b) const {
        return a == b || members_[a].identity.shares_clock(members_[b].identity);
    }

    // Of an instant of a process against the first failure.
    Order order_of(std::size_t process, std::optional<Int> instant_ns) const {
        if (!parts_.first) return Order::kNone;
        auto first_ns = members_[parts_.first->process].failed_ns();
        if (!instant_ns || !first_ns) return Order::kNotTold;
        Int within = share_clock(process, parts_.first->process) ? kSharedClockNs : clocks_within_ns_;
        Int later = *instant_ns - *first_ns;
        return later > within ? Order::kAfter : -later > within ? Order::kBefore : Order::kNotTold;
    }
    Order order_of_last_sign(std::size_t process) const {
        return order_of(process, members_[process].last_seen_ns);
    }
    // Of one that died in silence: the sign of life after its last one did not come.
    Order order_of_death(std::size_t process) const {
        auto earliest = order_of_last_sign(process);
        if (earliest == Order::kNone || earliest == Order::kAfter) return earliest;
        auto latest = members_[process].last_seen_ns;
        if (latest) *latest += kSignOfLifeNs;
        return order_of(process, latest) == Order::kBefore ? Order::kBefore : Order::kNotTold;
    }

    Part part_of(std::size_t process) const {
        const auto& member = members_[process];
        const auto& who = member.identity;
        if (member.is_head_alone())
            return {member.error == kExitDormant ? "dormant" : "unreadable", Order::kNone, {}};
        if (failing_[process]) return failing_part(process);
        if (who.exited) {
            auto order = order_of_last_sign(process);
            bool followed = who.exit_status != 0 && order == Order::kAfter;
            return {followed ? "followed" : "ended", order, {}};
        }
        if (who.left_off()) return {"disarmed", Order::kNone, {}};
        switch (process < sights_.size() ? sights_[process] : Sight::kOutOfSight) {
            case Sight::kRuns:
                return {"running", Order::kNone, {}};
            case Sight::kGone: {
                auto order = order_of_death(process);
                return {order == Order::kAfter ? "followed" : "killed", order, {}};
            }
            case Sight::kOutOfSight:
                break;
        }
        auto order = order_of_last_sign(process);
        return {"no_end_seen", order == Order::kBefore ? Order::kNotTold : order, {}};
    }

    Part failing_part(std::size_t process) const {
        const auto& member = members_[process];
        bool is_first = process == parts_.first->process;
        Part part{is_first && parts_.first->is_told() ? "failed_first" : "failed",
                  is_first ? Order::kNone : order_of(process, member.failed_ns()),
                  {}};
        if (!member.fall) return part;
        Int held_bytes = 0;
        for (const auto& holder : member.fall->holders) {
            auto other = process_of(holder.pid, process);
            if (!other) continue;
            part.held_by.push_back({*other, holder.bytes});
            held_bytes += holder.bytes;
        }
        const auto& others = member.fall->others_bytes;
        bool by_job = others && held_bytes > 0 && 2 * held_bytes >= *others;
        if (member.fall->external && (by_job || member.fall->holder_shares_job)) part.role = "victim";
        return part;
    }

    // Numbers mean something in one pid namespace of one host.
    std::optional<std::size_t> process_of(u32 pid, std::size_t asking) const {
        for (std::size_t process = 0; process < members_.size(); ++process) {
            const auto &who = members_[process].identity, &asks = members_[asking].identity;
            if (process != asking && who.pid == pid && who.shares_clock(asks) &&
                who.pid_namespace == asks.pid_namespace)
                return process;
        }
        return std::nullopt;
    }

    const std::vector<Account>& members_;
    const Int clocks_within_ns_;
    const std::vector<Sight>& sights_;
    std::vector<bool> failing_;
    Parts parts_;
};

}  // namespace

std::string_view order_name(Order order) {
    switch (order) {
        case Order::kBefore:
            return "before";
        case Order::kAfter:
            return "after";
        case Order::kNotTold:
            return "untold";
        case Order::kNone:
            break;
    }
    return "none";
}

Parts parts_of(const std::vector<Account>& members, Int clocks_within_ns, const std::vector<Sight>& sights) {
    return Settling(members, clocks_within_ns, sights).settle();
}

}  // namespace oracle
