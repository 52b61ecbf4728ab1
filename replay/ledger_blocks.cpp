// SPDX-License-Identifier: Apache-2.0
//
// Blocks of PyTorch's caching allocator, its own totals, and what the torch tap adds to them. The rule: a
// record that contradicts the state names the first rule it breaks, and then wins.
#include <algorithm>
#include <utility>

#include "ledger.h"

namespace memsnap {

namespace {

constexpr uint64_t kSizeLimit_bytes = uint64_t{1} << 60;  // beyond it a size is a negative number

// Modulo 2^64: neither the file's numbers nor their differences are known to be small.
int64_t difference(uint64_t a, uint64_t b) {
    return static_cast<int64_t>(a - b);
}

}  // namespace

bool has_block_size(const Block& block) {
    return block.size_bytes != 0 && block.size_bytes % kGranule_bytes == 0 &&
           block.size_bytes < kSizeLimit_bytes && block.address <= ~block.size_bytes;
}

std::optional<Rule> Ledger::block_alloc(const Event& event, Change& change) {
    Block block;
    block.address = event.address;
    block.size_bytes = event.size_bytes;
    block.birth_ticket = event.ticket;
    block.site = event.site();
    block.step = step_count_;
    block.phase = phase_on(event.thread);
    block.thread = event.thread;
    block.device = event.device;
    take_request(block);
    const auto broken = add_block(block, &change.born);
    const auto totals = take_totals(event);
    return broken ? broken : totals;
}

// What was requested is told right before a birth, and of that birth alone.
void Ledger::take_request(Block& born) {
    if (born.device < 0) return;
    auto& requested = states_[static_cast<size_t>(born.device)].requested_bytes;
    const auto found = requested.find(born.address);
    if (found == requested.end()) return;
    born.requested_bytes = found->second;
    born.told = true;
    requested.erase(found);
    --pending_request_count_;
}

std::optional<Rule> Ledger::add_block(const Block& block, const Block** entered) {
    if (!has_block_size(block)) return Rule::block_size;
    std::optional<Rule> broken;
    auto where = blocks_.place(block.address);
    for (;; where = blocks_.place(block.address)) {
        const Block* other = nullptr;
        if (where.before != nullptr && where.before->end() > block.address) other = where.before;
        if (other == nullptr && where.after != nullptr && where.after_key < block.end()) other = where.after;
        if (other == nullptr) break;
        if (!broken) broken = other->address == block.address ? Rule::block_live_twice : Rule::block_overlap;
        remove_block(blocks_.place(other->address));
    }
    const Block& added = blocks_.insert(where, block.address, block);
    if (entered != nullptr) *entered = &added;
    if (block.device >= 0) {
        DeviceTotals& totals = totals_[static_cast<size_t>(block.device)];
        totals.allocated_bytes += block.size_bytes;
        ++totals.block_count;
    }
    Segment* const segment = segments_.at_or_before(block.address);
    if (segment == nullptr || block.address >= segment->end()) return broken;
    if (block.end() > segment->end() && !broken) broken = Rule::block_outside_segment;
    segment->largest_block_bytes = std::max(segment->largest_block_bytes, block.size_bytes);
    if (segment->state != SegmentState::segment) {
        account(*segment, false);
        if (segment->device < 0) segment->device = block.device;
        segment->state = SegmentState::segment;
        account(*segment, true);
    }
    return broken;
}

Block Ledger::remove_block(const AddressTable<Block>::Place& where) {
    const Block removed = *where.before;
    blocks_.erase(where);
    if (removed.device >= 0) {
        DeviceTotals& totals = totals_[static_cast<size_t>(removed.device)];
        totals.allocated_bytes -= removed.size_bytes;
        --totals.block_count;
        count_category(removed, false);
    }
    return removed;
}

std::optional<Rule> Ledger::block_free(const Event& event, Change& change) {
    std::optional<Rule> broken;
    const uint64_t birth = event.birth_ticket();
    const auto where = blocks_.place(event.address);
    const Block* const block =
        where.before != nullptr && where.before_key == event.address ? where.before : nullptr;
    if (birth != kNoTicket && birth >= event.ticket) {
        broken = Rule::link_order;
    } else if (block == nullptr) {
        broken = Rule::free_unmatched;
    } else if (block->size_bytes != event.size_bytes || block->device != event.device ||
               (birth != kNoTicket && birth != block->birth_ticket)) {
        broken = Rule::free_mismatch;
    }
    if (block != nullptr) {
        change.freed = remove_block(where);
        change.collected = ranges_.in_collection(event.thread);
    }
    if (event.device >= 0 && change.freed) {
        DeviceState& state = states_[static_cast<size_t>(event.device)];
        if (state.tap_requested_address == event.address && state.tap_completed_address != event.address) {
            change.deferred = true;
            deferred_.push_back({event.address, event.size_bytes, event.ticket, event.device});
            DeviceTotals& totals = totals_[static_cast<size_t>(event.device)];
            totals.deferred_bytes += event.size_bytes;
            ++totals.deferred_count;
        }
        state.tap_requested_address = state.tap_completed_address = 0;
    }
    const auto totals = take_totals(event);
    return broken ? broken : totals;
}

// The allocator told its own totals: what we do not see of them may not change from one report to the next.
std::optional<Rule> Ledger::take_totals(const Event& event) {
    if (event.device < 0 || !event.has(kTotals)) return std::nullopt;
    DeviceTotals& totals = totals_[static_cast<size_t>(event.device)];
    const int64_t unseen_bytes = difference(event.allocated_bytes, totals.allocated_bytes);
    const bool agrees = unseen_bytes == totals.unseen_allocated_bytes;
    totals.unseen_allocated_bytes = unseen_bytes;
    totals.reported_allocated_bytes = event.allocated_bytes;
    totals.reported_reserved_bytes = event.reserved_bytes;
    const uint64_t previous_report = std::exchange(totals.report_ticket, event.ticket);
    if (totals.candidate_bytes != 0) settle_candidates(event.device, previous_report);
    totals.unseen_reserved_bytes = difference(event.reserved_bytes, totals.segment_bytes);
    if (!agrees) return Rule::totals_allocated;
    if (event.reserved_bytes < event.allocated_bytes) return Rule::totals_reserved;
    return std::nullopt;
}

// Candidates are settled all together: reserved rose by their sum, so the allocator owns them; or it did not
// rise although they are new, or has no room for them at all, so they are tensors of their own. What lies
// between stays open until a block is reported inside.
void Ledger::settle_candidates(int device, uint64_t previous_report) {
    const DeviceTotals& totals = totals_[static_cast<size_t>(device)];
    const int64_t gap_bytes = difference(*totals.reported_reserved_bytes, totals.segment_bytes);
    const int64_t risen_bytes =
        difference(static_cast<uint64_t>(gap_bytes), static_cast<uint64_t>(totals.unseen_reserved_bytes));
    const auto candidate_bytes = static_cast<int64_t>(totals.candidate_bytes);
    const bool owned = gap_bytes == candidate_bytes || risen_bytes == candidate_bytes;
    const std::set<uint64_t>& candidates = states_[static_cast<size_t>(device)].candidates;
    for (auto at = candidates.begin(); at != candidates.end();) {
        Segment& segment = *segments_.find(*at++);  // which settling takes out of the set
        const bool is_new = previous_report != kNoTicket && segment.birth_ticket > previous_report;
        if (owned) {
            set_state(segment, SegmentState::segment);
        } else if (gap_bytes == 0 || (risen_bytes == 0 && is_new)) {
            set_state(segment, SegmentState::direct);
        }
    }
}

void Ledger::tap_alloc(const Event& event) {
    tap_seen_ = true;
    if (event.device < 0) return;
    auto& requested = states_[static_cast<size_t>(event.device)].requested_bytes;
    if (requested.insert_or_assign(event.address, event.size_bytes).second) ++pending_request_count_;
}

// A free is requested, reported, and completed at once or later; the report comes after a completion at once.
void Ledger::tap_free(const Event& event) {
    tap_seen_ = true;
    if (event.device < 0) return;
    DeviceState& state = states_[static_cast<size_t>(event.device)];
    if (event.kind == Kind::tap_free_requested) {
        state.tap_requested_address = event.address;
        state.tap_completed_address = 0;
        return;
    }
    const auto found = std::find_if(deferred_.begin(), deferred_.end(), [&](const DeferredBlock& deferred) {
        return deferred.address == event.address && deferred.device == event.device;
    });
    if (found == deferred_.end()) {
        state.tap_completed_address = event.address;
        return;
    }
    DeviceTotals& totals = totals_[static_cast<size_t>(event.device)];
    totals.deferred_bytes -= found->size_bytes;
    --totals.deferred_count;
    deferred_.erase(found);
}

}  // namespace memsnap
