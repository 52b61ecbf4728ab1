// SPDX-License-Identifier: Apache-2.0
//
// Weighs. Rule: what the allocator holds and what is the process's own come from the instant; the rest of the
// card from the failure's own observation, or from the anchor's.
#include "balance.h"

namespace oracle {
namespace {

std::optional<Int> others_at(const Weighing& weighing, u64 ticket) {
    const auto* sample =
        process_sample_at(weighing.scene->recording, weighing.device, ticket, weighing.limit);
    return sample != nullptr ? std::optional(Int{sample->link}) : std::nullopt;
}

void split_as_at_failure(const Inputs& in, Balance& balance) {
    balance.active_bytes = in.active_bytes();
    balance.reusable_bytes = in.reusable_bytes;
    balance.incompatible_bytes = in.incompatible_bytes;
    balance.fragmented_bytes = in.reserved_bytes - balance.held_bytes();
}

void split(const Weighing& weighing, u64 ticket, Balance& balance) {
    const auto& scene = *weighing.scene;
    Wanted wanted;
    wanted.request_bytes = weighing.request_bytes.value_or(0);
    auto state = state_at(scene.recording, scene.lives, scene.regions, weighing.device, ticket, wanted);
    balance.active_bytes = scene.regions.sum(weighing.device, Status::kDirect, ticket);
    for (const auto* blocks : {&state.blocks, &state.deferred}) {
        for (const auto* block : *blocks)
            balance.active_bytes += block->size;
    }
    if (scene.recording.file->header.late())
        balance.active_bytes += std::max<Int>(0, scene.unseen_block_bytes(weighing.device, ticket));
    auto sums = free_sums(state, wanted.request_bytes);
    balance.reusable_bytes = sums.reusable;
    // Without a request nothing is incompatible with it.
    (weighing.request_bytes ? balance.incompatible_bytes : balance.reusable_bytes) += sums.incompatible;
    balance.fragmented_bytes = scene.held_bytes(weighing.device, ticket) - balance.held_bytes();
}

// The last observation by the instant, else the first after it; `residuals` end with the limit.
const Residual* anchor_of(const std::vector<Residual>& residuals, u64 ticket) {
    auto after = std::upper_bound(
        residuals.begin(), residuals.end(), ticket,
        [](u64 wanted, const Residual& residual) { return wanted < residual.observation->ticket; });
    if (after != residuals.begin()) return &*std::prev(after);
    return after != residuals.end() ? &*after : nullptr;
}

void attribute_by_anchor(const Weighing& weighing, Balance& balance) {
    u64 ticket = balance.instant.ticket;
    balance.others_bytes = others_at(weighing, ticket);
    const auto* anchor = anchor_of(weighing.residuals, ticket);
    if (anchor == nullptr) return;
    const auto& seen = *anchor->observation;
    balance.source = seen.ticket == ticket  ? Source::kObserved
                     : seen.ticket < ticket ? Source::kCarried
                                            : Source::kCarriedBack;
    balance.total_bytes = seen.size;
    // By the limit others are known at every instant, or at none.
    balance.unattributed_bytes = anchor->high - others_at(weighing, seen.ticket).value_or(0);
    balance.free_bytes = *balance.total_bytes - balance.held_bytes() - balance.own_bytes() -
                         balance.others_bytes.value_or(0) - *balance.unattributed_bytes;
}

void attribute_by_failure(const Inputs& in, Balance& balance) {
    balance.source = Source::kObserved;
    balance.total_bytes = in.total_bytes;
    balance.free_bytes = in.device_free_bytes;
    balance.others_bytes = in.others_bytes;
    if (!in.total_bytes) return;
    balance.unattributed_bytes = *in.total_bytes - balance.held_bytes() - balance.own_bytes() -
                                 in.others_bytes.value_or(0) - *in.device_free_bytes;
}

}  // namespace

Int Balance::own_bytes() const {
    Int bytes = 0;
    for (const auto& [library, of_library] : libraries)
        bytes += of_library;
    return bytes;
}

Weighing::Weighing(const Scene& incident, const Inputs& inputs)
    : scene(&incident),
      device(inputs.device),
      limit(inputs.ticket),
      request_bytes(*inputs.request_bytes),
      residuals(residuals_of(incident, inputs.device, inputs.ticket)),
      failing(&inputs) {}

Weighing::Weighing(const Scene& ring, int of)
    : scene(&ring),
      device(of),
      limit(ring.recording.last_ticket()),
      residuals(residuals_of(ring, of, limit)) {}

Balance Weighing::at(const Instant& instant) const {
    Balance balance;
    balance.device = device;
    balance.instant = instant;
    auto applied = instant.applied();
    for (const auto& piece : scene->pieces.outside) {
        if (applied && piece.device == device && piece.there_at(*applied))
            balance.libraries[piece.library] += piece.bytes;
    }
    bool fails = fails_at(instant.ticket);
    if (fails) {
        split_as_at_failure(*failing, balance);
    } else if (applied) {
        split(*this, *applied, balance);
    }
    if (fails && failing->device_free_bytes) {
        attribute_by_failure(*failing, balance);
    } else {
        attribute_by_anchor(*this, balance);
    }
    return balance;
}

}  // namespace oracle
