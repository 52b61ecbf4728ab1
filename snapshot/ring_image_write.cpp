// SPDX-License-Identifier: Apache-2.0
//
// The layout of the file, and its areas. The rule: as WIRE.md has it; what was never used is a hole.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#include "../replay/crc32c.h"
#include "ring_image_state.h"

namespace memsnap::snapshot {

namespace {

constexpr uint64_t kRecords_least = 1024, kRecords_most = uint64_t{1} << 30;
constexpr uint64_t kEntries_most = uint64_t{1} << 28;
constexpr uint64_t kBoundaries_most = uint64_t{1} << 26;
constexpr uint32_t kAnchors = 16;
constexpr uint8_t kDepth_most = 255;

// Over the bytes from `from` on, without the four of the check.
template <class T>
uint32_t check_of(const T& value, size_t from) {
    const auto bytes = std::as_bytes(std::span(&value, 1));
    constexpr size_t kCheck = offsetof(T, check);
    const uint32_t before = crc32c(0, bytes.subspan(from, kCheck - from));
    return crc32c(before, bytes.subspan(kCheck + sizeof value.check));
}

Error write_error(std::string detail) {
    Error error;
    error.code = ErrorCode::io;
    error.rule = "writable";
    error.detail = std::move(detail);
    error.way_out = "check the free memory and space";
    return error;
}

class Output {
  public:
    explicit Output(int descriptor) : descriptor_(descriptor) {}

    void write(uint64_t offset_bytes, std::span<const std::byte> bytes) {
        while (error_ == 0 && !bytes.empty()) {
            const ssize_t written =
                ::pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(offset_bytes));
            if (written < 0 && errno == EINTR) continue;
            if (written <= 0) {
                error_ = errno == 0 ? EIO : errno;
                return;
            }
            bytes = bytes.subspan(static_cast<size_t>(written));
            offset_bytes += static_cast<uint64_t>(written);
        }
    }
    void size(uint64_t size_bytes) {
        if (::ftruncate(descriptor_, static_cast<off_t>(size_bytes)) != 0) error_ = errno;
    }
    Result<void> outcome() const {
        if (error_ == 0) return {};
        return failure(write_error(std::string("cannot be written: ") + std::strerror(error_)));
    }

  private:
    int descriptor_;
    int error_ = 0;
};

// Areas one behind the other, each at a multiple of 64 KiB.
void lay_out(wire::Header& header, const std::array<std::pair<uint64_t, uint64_t>, wire::kAreaCount>& areas) {
    const auto aligned = [](uint64_t bytes) {
        return (bytes + wire::kAreaAlignment_bytes - 1) / wire::kAreaAlignment_bytes *
               wire::kAreaAlignment_bytes;
    };
    uint64_t offset_bytes = wire::kAreaAlignment_bytes;
    for (size_t i = 0; i < areas.size(); ++i) {
        const auto& [entry_bytes, entry_count] = areas[i];
        header.areas[i] = {offset_bytes, aligned(entry_bytes * entry_count),
                           static_cast<uint32_t>(entry_bytes), static_cast<uint32_t>(entry_count)};
        offset_bytes += header.areas[i].size_bytes;
    }
    header.file_bytes = offset_bytes;
}

uint32_t stacks_word(bool any) {
    if (!any) return 0;
    return static_cast<uint32_t>(wire::StackWish::python) |
           static_cast<uint32_t>(wire::PythonStacks::walking) << 8 | uint32_t{kDepth_most} << 24;
}

}  // namespace

template <>
void seal(wire::Record& record) {
    record.check = check_of(record, 0);
}
template <>
void seal(wire::LiveEntry& entry) {
    entry.check = check_of(entry, offsetof(wire::LiveEntry, address));
}
template <>
void seal(wire::Boundary& boundary) {
    boundary.check = check_of(boundary, offsetof(wire::Boundary, time));
}

std::span<const wire::Record> Records::take_piece() {
    if (chunks_.empty()) return {};
    taken_ = std::move(chunks_.front());
    chunks_.pop_front();
    const uint64_t count = std::min<uint64_t>(kChunk_records, count_ - taken_count_);
    taken_count_ += count;
    return {taken_.get(), count};
}

