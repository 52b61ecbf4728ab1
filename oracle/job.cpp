// SPDX-License-Identifier: Apache-2.0
//
// Reads the recordings and writes the receipt. Rule: the digest is of everything but itself and the times.
#include "job.h"

#include <new>

#include "job_levels.h"
#include "job_members.h"
#include "receipt.h"

namespace oracle {
namespace {

Account head_alone(const Identity& identity, int error) {
    Account account;
    account.identity = identity;
    account.error = error;
    account.steps = no_steps();
    return account;
}

// An exit code where not even the head can be read.
std::expected<Account, int> read_account(const JobRecording& recording) try {
    auto copy = recording.copy();
    if (!copy && !recording.identity) return std::unexpected(kExitIo);
    if (!copy) return head_alone(*recording.identity, kExitIo);
    auto account = account_of(copy->bytes, copy->options());
    if (account) return std::move(*account);
    int error = account.error().exit_code;
    if (!recording.identity) return std::unexpected(error);
    return head_alone(*recording.identity, error);
} catch (const std::bad_alloc&) {
    if (!recording.identity) return std::unexpected(kExitIo);
    return head_alone(*recording.identity, kExitIo);
}

class JobReading {
  public:
    JobReading(const JobFiles& files, const Stated& stated) : files_(files), stated_(stated) {}

    Json receipt() {
        read_members();
        parts_ = parts_of(members_, stated_.clocks_within_ns, stated_.sights);
        if (parts_.first) instant_ns_ = members_[parts_.first->process].failed_ns();
        base_ns_ = instant_ns_ ? instant_ns_ : first_sign();
        read_levels();
        Json::Object members{{"schema", "memsnap.job.v1"},
                             {"job", job()},
                             {"first", first()},
                             {"instant", instant_ns_ ? "failure" : "peak"},
                             {"processes", processes()},
                             {"skew", skew_of(levels_)},
                             {"exit_status", exit_status()},
                             {"removed_fields", removed_fields()}};
        auto digest = sha256_hex(Json(members).canonical());
        members["times"] = Json::Object{{"instant_unix_ns", base_ns_}};
        members["digest"] = Json::Object{{"algorithm", "sha256"}, {"job", digest}};
        return members;
    }

  private:
    void read_members() {
        std::vector<Account> accounts;
        for (std::size_t i = 0; i < files_.recordings.size(); ++i) {
            auto account = read_account(files_.recordings[i]);
            if (!account) {
                unread_.push_back(account.error());
                continue;
            }
            account->recording = i;
            accounts.push_back(std::move(*account));
        }
        members_ = members_of(std::move(accounts), unread_);
        unread_.insert(unread_.end(), files_.unread.begin(), files_.unread.end());
    }

    std::optional<Int> first_sign() const {
        std::optional<Int> first;
        for (const auto& member : members_) {
            if (auto seen = member.first_seen_ns) first = std::min(first.value_or(*seen), *seen);
        }
        return first;
    }

    void read_levels() {
        for (std::size_t process = 0; process < members_.size(); ++process)
            levels_.push_back(instant_ns_ ? levels_of(process) : Levels{members_[process].peaks, {}});
    }

    // What cannot be read a second time has none.
    Levels levels_of(std::size_t process) const try {
        const auto& member = members_[process];
        if (member.is_head_alone()) return {};
        auto copy = files_.recordings[member.recording].copy();
        if (!copy) return {};
        auto file = decode(copy->bytes, copy->head_after);
        if (!file) return {};
        return process == parts_.first->process ? levels_at_failure(*file, member)
                                                : levels_at(*file, member, *instant_ns_);
    } catch (const std::bad_alloc&) {
        return {};
    }

    Json job() const {
        auto ranks = count_ranks(members_);
        Json::Array missing;
        for (auto [from, to] : ranks.missing)
            missing.emplace_back(Json::Object{{"first_rank", from}, {"last_rank", to}});
        auto hosts = number_hosts(members_);
        u64 host_count = hosts.empty() ? 0 : *std::max_element(hosts.begin(), hosts.end());
        return Json::Object{{"process_count", u64{members_.size()}},
                            {"unread_count", u64{unread_.size()}},
                            {"host_count", host_count},
                            {"world_size", ranks.world_size},
                            {"rank_count", ranks.count},
                            {"missing", std::move(missing)},
                            {"clocks_within_ns", stated_.clocks_within_ns}};
    }

