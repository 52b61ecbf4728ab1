// SPDX-License-Identifier: Apache-2.0
//
// Events that PyTorch's own tools told, as a ring file with its sidecar. The rule: the image is what a
// recorder that lost nothing would have written of just these events; what nobody told is not in it.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../interpose/wire.h"
#include "../replay/result.h"
#include "snapshot.h"

namespace memsnap::snapshot {

inline constexpr size_t kOpenRanges_most = 1024;  // no program nests deeper
inline constexpr int kHostMemory = -1;            // as a device: memory of the host

// Where an event happened. A ring image has one thread a device, and one for host memory.
struct Moment {
    int device = 0;        // 0 to 31, or kHostMemory
    uint64_t time_ns = 0;  // 0: not known; such an event has the time of the one before it
    uint64_t site = 0;     // of RingImage::site()
};

class RingImage {
  public:
    // `id` makes the tokens; equal sources must give equal ids (of their SHA-256).
    RingImage(wire::Origin origin, const std::array<uint8_t, 16>& id);
    RingImage(RingImage&& other) noexcept;
    ~RingImage();

    // ---- names and sites; each text and stack is written to the sidecar once
    uint64_t site(const Texts& texts, const std::vector<Frame>& innermost_first);  // 0 without frames
    uint16_t name(std::string_view text);  // 0: the empty text, or too many
    void config(const Settings& settings);
    void total_is_stated();
    void events_are_lost(uint64_t count);  // which nobody can put in order

    // ---- what was there before the first event; before any event. What is `last` of its device there is the
    // first report: it tells the sums of it all.
    void initial_segment(const Moment& moment, uint64_t address, uint64_t size_bytes, bool last = false);
    void initial_pages(const Moment& moment, uint64_t address, uint64_t size_bytes, uint64_t page_bytes);
    void initial_block(const Moment& moment, uint64_t address, uint64_t granted_bytes, bool last = false);
    void initial_host(const Moment& moment, uint64_t address, uint64_t size_bytes);

    // ---- events in order. Totals are summed up here, unless they are given: (allocated, reserved).
    using Totals = std::optional<std::pair<uint64_t, uint64_t>>;
    void block_alloc(const Moment& moment, uint64_t address, uint64_t granted_bytes, Totals totals = {});
    void block_free(const Moment& moment, uint64_t address, uint64_t granted_bytes, Totals totals = {});
    void oom(const Moment& moment, uint64_t request_bytes, Totals totals = {});
    void segment_alloc(const Moment& moment, uint64_t address, uint64_t size_bytes);
    void segment_free(const Moment& moment, uint64_t address);
    void map_pages(const Moment& moment, uint64_t address, uint64_t size_bytes, uint64_t page_bytes);
    void unmap_pages(const Moment& moment, uint64_t address, uint64_t size_bytes);  // of whole pages
    void host_alloc(const Moment& moment, uint64_t address, uint64_t size_bytes);
    void host_free(const Moment& moment, uint64_t address);
    // `kind` is one of the tap's; address and link as WIRE.md says for it.
    void tap(const Moment& moment, wire::Kind kind, uint64_t address, uint64_t size_bytes, uint64_t stream,
             uint16_t pool, uint64_t link = 0);
    void observation(const Moment& moment, uint64_t total_bytes, uint64_t free_bytes);
    // The observation that the failing operation made, before its tap_oom and oom().
    void failing_observation(const Moment& moment, uint64_t total_bytes, uint64_t free_bytes);
    // Returns what ends it. A range of family step is none: its end would be told by a step. Of more than
    // kOpenRanges_most open ones of a thread the inner ones are left out.
    uint64_t range_begin(const Moment& moment, std::string_view name, wire::Family family);
    void range_end(const Moment& moment, uint64_t range);
    uint64_t left_out_range_count() const;

    // ---- what is live now, by the events so far
    uint64_t allocated_bytes(int device) const;
    uint64_t reserved_bytes(int device) const;
    // The block that is live at the address.
    std::optional<uint64_t> granted_bytes(int device, uint64_t address) const;

    // Writes both files to open descriptors, from their beginnings, and gives its memory back on the way: to
    // be called once, last. Errors: io.
    Result<void> write(int ring_descriptor, int sidecar_descriptor);

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace memsnap::snapshot
