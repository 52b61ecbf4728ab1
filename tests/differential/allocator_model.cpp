// SPDX-License-Identifier: Apache-2.0
//
// Best fit in the pool of a request, else more memory from the card, else the cache given back and a retry.
#include "allocator_model.h"

#include <algorithm>

namespace memsnap::differential {

namespace {

constexpr uint64_t kSmallRequest_bytes = kMiB;
constexpr uint64_t kSmallSegment_bytes = 2 * kMiB;
constexpr uint64_t kLargeSegment_bytes = 20 * kMiB;
constexpr uint64_t kLargeRequest_bytes = 10 * kMiB;
constexpr uint64_t kPoolUnknown = 65535;
constexpr uint64_t kArena_bytes = uint64_t{1} << 38;

uint64_t segment_bytes(uint64_t request_bytes) {
    if (request_bytes <= kSmallRequest_bytes) return kSmallSegment_bytes;
    if (request_bytes < kLargeRequest_bytes) return kLargeSegment_bytes;
    return round_up(request_bytes, 2 * kMiB);
}

}  // namespace

uint64_t round_up(uint64_t bytes, uint64_t unit) {
    return (bytes + unit - 1) / unit * unit;
}

AllocatorModel::AllocatorModel(EventLines& lines, Card& card, const ModelOptions& options)
    : lines_(lines), card_(card), options_(options), next_address_(options.base_address) {}

uint64_t AllocatorModel::free_on_card_bytes() const {
    const uint64_t held = card_.outside_bytes + reserved_bytes_;
    return card_.total_bytes > held ? card_.total_bytes - held : 0;
}

AllocatorModel::Kind AllocatorModel::kind_of(const BlockRequest& request) {
    return {request.granules_bytes() <= kSmallRequest_bytes, request.stream, request.pool};
}

uint64_t BlockRequest::granules_bytes() const {
    return std::max(kGranule_bytes, round_up(bytes, kGranule_bytes));
}

std::optional<Block> AllocatorModel::allocate(const BlockRequest& request) {
    const Kind kind = kind_of(request);
    const uint64_t bytes = request.granules_bytes();
    auto place = best_fit(kind, bytes);
    if (!place && grow(request, kind)) place = best_fit(kind, bytes);
    if (!place) {
        empty_cache(request.actor);
        if (grow(request, kind)) place = best_fit(kind, bytes);
    }
    if (!place) {
        report_failure(request);
        return std::nullopt;
    }
    return take(request, *place);
}

std::optional<AllocatorModel::Place> AllocatorModel::best_fit(const Kind& kind, uint64_t bytes) const {
    std::optional<Place> best;
    uint64_t least = UINT64_MAX;
    for (const auto& [address, segment] : segments_) {
        if (segment.kind != kind) continue;
        for (const auto& [at, piece] : segment.pieces) {
            const bool better = piece.state == State::free && piece.bytes >= bytes && piece.bytes < least;
            if (!better) continue;
            best = Place{address, at};
            least = piece.bytes;
        }
    }
    return best;
}

bool AllocatorModel::grow(const BlockRequest& request, const Kind& kind) {
    if (options_.expandable) return add_pages(request, kind);
    return add_native(request, kind, segment_bytes(request.granules_bytes()));
}

bool AllocatorModel::add_native(const BlockRequest& request, const Kind& kind, uint64_t bytes) {
    if (free_on_card_bytes() < bytes) {
        lines_.refused(request.actor, "cudaMalloc", bytes, true);
        return false;
    }
    const uint64_t address = next_address_;
    next_address_ += round_up(bytes, 2 * kMiB) + options_.segment_gap_bytes;
    Segment segment{kind, bytes, {lines_.fresh('s')}, {}};
    lines_.segment(segment.names.front(), request.actor, address, bytes);
    if (options_.tap) {
        lines_.tap("tap_segment_alloc", request.actor, segment.names.front(), bytes, kind.stream,
                   options_.pools_untold ? kPoolUnknown : kind.pool);
    }
    segment.pieces[address] = {bytes, State::free};
    segments_[address] = std::move(segment);
    reserved_bytes_ += bytes;
    return true;
}

void AllocatorModel::add_segment(const BlockRequest& like, uint64_t bytes) {
    add_native(like, kind_of(like), bytes);
}

// Pages at the end of the arena, behind what is free there already.
bool AllocatorModel::add_pages(const BlockRequest& request, const Kind& kind) {
    const uint64_t page = kind.small ? kSmallSegment_bytes : kLargeSegment_bytes;
    auto arena = arenas_.find(kind);
    if (arena == arenas_.end()) {
        arena = arenas_.emplace(kind, next_address_).first;
        next_address_ += kArena_bytes;
    }
    const uint64_t begin = arena->second;
    Segment& segment = segments_[begin];
    segment.kind = kind;
    uint64_t tail = 0;
    if (!segment.pieces.empty() && segment.pieces.rbegin()->second.state == State::free)
        tail = segment.pieces.rbegin()->second.bytes;
    const uint64_t wanted = request.granules_bytes();
    const uint64_t missing = wanted > tail ? wanted - tail : 0;
    for (uint64_t grown = 0; grown < missing; grown += page) {
        if (free_on_card_bytes() < page) {
            lines_.refused(request.actor, "cuMemCreate", page, true);
            return false;
        }
        const uint64_t address = begin + segment.bytes;
        segment.names.push_back(lines_.fresh('m'));
        lines_.mapping(segment.names.back(), request.actor, address, page);
        if (options_.tap) {
            lines_.tap("tap_segment_map", request.actor, segment.names.back(), page, kind.stream,
                       options_.pools_untold ? kPoolUnknown : kind.pool);
        }
        segment.bytes += page;
        reserved_bytes_ += page;
        enter_free(segment, address, page);
    }
    return true;
}

void AllocatorModel::enter_free(Segment& segment, uint64_t address, uint64_t bytes) {
    auto here = segment.pieces.emplace(address, Piece{bytes, State::free}).first;
    const auto next = std::next(here);
    if (next != segment.pieces.end() && next->second.state == State::free &&
        here->first + here->second.bytes == next->first) {
        here->second.bytes += next->second.bytes;
        segment.pieces.erase(next);
    }
    if (here == segment.pieces.begin()) return;
    const auto before = std::prev(here);
    if (before->second.state != State::free || before->first + before->second.bytes != address) return;
    before->second.bytes += here->second.bytes;
    segment.pieces.erase(here);
}

Block AllocatorModel::take(const BlockRequest& request, Place place) {
    Segment& segment = segments_.at(place.first);
    Piece& piece = segment.pieces.at(place.second);
    const uint64_t bytes = request.granules_bytes();
    const uint64_t rest = piece.bytes - bytes;
    const bool split =
        options_.expandable || segment.kind.small ? rest >= kGranule_bytes : rest > kSmallRequest_bytes;
    Block block{lines_.fresh('b'), place.second, split ? bytes : piece.bytes};
    piece = {block.bytes, State::live, block.name, request.bytes};
    if (split) segment.pieces[place.second + block.bytes] = {rest, State::free};
    allocated_bytes_ += block.bytes;
    requested_bytes_ += request.bytes;
    ++taken_count_;
    const bool untold = options_.untold_every != 0 && taken_count_ % options_.untold_every == 0;
    if (options_.tap && !untold)
        lines_.tap_request(request.actor, block.address, request.bytes, request.stream, request.pool);
    lines_.alloc(block.name, request.actor, block.address, block.bytes);
    return block;
}

AllocatorModel::Segment& AllocatorModel::segment_of(uint64_t address) {
    return std::prev(segments_.upper_bound(address))->second;
}

void AllocatorModel::free(const Block& block, const Actor& actor, bool deferred) {
    Segment& segment = segment_of(block.address);
    const Kind kind = segment.kind;
    if (options_.tap) {
        lines_.tap("tap_free_requested", actor, block.name, block.bytes, kind.stream, kind.pool);
        if (!deferred)
            lines_.tap("tap_free_completed", actor, block.name, block.bytes, kind.stream, kind.pool);
    }
    lines_.free(block.name, actor);
    allocated_bytes_ -= block.bytes;
    Piece& piece = segment.pieces.at(block.address);
    requested_bytes_ -= piece.requested_bytes;
    if (deferred) {
        piece.state = State::deferred;
        deferred_.push_back(block.address);
        return;
    }
    become_free(block.address);
}

void AllocatorModel::become_free(uint64_t address) {
    Segment& segment = segment_of(address);
    const uint64_t bytes = segment.pieces.at(address).bytes;
    segment.pieces.erase(address);
    enter_free(segment, address, bytes);
}

void AllocatorModel::complete_deferred(const Actor& actor) {
    for (const uint64_t address : deferred_) {
        const Segment& segment = segment_of(address);
        const Piece& piece = segment.pieces.at(address);
        if (options_.tap) {
            lines_.tap("tap_free_completed", actor, piece.name, piece.bytes, segment.kind.stream,
                       segment.kind.pool);
        }
        become_free(address);
    }
    deferred_.clear();
}

bool AllocatorModel::wholly_free(const Segment& segment) const {
    return segment.pieces.size() == 1 && segment.pieces.begin()->second.state == State::free;
}

// Private pools keep their segments; of an expandable arena whole pages at its end go back.
void AllocatorModel::empty_cache(const Actor& actor) {
    for (auto at = segments_.begin(); at != segments_.end();) {
        auto& [address, segment] = *at;
        if (options_.expandable) {
            const uint64_t page = segment.kind.small ? kSmallSegment_bytes : kLargeSegment_bytes;
            while (!segment.pieces.empty() && segment.pieces.rbegin()->second.state == State::free &&
                   segment.pieces.rbegin()->second.bytes >= page) {
                Piece& tail = segment.pieces.rbegin()->second;
                tail.bytes -= page;
                segment.bytes -= page;
                reserved_bytes_ -= page;
                lines_.release_mapping(segment.names.back(), actor);
                if (options_.tap) {
                    lines_.tap("tap_segment_unmap", actor, segment.names.back(), page, segment.kind.stream,
                               segment.kind.pool);
                }
                segment.names.pop_back();
                if (tail.bytes == 0) segment.pieces.erase(std::prev(segment.pieces.end()));
            }
            ++at;
            continue;
        }
        if (segment.kind.pool != 0 || !wholly_free(segment)) {
            ++at;
            continue;
        }
        lines_.release_segment(segment.names.front(), actor);
        if (options_.tap) {
            lines_.tap("tap_segment_free", actor, segment.names.front(), segment.bytes, segment.kind.stream,
                       segment.kind.pool);
        }
        reserved_bytes_ -= segment.bytes;
        at = segments_.erase(at);
    }
}

void AllocatorModel::tell_again(const Actor& actor) {
    for (const auto& [address, segment] : segments_) {
        if (segment.names.empty()) continue;
        lines_.tap_again(actor, segment.names.front(), options_.expandable, segment.bytes,
                         segment.kind.stream, segment.kind.pool);
    }
}

std::optional<uint64_t> AllocatorModel::requested_bytes() const {
    return options_.sums_requests ? std::optional(requested_bytes_) : std::nullopt;
}

void AllocatorModel::report_failure(const BlockRequest& request) {
    const uint64_t bytes = request.granules_bytes();
    if (options_.asks_device) lines_.question(request.actor, card_.total_bytes, free_on_card_bytes(), true);
    if (options_.tap && options_.tells_again) tell_again(request.actor);
    if (options_.tap) {
        lines_.tap_failure(request.actor, bytes, request.stream, request.pool,
                           {free_on_card_bytes(), requested_bytes()});
    }
    lines_.out_of_memory(request.actor, bytes, true, false);
}

}  // namespace memsnap::differential
