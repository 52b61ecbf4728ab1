// SPDX-License-Identifier: Apache-2.0
//
// The header and its table of areas (WIRE.md §1, §2). Rule: nothing behind the header is read before every
// area was found to lie inside the file, aligned, apart from the others, with the entry size that the format
// fixes.
#include <algorithm>
#include <cstring>

#include "file.h"

namespace oracle {
namespace {

constexpr std::array<u8, 8> kMagic{0x89, 0x4D, 0x45, 0x4D, 0x53, 0x4E, 0x41, 0x50};
constexpr u64 kPrefixBytes = 16;  // magic, version and byte order: without them it is no memsnap file
constexpr u64 kAlignment = 65536;
// Entry sizes by area; 0: the file chooses (a keyframe slot).
constexpr std::array<u32, kAreaCount> kEntryBytes{64, 64, 8192, 64, 0, 16, 16, 32};

Expected<void> check_areas(const Header& header, u64 file_bytes) {
    for (std::size_t i = 0; i < kAreaCount; ++i) {
        const auto& area = header.areas[i];
        u64 at = 48 + 24 * i;
        if (area.offset % kAlignment != 0 || area.offset < kHeadBytes || area.offset > file_bytes ||
            area.size > file_bytes - area.offset)
            return corrupt("area_bounds", kNoTicket, at);
        if (kEntryBytes[i] != 0 && area.entry_bytes != kEntryBytes[i])
            return corrupt("area_entry_bytes", kNoTicket, at);
        if (Int{area.entry_bytes} * area.entry_count > area.size)
            return corrupt("area_entries", kNoTicket, at);
        for (std::size_t j = 0; j < i; ++j) {
            const auto& other = header.areas[j];
            if (area.size != 0 && other.size != 0 && area.offset < other.offset + other.size &&
                other.offset < area.offset + area.size)
                return corrupt("area_overlap", kNoTicket, at);
        }
    }
    if (header.armed() && header.areas[kRing].entry_count == 0) return corrupt("area_entries", kNoTicket, 48);
    return {};
}

}  // namespace

bool begins_as_ring(Bytes bytes) {
    return bytes.size() >= kPrefixBytes && std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) == 0;
}

Expected<Header> decode_header(Bytes bytes, u64 there_bytes) {
    if (!begins_as_ring(bytes))
        return std::unexpected(Error{kExitNotMemsnap, {}, kNoTicket, 0, "not a memsnap file"});
    auto major = integer16(bytes, 8);
    if (major != 1)
        return std::unexpected(Error{kExitNotMemsnap,
                                     {},
                                     kNoTicket,
                                     8,
                                     "version " + digits(major) + " of the file, this program reads 1"});
    if (integer32(bytes, 12) != 0x01020304U)
        return std::unexpected(Error{kExitNotMemsnap, {}, kNoTicket, 12, "not written little-endian"});
    if (bytes.size() < kHeadBytes) return corrupt("file_bytes", kNoTicket, 24);
    if (integer32(bytes, 16) < kHeadBytes) return corrupt("header_bytes", kNoTicket, 16);
    if (integer32(bytes, 20) != kRecordBytes) return corrupt("record_bytes", kNoTicket, 20);
    u64 file_bytes = integer64(bytes, 24);
    if (file_bytes > there_bytes) return corrupt("file_bytes", kNoTicket, 24);

    Header header;
    std::memcpy(header.ring_id.data(), bytes.data() + 32, header.ring_id.size());
    for (std::size_t i = 0; i < kAreaCount; ++i) {
        u64 at = 48 + 24 * i;
        header.areas[i] = {integer64(bytes, at), integer64(bytes, at + 8), integer32(bytes, at + 16),
                           integer32(bytes, at + 20)};
    }
    header.rank = static_cast<int>(integer32(bytes, 252));
    header.world_size = static_cast<int>(integer32(bytes, 260));
    header.recorder_version = integer32(bytes, 292);
    header.torch_version = integer32(bytes, 296);
    header.cudart_version = integer32(bytes, 300);
    header.driver_version = integer32(bytes, 304);
    header.clock_source = integer32(bytes, 308);
    header.start_mode = integer32(bytes, 312);
    header.arm_state = integer32(bytes, 316);
    header.sidecar = integer32(bytes, 320);
    for (std::size_t i = 0; i < header.stacks.size(); ++i)
        header.stacks[i] = integer8(bytes, 324 + i);
    header.allocator_flags = integer32(bytes, 328);
    header.gc_threshold_permille = integer32(bytes, 332);
    header.max_split_size = integer64(bytes, 336);
    header.roundup_power2_divisions = integer32(bytes, 344);
    header.unknown_option_count = integer32(bytes, 348);
    header.python_version = integer32(bytes, 352);
    header.origin = integer32(bytes, 356);
    header.stated = integer32(bytes, 360);
    header.armed_from = integer64(bytes, 408);
    header.disarmed_at = integer64(bytes, 416);
    header.initial_until = std::min(integer64(bytes, 432), integer64(bytes, 512));
    header.head = integer64(bytes, 512);
    for (std::size_t i = 0; i < kCounterCount; ++i)
        header.counters[i] = integer64(bytes, 576 + 8 * i);
    header.incomplete_from = integer64(bytes, 704);
    header.exit_mark = integer64(bytes, 712);
    header.exit_status = static_cast<int>(integer32(bytes, 720));
    header.failure_count = integer32(bytes, 732);
    header.library_count = integer32(bytes, 736);
    header.thread_count = integer32(bytes, 740);
    header.boundary_stride = integer32(bytes, 744);
    header.boundary_count = integer32(bytes, 748);
    header.sampling = integer32(bytes, 752);
    bool header_alone =
        !header.armed() && header.areas[kRing].entry_count == 0 && header.areas[kTable].entry_count == 0;
    if (header_alone)
        return std::unexpected(Error{
            kExitDormant, {}, kNoTicket, 316, "dormant: nothing was recorded yet; arm it with memsnap arm"});
    if (auto checked = check_areas(header, file_bytes); !checked) return std::unexpected(checked.error());
    bool possible = header.made_in_standby()
                        ? header.armed_from <= header.head && header.disarmed_at <= header.head + 1
                        : header.armed_from == 0 && header.arm_state != 2;
    if (!possible) return corrupt("arming", kNoTicket, 408);
    if (header.library_count > header.areas[kLibraries].entry_count)
        return corrupt("library_count", kNoTicket, 736);
    if (header.thread_count > header.areas[kThreads].entry_count)
        return corrupt("thread_count", kNoTicket, 740);
    if (header.boundary_count > header.areas[kBoundaries].entry_count)
        return corrupt("boundary_count", kNoTicket, 748);
    return header;
}

}  // namespace oracle
