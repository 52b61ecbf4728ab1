// SPDX-License-Identifier: Apache-2.0
//
// Each balance on its own, then against the members that say the same of the failing instant.
#include "receipt_balance.h"

#include <algorithm>

#include "measure.h"

namespace memsnap {
namespace {

constexpr std::string_view kPlace = "evidence.holders";

Wide number(const JsonValue& value) {
    return integer_of(value).value_or(0);
}

class BalanceRules {
  public:
    explicit BalanceRules(const JsonValue& receipt)
        : capture_(receipt["capture"]),
          evidence_(receipt["evidence"]),
          holders_(evidence_["holders"]),
          incident_(!evidence_["failure"].IsNull()) {}

    std::string run() {
        if (incident_) {
            check_incident();
        } else {
            check_devices();
        }
        for (const JsonValue& balance : holders_.GetArray()) {
            if (problem_.empty()) check_balance(balance);
        }
        if (problem_.empty() && incident_) check_failure(holders_[1]);
        return problem_;
    }

  private:
    void need(bool holds, std::string_view rule) {
        if (!holds && problem_.empty()) problem_ = std::string(kPlace) + ": " + std::string(rule);
    }

    static bool is(const JsonValue& balance, std::string_view instant, const JsonValue& device, Wide ticket) {
        return text_of(balance["instant"]) == instant && number(balance["device"]) == number(device) &&
               number(balance["ticket"]) == ticket;
    }

    void check_incident() {
        const JsonValue& failure = evidence_["failure"];
        need(holders_.Size() == 2 &&
                 is(holders_[0], "peak", failure["device"], number(evidence_["peak"]["active_ticket"])) &&
                 is(holders_[1], "failure", failure["device"], number(failure["ticket"])),
             "are of the peak and of the failure");
    }

    void check_devices() {
        const JsonValue& shapes = evidence_["shapes"];
        const bool lost = number(evidence_["lost_failure_count"]) != 0;
        need(holders_.Size() == (lost ? 0 : 2 * shapes.Size()), "are two of each device");
        const Wide last = number(capture_["end_ticket"]) - 1;
        for (rapidjson::SizeType at = 0; problem_.empty() && at < holders_.Size(); ++at) {
            const bool peak = at % 2 == 0;
            const JsonValue& device = shapes[at / 2]["device"];
            need(is(holders_[at], peak ? "peak" : "end", device,
                    peak ? number(holders_[at]["ticket"]) : last) &&
                     number(holders_[at]["ticket"]) >= (peak ? number(capture_["first_ticket"]) : last) &&
                     number(holders_[at]["ticket"]) <= std::max(last, number(capture_["first_ticket"])),
                 "are of the peak and of the end of each device");
        }
    }

    void check_balance(const JsonValue& balance) {
        const std::string_view source = text_of(balance["source"]);
        const bool known = source != "unknown" && !free_alone(balance);
        need(known || balance["free_bytes"].IsNull() != free_alone(balance), "free bytes have a source");
        for (const char* name : {"total_bytes", "unattributed_bytes"})
            need(balance[name].IsNull() != known, "total, unattributed and free are known by one source");
        need(!known || !balance["free_bytes"].IsNull(),
             "total, unattributed and free are known by one source");
        need(source != "carried_back" || text_of(balance["instant"]) == "peak",
             "nothing is carried back to the last instant");
        if (!known) return;
        Wide sum = 0;
        for (const char* name :
             {"active_bytes", "reusable_free_bytes", "fragmented_free_bytes", "incompatible_free_bytes",
              "others_bytes", "unattributed_bytes", "free_bytes"})
            sum += number(balance[name]);
        for (const JsonValue& held : balance["libraries"].GetArray())
            sum += number(held["bytes"]);
        need(sum == number(balance["total_bytes"]), "the parts do not add up to the card");
    }

    // At the failing instant the allocator may have told what was free of a card whose size nobody told.
    bool free_alone(const JsonValue& balance) const {
        return incident_ && text_of(balance["source"]) == "observed" &&
               number(balance["ticket"]) == number(evidence_["failure"]["ticket"]) &&
               evidence_["ledgers"]["total_bytes"].IsNull();
    }

    // What stands elsewhere, too.
    void check_failure(const JsonValue& balance) {
        need(std::ranges::equal(balance["libraries"].GetArray(), evidence_["libraries"].GetArray(),
                                [](const JsonValue& a, const JsonValue& b) {
                                    return a["library"] == b["library"] && a["bytes"] == b["bytes"];
                                }),
             "the libraries at the failure are those of the evidence");
        const JsonValue& ledgers = evidence_["ledgers"];
        const auto same = [&](const char* name, const JsonValue& other) {
            return balance[name] == other[name];
        };
        need(same("reusable_free_bytes", ledgers) && same("incompatible_free_bytes", ledgers),
             "the holes at the failure are those of the ledgers");
        if (ledgers["device_free_bytes"].IsNull()) return;
        need(text_of(balance["source"]) == "observed" && same("total_bytes", ledgers) &&
                 balance["free_bytes"] == ledgers["device_free_bytes"] &&
                 same("others_bytes", evidence_["outside"]),
             "what was observed at the failure is that of the ledgers");
    }

    const JsonValue& capture_;
    const JsonValue& evidence_;
    const JsonValue& holders_;
    bool incident_;
    std::string problem_;
};

}  // namespace

std::string broken_balance_rule(const JsonValue& receipt) {
    return BalanceRules(receipt).run();
}

}  // namespace memsnap
