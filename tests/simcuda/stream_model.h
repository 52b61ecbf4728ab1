// SPDX-License-Identifier: Apache-2.0
// When work on a stream counts as done. Kernels do nothing, so "done" is a matter of bookkeeping only.
// Rule: work is done at once, except on side streams with pending events on: there it is done only when
// somebody synchronises with it (README, "Pending events"). Positions are compared, never clocks.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

namespace simcuda {

// A point on a stream: everything submitted up to `sequence`. Stream 0 does not exist: always done.
struct Position {
    uint64_t stream_id = 0;
    uint64_t sequence = 0;
};

class StreamModel {
  public:
    uint64_t add_stream(bool is_side_stream);
    void remove_stream(uint64_t stream_id);  // its work is done

    void submit(uint64_t stream_id);
    Position now(uint64_t stream_id) const;
    void wait(uint64_t stream_id, Position position);  // later work on the stream depends on the position

    bool is_done(Position position);
    void synchronise(Position position);

    void set_pending(bool pending) { pending_ = pending; }

  private:
    struct Wait {
        uint64_t at_sequence;
        Position position;
    };
    struct Line {
        bool is_side_stream = false;
        uint64_t submitted = 0;
        uint64_t done = 0;
        std::vector<Wait> waits;
    };

    std::map<uint64_t, Line> lines_;
    uint64_t next_id_ = 1;
    bool pending_ = false;
};

}  // namespace simcuda
