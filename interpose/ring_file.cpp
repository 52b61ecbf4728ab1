// SPDX-License-Identifier: Apache-2.0
#include "ring_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "anchors.h"
#include "header.h"
#include "interned.h"
#include "loaded_objects.h"
#include "names.h"
#include "native_frames.h"
#include "new_file.h"
#include "settings.h"

namespace memsnap::recorder {
namespace {

constexpr uint32_t kAnchorCapacity = 2048;

uint64_t round_up(uint64_t value, uint64_t multiple) {
    return (value + multiple - 1) / multiple * multiple;
}

bool fail(wire::Trouble trouble, int error) {
    g_process.create_trouble = trouble;
    g_process.create_error = error;
    g_process.has_trouble.store(true, std::memory_order_relaxed);
    return false;
}

bool folder_suits(const Path& path) {
    Path folder;
    folder_of(path, folder);
    struct statfs found = {};
    if (statfs(folder.c_str(), &found) != 0) return true;  // open will say what is wrong
    return file_system_suits(static_cast<uint32_t>(found.f_type));
}

// The same file name in $TMPDIR.
void move_to_tmpdir(Path& path) {
    Path moved;
    const char* folder = environment("TMPDIR");
    moved.add(folder == nullptr || folder[0] == '\0' ? "/tmp" : folder);
    moved.add('/');
    moved.add(base_name(path.c_str()));
    g_process.chosen_path = path;
    g_process.moved_to_tmpdir = true;
    g_process.has_trouble.store(true, std::memory_order_relaxed);
    path = moved;
}

void* private_memory(uint64_t size_bytes) {
    void* memory =
        mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return nullptr;
    madvise(memory, size_bytes, MADV_DONTFORK);
    madvise(memory, size_bytes, MADV_DONTDUMP);
    return memory;
}

bool map_file(NewFile& file, uint64_t size_bytes, Recorder& recorder, uint32_t table_entry_count) {
    void* mapping = file.map(size_bytes);
    if (mapping == nullptr) return false;
    const uint64_t index_bytes = uint64_t{table_entry_count} * LiveTable::kPrivateBytesPerSlot;
    const uint64_t threads_bytes = uint64_t{kThreadCapacity} * sizeof(ThreadState);
    void* index = private_memory(index_bytes);
    void* threads = private_memory(threads_bytes);
    if (index == nullptr || threads == nullptr) {
        int error = errno;
        munmap(mapping, size_bytes);
        if (index != nullptr) munmap(index, index_bytes);
        if (threads != nullptr) munmap(threads, threads_bytes);
        errno = error;
        return false;
    }
    recorder.header = static_cast<wire::Header*>(mapping);
    recorder.thread_states = static_cast<ThreadState*>(threads);
    recorder.table.open(nullptr, index, table_entry_count);
    return true;
}

// What is needed to look at each stack once, also where nothing is told of it. Without the memory for it
// stacks have tokens and no names.
void prepare_interning(Recorder& recorder, uint64_t names_bytes) {
    void* interned = private_memory(interned_bytes(names_bytes));
    if (interned != nullptr) recorder.interned = open_interned(interned, names_bytes);
    if (recorder.names == nullptr) return;
    if (interned == nullptr) bump(recorder.header->counters.names_dropped);
    if (!may_walk_native(recorder.stack_wish)) return;
    recorder.objects = static_cast<ObjectMap*>(private_memory(sizeof(ObjectMap)));
    if (recorder.objects == nullptr) bump(recorder.header->counters.names_dropped);
    map_loaded_objects(recorder);
}

template <typename T>
T* area(const Recorder& recorder, wire::AreaId id) {
    auto* file = reinterpret_cast<unsigned char*>(recorder.header);
    return reinterpret_cast<T*>(file + recorder.header->areas[static_cast<uint32_t>(id)].offset_bytes);
}

void connect_areas(Recorder& recorder) {
    wire::Header* header = recorder.header;
    const wire::Area* areas = header->areas;
    recorder.ring.open(area<wire::Record>(recorder, wire::AreaId::ring),
                       areas[static_cast<uint32_t>(wire::AreaId::ring)].entry_count, header);
    recorder.table.set_entries(area<wire::LiveEntry>(recorder, wire::AreaId::table));
    recorder.pinned = area<wire::PinnedDevice>(recorder, wire::AreaId::pinned);
    recorder.boundaries.entries = area<wire::Boundary>(recorder, wire::AreaId::boundaries);
    recorder.boundaries.capacity = areas[static_cast<uint32_t>(wire::AreaId::boundaries)].entry_count;
    recorder.boundaries.free_count = recorder.boundaries.capacity;
    recorder.keyframes = area<uint8_t>(recorder, wire::AreaId::keyframes);
    recorder.threads = area<wire::Thread>(recorder, wire::AreaId::threads);
    recorder.libraries = area<wire::Library>(recorder, wire::AreaId::libraries);
    recorder.anchors = area<wire::Anchor>(recorder, wire::AreaId::anchors);
}

}  // namespace

void make_path_absolute(Path& path) {
    if (path.c_str()[0] == '/') return;
    Path absolute;
    char folder[kPathCapacity_bytes];
    if (getcwd(folder, sizeof folder) == nullptr) return;
    absolute.add(folder);
    absolute.add('/');
    absolute.add(path.c_str());
    path = absolute;
}

bool file_system_suits(uint64_t type) {
    // From linux/magic.h and the file systems' own sources.
    static const uint32_t kUnsuited[] = {
        0x6969,      // NFS
        0x517b,      // SMB
        0xff534d42,  // CIFS
        0xfe534d42,  // SMB2
        0x65735546,  // FUSE
        0x01021997,  // 9P
        0x5346414f,  // AFS
        0x00c36400,  // Ceph
        0x0bd00bd0,  // Lustre
        0x47504653,  // GPFS
        0x19830326,  // BeeGFS
        0xaad7aaea,  // PanFS
        0x786f4256,  // VirtualBox
        0x9123683e,  // Btrfs
        0x2fc12fc1,  // ZFS
        0xca451a4e,  // bcachefs
    };
    for (uint32_t unsuited : kUnsuited) {
        if (type == unsuited) return false;
    }
    return true;
}

uint64_t lay_out(uint64_t ring_bytes, uint32_t table_entry_count, uint32_t boundary_entry_count,
                 wire::Area areas[wire::kAreaCount]) {
    uint64_t keyframe_bytes = round_up(
        sizeof(wire::Keyframe) + wire::kKeyframeOperationRecords * sizeof(wire::Record) +
            wire::kDeviceCapacity * sizeof(wire::PinnedDevice) +
            wire::kKeyframeRingRecords * sizeof(wire::Record) + table_entry_count * sizeof(wire::LiveEntry),
        wire::kAreaAlignment_bytes);
    const struct {
        uint64_t entry_bytes;
        uint64_t entry_count;
    } sizes[wire::kAreaCount] = {
        {sizeof(wire::Record), ring_bytes / sizeof(wire::Record)},
        {sizeof(wire::LiveEntry), table_entry_count},
        {sizeof(wire::PinnedDevice), wire::kDeviceCapacity},
        {sizeof(wire::Boundary), boundary_entry_count},
        {keyframe_bytes, wire::kKeyframeSlots},
        {sizeof(wire::Thread), kThreadCapacity},
        {sizeof(wire::Library), kLibraryCapacity},
        {sizeof(wire::Anchor), kAnchorCapacity},
    };
    uint64_t offset = round_up(sizeof(wire::Header), wire::kAreaAlignment_bytes);
    for (uint32_t i = 0; i < wire::kAreaCount; ++i) {
        areas[i].offset_bytes = offset;
        areas[i].size_bytes =
            round_up(sizes[i].entry_bytes * sizes[i].entry_count, wire::kAreaAlignment_bytes);
        areas[i].entry_bytes = static_cast<uint32_t>(sizes[i].entry_bytes);
        areas[i].entry_count = static_cast<uint32_t>(sizes[i].entry_count);
        offset += areas[i].size_bytes;
    }
    return offset;
}

bool create_ring_file(Recorder& recorder) {
    Settings settings = read_settings();
    wire::Area areas[wire::kAreaCount] = {};
    uint32_t table_entry_count =
        settings.table_entry_count / LiveTable::kSlotsPerBucket * LiveTable::kSlotsPerBucket;
    uint64_t file_bytes =
        lay_out(settings.ring_bytes, table_entry_count, settings.boundary_entry_count, areas);

    if (!file_size_allowed(file_bytes)) {
        expand_output_path(g_process.chosen_path);
        return fail(wire::Trouble::create_failed, EFBIG);
    }
    Path wanted;
    expand_output_path(wanted);
    if (!settings.any_file_system && !folder_suits(wanted)) move_to_tmpdir(wanted);
    NewFile file{Naming{.numbered = true, .beside = names_disabled() ? nullptr : kNamesSuffix}};
    if (!file.open(wanted)) {
        int error = errno;
        g_process.chosen_path = wanted;
        return fail(wire::Trouble::create_failed, error);
    }
    bool sized = file.reserve(file_bytes, settings.any_file_system);
    if (!sized || !map_file(file, file_bytes, recorder, table_entry_count)) {
        int error = errno;
        g_process.chosen_path = wanted;
        return fail(sized ? wire::Trouble::create_failed : wire::Trouble::no_space, error);
    }
    recorder.stack_wish = stack_wish();
    recorder.stack_depth = settings.stack_depth;
    fill_header(*recorder.header, areas, file_bytes);
    std::atomic_ref<uint32_t>(recorder.header->stacks)
        .fetch_or(static_cast<uint32_t>(recorder.stack_wish) | recorder.stack_depth << 24);
    say_native_stacks(recorder);
    recorder.caching_disabled = (recorder.header->config.flags & wire::kConfigCachingDisabled) != 0;
    connect_areas(recorder);
    add_anchor(recorder);
    if (!file.keep(recorder.path)) {
        int error = errno;
        munmap(recorder.header, file_bytes);
        g_process.chosen_path = wanted;
        return fail(wire::Trouble::create_failed, error);
    }
    make_path_absolute(recorder.path);
    if (!names_disabled()) create_names_file(recorder, settings.names_bytes, settings.any_file_system);
    if (recorder.stack_wish != wire::StackWish::off) prepare_interning(recorder, settings.names_bytes);
    return true;
}

}  // namespace memsnap::recorder
