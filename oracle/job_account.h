// SPDX-License-Identifier: Apache-2.0
//
// What one recording tells of its process (VERDICT.md §17). Rule: it is read alone, and nothing of another
// one changes it.
#pragma once

#include "examine.h"
#include "identity.h"

namespace oracle {

/// The ledgers that processes of a job are compared by.
enum Ledger : std::size_t {
    kActive,
    kReserved,
    kOutside,
    kDeviceUsed,
    kLedgers
};
inline constexpr std::array<std::string_view, kLedgers> kLedgerNames{"active", "reserved", "outside",
                                                                     "device_used"};
using Amounts = std::array<std::optional<Int>, kLedgers>;

/// By weight: of several recordings of a process the heaviest is shown.
enum class Fate : u8 {
    kHeadAlone,
    kNone,
    kSurvived,
    kLost,
    kFatal
};

struct Holder {
    u32 pid = 0;
    u64 bytes = 0;
};

/// The failure that the incident is.
struct Fall {
    u64 ticket = 0;
    bool in_keyframe = false;
    std::optional<Int> time_ns;
    bool external = false;  ///< is primary
    bool holder_shares_job = false;
    std::optional<Int> others_bytes;
    std::vector<Holder> holders;  ///< most bytes first
};

struct Account {
    std::size_t recording = 0;  ///< which of the job's
    Identity identity;
    Fate fate = Fate::kHeadAlone;
    int error = 0;  ///< exit code of a head alone
    std::optional<Int> first_seen_ns, last_seen_ns;
    std::optional<int> device;
    std::optional<Fall> fall;
    Json verdict;
    int exit_status = 0;  ///< of the verdict
    Amounts peaks;
    Json steps;
    Json receipt;  ///< its digest
    u64 earlier_count = 0;

    bool is_head_alone() const { return fate == Fate::kHeadAlone; }
    std::optional<Int> failed_ns() const { return fall ? fall->time_ns : std::nullopt; }
};

/// The steps of a process of which nothing is known.
Json no_steps();
/// Errors are those of `examine`.
Expected<Account> account_of(Bytes ring, const Options& options);

}  // namespace oracle