    Json first() const {
        if (!parts_.first) return {};
        Json::Array rivals;
        for (auto rival : parts_.first->rivals)
            rivals.emplace_back(u64{rival + 1});
        return Json::Object{{"process", u64{parts_.first->process + 1}},
                            {"told", parts_.first->is_told()},
                            {"rivals", std::move(rivals)},
                            {"clocks_compared", parts_.first->clocks_compared}};
    }

    Json processes() const {
        auto hosts = number_hosts(members_);
        Json::Array rows;
        for (std::size_t process = 0; process < members_.size(); ++process) {
            auto row = row_of(process);
            row["host"] = hosts[process];
            rows.emplace_back(std::move(row));
        }
        return rows;
    }

    Json::Object row_of(std::size_t process) const {
        const auto& member = members_[process];
        const auto& who = member.identity;
        const auto& part = parts_.all[process];
        Json::Array held_by;
        for (const auto& holder : part.held_by)
            held_by.emplace_back(Json::Object{{"process", u64{holder.process + 1}}, {"bytes", holder.bytes}});
        auto levels = amounts(levels_[process].bytes);
        levels["observation_age_ns"] = levels_[process].observation_age_ns;
        return {{"process", u64{process + 1}},
                {"rank", who.rank},
                {"local_rank", who.local_rank},
                {"role", part.role},
                {"order", order_name(part.order)},
                {"incident", incident_word(member.fate)},
                {"verdict", member.verdict},
                {"device", member.device},
                {"failed_ns", after_base(member.failed_ns())},
                {"first_seen_ns", after_base(member.first_seen_ns)},
                {"last_seen_ns", after_base(member.last_seen_ns)},
                {"exit_seen", who.exited},
                {"exit_status", who.exited ? Json(who.exit_status) : Json()},
                {"earlier_count", member.earlier_count},
                {"held_by", std::move(held_by)},
                {"levels", std::move(levels)},
                {"peaks", amounts(member.peaks)},
                {"steps", member.steps},
                {"receipt", member.receipt}};
    }

    static Json::Object amounts(const Amounts& amounts) {
        Json::Object members;
        for (std::size_t ledger = 0; ledger < kLedgers; ++ledger)
            members.emplace(std::string(kLedgerNames[ledger]) + "_bytes", amounts[ledger]);
        return members;
    }

    static std::string_view incident_word(Fate fate) {
        switch (fate) {
            case Fate::kSurvived:
                return "survived";
            case Fate::kFatal:
                return "fatal";
            case Fate::kLost:
                return "lost";
            case Fate::kHeadAlone:
            case Fate::kNone:
                break;
        }
        return "none";
    }

    Json after_base(std::optional<Int> time_ns) const {
        return time_ns && base_ns_ ? Json(*time_ns - *base_ns_) : Json();
    }

    int exit_status() const {
        if (parts_.first) return members_[parts_.first->process].exit_status;
        std::vector<int> errors;
        for (const auto& member : members_) {
            if (!member.is_head_alone()) return 0;
            errors.push_back(member.error);
        }
        errors.insert(errors.end(), unread_.begin(), unread_.end());
        if (errors.empty()) return 0;
        auto wrong =
            std::find_if(errors.begin(), errors.end(), [](int error) { return error != kExitDormant; });
        return wrong == errors.end() ? kExitDormant : *wrong;
    }

    const JobFiles& files_;
    const Stated& stated_;
    std::vector<int> unread_;
    std::vector<Account> members_;
    Parts parts_;
    std::vector<Levels> levels_;
    std::optional<Int> instant_ns_, base_ns_;
};

}  // namespace

Options Copy::options() const {
    Options options;
    options.head_after = head_after;
    if (sidecar) options.sidecar = *sidecar;
    return options;
}

Json job_receipt(const JobFiles& files, const Stated& stated) {
    return JobReading(files, stated).receipt();
}

Json job_document(const Json& receipt) {
    auto document = *without(receipt, {"times", "removed_fields", "digest"}).object();
    document["schema"] = "memsnap.oracle.job.v1";
    return document;
}

}  // namespace oracle