Result<void> RingImage::write(int ring_descriptor, int sidecar_descriptor) {
    State& state = *state_;
    const uint64_t count = state.records.count();
    if (count > kRecords_most || state.table.size() > kEntries_most ||
        state.boundaries.size() > kBoundaries_most) {
        return failure(write_error("holds more events than a ring can: " + std::to_string(count)));
    }
    wire::Header header = {};
    lay_out(header, {{{sizeof(wire::Record), std::max(count, kRecords_least)},
                      {sizeof(wire::LiveEntry), std::max<uint64_t>(state.table.size(), 1)},
                      {sizeof(wire::PinnedDevice), wire::kDeviceCapacity},
                      {sizeof(wire::Boundary), std::max<uint64_t>(state.boundaries.size(), 1)},
                      {sizeof(wire::Keyframe), wire::kKeyframeSlots},
                      {sizeof(wire::Thread), state.threads.size()},
                      {sizeof(wire::Library), kTorchLibrary + 1},
                      {sizeof(wire::Anchor), kAnchors}}});
    std::ranges::copy(wire::kMagic, header.magic);
    header.version_major = wire::kVersionMajor;
    header.version_minor = wire::kVersionMinor;
    header.byte_order = wire::kByteOrder;
    header.header_bytes = sizeof header;
    header.record_bytes = sizeof(wire::Record);
    std::ranges::copy(state.id, header.ring_id);
    header.rank = header.local_rank = header.world_size = -1;
    header.clock_source = wire::ClockSource::monotonic_ns;
    header.start_mode = wire::StartMode::late;
    header.sidecar = wire::Sidecar::beside;
    header.stacks = stacks_word(state.names.has_stacks());
    header.config = state.config;
    header.origin = state.origin;
    header.stated = state.stated;
    header.initial_until = state.initial_until;
    header.head = count;
    header.counters.no_stack = state.names.has_stacks() ? state.without_site_count : 0;
    header.counters.lost = state.lost_count;
    header.counters.unknown_frees = state.unknown_free_count;
    header.counters.names_dropped = state.names.dropped_count();
    header.failure_count = static_cast<uint32_t>(state.failure_count);
    header.library_count = kTorchLibrary + 1;
    header.thread_count = static_cast<uint32_t>(state.threads.size());
    header.boundary_stride = 1;
    header.boundary_count = static_cast<uint32_t>(state.boundaries.size());

    Output ring(ring_descriptor);
    ring.size(header.file_bytes);
    const auto offset = [&](wire::AreaId area) {
        return header.areas[static_cast<size_t>(area)].offset_bytes;
    };
    const auto put = [&](wire::AreaId area, uint64_t index, const auto& value) {
        ring.write(offset(area) + index * sizeof value, std::as_bytes(std::span(&value, 1)));
    };
    uint64_t at = offset(wire::AreaId::ring);
    for (auto piece = state.records.take_piece(); !piece.empty(); piece = state.records.take_piece()) {
        ring.write(at, std::as_bytes(piece));
        at += piece.size_bytes();
    }
    ring.write(offset(wire::AreaId::table), std::as_bytes(std::span(state.table)));
    ring.write(offset(wire::AreaId::boundaries), std::as_bytes(std::span(state.boundaries)));
    for (size_t device = 0; device < state.devices.size(); ++device) {
        const DevicePins& pins = state.devices[device].pins;
        if (pins.used()) put(wire::AreaId::pinned, device, pins.copies());
    }
    for (size_t thread = 0; thread < state.threads.size(); ++thread) {
        if (state.threads[thread].used)
            put(wire::AreaId::threads, thread, wire::Thread{0, 0, state.threads[thread].first_ticket});
    }
    wire::Library torch = {};
    torch.role = wire::LibraryRole::torch_allocator;
    put(wire::AreaId::libraries, kTorchLibrary, torch);
    const uint64_t clock_ns = state.first_time_ns;
    if (clock_ns != 0) put(wire::AreaId::anchors, 0, wire::Anchor{1, clock_ns, clock_ns, clock_ns});
    ring.write(0, std::as_bytes(std::span(&header, 1)));

    Output sidecar(sidecar_descriptor);
    const auto names = state.names.bytes();
    sidecar.size(names.size());
    sidecar.write(0, names);
    if (auto written = ring.outcome(); !written) return written;
    return sidecar.outcome();
}

}  // namespace memsnap::snapshot
