// SPDX-License-Identifier: Apache-2.0
//
// Fields of the header. Rule: what it does not state, or states as no number of that list, is not known.
#include "identity.h"

#include <cstring>

namespace oracle {
namespace {

constexpr u32 kSessionSource = 2;
constexpr u32 kRecording = 0;
constexpr u32 kStandby = 2;

std::optional<int> unless_negative(u32 word) {
    auto number = static_cast<int>(word);
    return number < 0 ? std::nullopt : std::optional(number);
}

}  // namespace

Expected<Identity> read_identity(Bytes bytes, u64 there_bytes) {
    auto header = decode_header(bytes, there_bytes);
    if (!header && header.error().exit_code != kExitDormant) return std::unexpected(header.error());
    Identity identity;
    std::memcpy(identity.ring_id.data(), bytes.data() + 32, identity.ring_id.size());
    identity.pid = integer32(bytes, 240);
    identity.rank = unless_negative(integer32(bytes, 252));
    identity.local_rank = unless_negative(integer32(bytes, 256));
    identity.world_size = unless_negative(integer32(bytes, 260));
    identity.process_start = integer64(bytes, 264);
    identity.pid_namespace = integer64(bytes, 272);
    identity.job = integer64(bytes, 280);
    u32 source = integer32(bytes, 288);
    identity.job_source = source > kSessionSource ? 0 : source;
    u32 state = integer32(bytes, 316);
    identity.cold = state != kRecording && state != kStandby;
    identity.superseded = integer32(bytes, 372) != 0;
    identity.host = integer64(bytes, 376);
    identity.disarmed = integer64(bytes, 416) != 0;
    identity.head = integer64(bytes, 512);
    identity.exited = integer64(bytes, 712) != 0;
    identity.exit_status = static_cast<int>(integer32(bytes, 720));
    return identity;
}

JobKey job_key_of(const Identity& identity) {
    bool of_host = identity.job_source == kSessionSource;
    return {identity.job_source, identity.job, of_host ? identity.host : 0};
}

}  // namespace oracle
