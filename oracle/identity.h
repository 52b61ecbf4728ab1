// SPDX-License-Identifier: Apache-2.0
//
// Who made a recording, and how far it got: what the head of a file says of its process, host and job
// (WIRE.md §2). Rule: the head alone is read, so that a dormant file has one too.
#pragma once

#include <tuple>

#include "file.h"

namespace oracle {

struct Identity {
    std::array<std::byte, 16> ring_id{};
    u32 pid = 0;
    u64 pid_namespace = 0;
    u64 process_start = 0;
    u64 host = 0;  ///< 0: not known
    u32 job_source = 0;
    u64 job = 0;
    std::optional<int> rank, local_rank, world_size;
    bool superseded = false;
    bool cold = false;
    bool disarmed = false;  ///< at least once, and not armed since
    bool exited = false;
    int exit_status = 0;
    u64 head = 0;

    /// Its recording ended before it did.
    bool left_off() const { return superseded || (cold && disarmed); }
    bool shares_clock(const Identity& other) const { return host != 0 && host == other.host; }
};

/// `bytes`: the file, or its first kHeadBytes; `there_bytes`: how long the file is.
Expected<Identity> read_identity(Bytes bytes, u64 there_bytes);

/// What recordings of one job share: source, key, and of a session the host.
using JobKey = std::tuple<u32, u64, u64>;
JobKey job_key_of(const Identity& identity);

}  // namespace oracle
