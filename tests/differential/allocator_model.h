// SPDX-License-Identifier: Apache-2.0
//
// A small model of PyTorch's caching allocator on one device, which writes what a recorder would see of it.
// The rule: it decides as the allocator does (granule, pools, best fit, split and merge, cache release and
// retry) and knows nothing of how a failure is explained.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "event_lines.h"

namespace memsnap::differential {

// One device's memory, and what of it this process's allocator does not hold.
struct Card {
    uint64_t total_bytes = 0;
    uint64_t outside_bytes = 0;
};

struct ModelOptions {
    bool expandable = false;
    bool tap = false;
    bool tells_again = false;    // all segments, before a failure
    bool pools_untold = false;   // the tap knows a new segment's stream only
    bool sums_requests = false;  // the tap knows what all live blocks asked for
    unsigned untold_every = 0;   // one request in so many is not told
    bool asks_device = true;     // a failing operation asks how much is free
    uint64_t base_address = uint64_t{0x7f} << 40;
    uint64_t segment_gap_bytes = 4 * kMiB;  // between native segments; 0 makes them touch
};

struct BlockRequest {
    Actor actor;
    uint64_t bytes = 0;
    uint64_t stream = 0;
    uint64_t pool = 0;

    uint64_t granules_bytes() const;  // what a block of it holds at least
};

struct Block {
    std::string name;
    uint64_t address = 0;
    uint64_t bytes = 0;
};

uint64_t round_up(uint64_t bytes, uint64_t unit);

class AllocatorModel {
  public:
    AllocatorModel(EventLines& lines, Card& card, const ModelOptions& options);

    // Nothing: an OOM report was written.
    std::optional<Block> allocate(const BlockRequest& request);
    // `deferred`: another stream still uses the block; only complete_deferred() gives its bytes back.
    void free(const Block& block, const Actor& actor, bool deferred = false);
    void complete_deferred(const Actor& actor);
    void empty_cache(const Actor& actor);
    // A segment for a private pool or a stream that nothing has been placed in.
    void add_segment(const BlockRequest& like, uint64_t bytes);

    void tell_again(const Actor& actor);
    // What the tap knows of all live blocks.
    std::optional<uint64_t> requested_bytes() const;

    uint64_t reserved_bytes() const { return reserved_bytes_; }
    uint64_t allocated_bytes() const { return allocated_bytes_; }
    uint64_t free_on_card_bytes() const;

  private:
    enum class State {
        free,
        live,
        deferred
    };
    struct Piece {
        uint64_t bytes = 0;
        State state = State::free;
        std::string name = {};
        uint64_t requested_bytes = 0;
    };
    // What may hold the same requests: size class, stream and private pool.
    struct Kind {
        bool small = false;
        uint64_t stream = 0;
        uint64_t pool = 0;
        auto operator<=>(const Kind&) const = default;
    };
    struct Segment {
        Kind kind;
        uint64_t bytes = 0;
        std::vector<std::string> names;    // one, or one a page
        std::map<uint64_t, Piece> pieces;  // by address
    };
    using Place = std::pair<uint64_t, uint64_t>;  // segment, piece

    static Kind kind_of(const BlockRequest& request);
    std::optional<Place> best_fit(const Kind& kind, uint64_t bytes) const;
    bool grow(const BlockRequest& request, const Kind& kind);
    bool add_native(const BlockRequest& request, const Kind& kind, uint64_t bytes);
    bool add_pages(const BlockRequest& request, const Kind& kind);
    void enter_free(Segment& segment, uint64_t address, uint64_t bytes);
    void become_free(uint64_t address);
    Block take(const BlockRequest& request, Place place);
    bool wholly_free(const Segment& segment) const;
    void report_failure(const BlockRequest& request);
    Segment& segment_of(uint64_t address);

    EventLines& lines_;
    Card& card_;
    ModelOptions options_;
    std::map<uint64_t, Segment> segments_;  // by address
    std::map<Kind, uint64_t> arenas_;       // expandable: the address of the segment
    uint64_t next_address_;
    uint64_t reserved_bytes_ = 0;
    uint64_t allocated_bytes_ = 0;
    uint64_t requested_bytes_ = 0;
    unsigned taken_count_ = 0;
    std::vector<uint64_t> deferred_;
};

}  // namespace memsnap::differential
