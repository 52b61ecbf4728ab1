// SPDX-License-Identifier: Apache-2.0
#include "ring_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "anchors.h"
#include "header.h"
#include "housekeeping.h"
#include "interned.h"
#include "loaded_objects.h"
#include "names.h"
#include "native_frames.h"
#include "new_file.h"
#include "ring_layout.h"
#include "settings.h"

namespace memsnap::recorder {
namespace {

bool fail(wire::Trouble trouble, int error) {
    g_process.create_trouble = trouble;
    g_process.create_error = error;
    g_process.has_trouble.store(true, std::memory_order_relaxed);
    return false;
}

bool folder_suits(const Path& folder) {
    struct statfs found = {};
    if (statfs(folder.c_str(), &found) != 0) return true;  // open will say what is wrong
    return file_system_suits(static_cast<uint32_t>(found.f_type));
}

// What lies there is memory, of which a container has 64 MiB unless it asks for more.
bool is_shared_memory(const Path& folder) {
    const FileIdentity shared = file_identity(AT_FDCWD, "/dev/shm");
    return shared.known && file_identity(AT_FDCWD, folder.c_str()).device == shared.device;
}

// A folder of the disk for what cannot lie where it was wanted; without a better one /tmp.
void choose_temporary_folder(Path& folder) {
    const char* set = environment("TMPDIR");
    for (const char* candidate : {set == nullptr || set[0] == '\0' ? "/tmp" : set, "/tmp", "/var/tmp"}) {
        folder.clear();
        folder.add(candidate);
        if (folder_suits(folder) && !is_shared_memory(folder)) return;
    }
    folder.clear();
    folder.add("/tmp");
}

// The same file name in a temporary folder.
void move_to_tmpdir(Path& path) {
    Path moved;
    choose_temporary_folder(moved);
    moved.add('/');
    moved.add(base_name(path.c_str()));
    g_process.chosen_path = path;
    g_process.moved_to_tmpdir = true;
    g_process.has_trouble.store(true, std::memory_order_relaxed);
    path = moved;
}

// Whoever names a folder in shared memory means it; a job that merely works there does not.
bool must_move(const Path& path) {
    Path folder;
    folder_of(path, folder);
    const char* named = environment("MEMSNAP_OUT");
    const bool asked = named != nullptr && named[0] != '\0';
    return !folder_suits(folder) || (!asked && is_shared_memory(folder));
}

// What is the recorder's own beside the file. Given back unless it is kept.
class PrivateParts {
  public:
    PrivateParts() = default;
    ~PrivateParts() {
        const int saved_errno = errno;
        if (index_ != nullptr) munmap(index_, index_bytes());
        if (threads_ != nullptr) munmap(threads_, kThreads_bytes);
        errno = saved_errno;
    }
    PrivateParts(const PrivateParts&) = delete;
    PrivateParts& operator=(const PrivateParts&) = delete;

    // False with errno.
    bool make(uint32_t table_entry_count) {
        table_entry_count_ = table_entry_count;
        index_ = private_memory(index_bytes());
        threads_ = index_ == nullptr ? nullptr : private_memory(kThreads_bytes);
        return threads_ != nullptr;
    }
    void lend_to(Recorder& recorder) const {
        recorder.thread_states = static_cast<ThreadState*>(threads_);
        recorder.table.open(nullptr, index_, table_entry_count_);
    }
    void keep() { index_ = threads_ = nullptr; }

  private:
    static constexpr uint64_t kThreads_bytes = uint64_t{kThreadCapacity} * sizeof(ThreadState);
    uint64_t index_bytes() const { return uint64_t{table_entry_count_} * LiveTable::kPrivateBytesPerSlot; }

    uint32_t table_entry_count_ = 0;
    void* index_ = nullptr;
    void* threads_ = nullptr;
};

template <typename T>
T* area(const Recorder& recorder, wire::AreaId id) {
    auto* file = reinterpret_cast<unsigned char*>(recorder.header);
    return reinterpret_cast<T*>(file + recorder.header->areas[static_cast<uint32_t>(id)].offset_bytes);
}

void connect_areas(Recorder& recorder) {
    wire::Header* header = recorder.header;
    const wire::Area* areas = header->areas;
    const bool has_ring = areas[static_cast<uint32_t>(wire::AreaId::ring)].entry_count != 0;
    recorder.ring.open(has_ring ? area<wire::Record>(recorder, wire::AreaId::ring) : nullptr,
                       g_process.arming.settings.ring_bytes / sizeof(wire::Record), header);
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

// The number of entries last: until then a reader finds none.
void show_area(wire::Area& shown, const wire::Area& area) {
    shown.offset_bytes = area.offset_bytes;
    shown.size_bytes = area.size_bytes;
    std::atomic_ref<uint32_t>(shown.entry_bytes).store(area.entry_bytes, std::memory_order_release);
    std::atomic_ref<uint32_t>(shown.entry_count).store(area.entry_count, std::memory_order_release);
}

// A recorder whose header is mapped and filled, and whose parts are made, gets ready for its first event.
void set_up(Recorder& recorder) {
    const Settings& settings = g_process.arming.settings;
    recorder.stack_wish = settings.stack_wish;
    recorder.stack_depth = settings.stack_depth;
    std::atomic_ref<uint32_t>(recorder.header->stacks)
        .store(static_cast<uint32_t>(recorder.stack_wish) | recorder.stack_depth << 24);
    say_native_stacks(recorder);
    recorder.caching_disabled = (recorder.header->config.flags & wire::kConfigCachingDisabled) != 0;
    connect_areas(recorder);
    add_anchor(recorder);
}

// Once the file has its name.
void open_names(Recorder& recorder) {
    const Settings& settings = g_process.arming.settings;
    if (settings.names) create_names_file(recorder, settings.names_bytes, settings.any_file_system);
    if (recorder.stack_wish != wire::StackWish::off) prepare_interning(recorder, settings.names_bytes);
}

// Of a recording that is complete, with its names.
uint64_t needed_bytes(const Layout& layout) {
    const Settings& settings = g_process.arming.settings;
    return layout.file_bytes + (settings.names ? settings.names_bytes : 0);
}

// In the folder of this process's recordings; false with errno.
bool is_room_for(uint64_t needed_bytes) {
    if (make_room(g_process.arming.wanted_path, g_process.arming.settings.housekeeping, needed_bytes))
        return true;
    errno = EDQUOT;
    return false;
}

// What is recorded into, or waits for it, and the file that it is in.
struct Making {
    Layout layout;
    wire::ArmState state;
    const wire::Header* previous;  // null: the process's first file
    wire::Trouble trouble;         // what kind of failure it was
};

// False with errno; nothing is left then.
bool make_file(Recorder& recorder, Making& making) {
    const Settings& settings = g_process.arming.settings;
    const Layout& layout = making.layout;
    const bool waits = making.state == wire::ArmState::cold;
    if (!is_room_for(waits ? layout.file_bytes : needed_bytes(layout))) {
        making.trouble = wire::Trouble::no_space;
        return false;
    }
    making.trouble = wire::Trouble::create_failed;
    NewFile file{Naming{.numbered = true, .beside = settings.names ? kNamesSuffix : nullptr}};
    if (!file.open(g_process.arming.wanted_path)) return false;
    if (!file.reserve(layout.file_bytes, settings.any_file_system)) {
        making.trouble = wire::Trouble::no_space;
        return false;
    }
    const uint64_t room_bytes = making.state == wire::ArmState::standby ? ring_at(0, settings).size_bytes : 0;
    auto* mapping = static_cast<unsigned char*>(file.map(layout.file_bytes, room_bytes));
    if (mapping == nullptr) return false;
    recorder.header = reinterpret_cast<wire::Header*>(mapping);
    recorder.ring_place = room_bytes == 0 ? nullptr : mapping + layout.file_bytes;
    recorder.file = file.identity();
    recorder.header->arm_state = making.state;
    PrivateParts parts;
    bool made = waits || parts.make(layout.table_entry_count);
    if (made) {
        if (making.previous == nullptr) {
            fill_header(*recorder.header, layout.areas, layout.file_bytes);
        } else {
            fill_next_header(*recorder.header, *making.previous, layout.areas, layout.file_bytes);
        }
        if (!waits) {
            parts.lend_to(recorder);
            set_up(recorder);
        }
        made = file.keep(recorder.path);
    }
    if (!made) {
        int error = errno;
        munmap(mapping, layout.file_bytes + room_bytes);
        errno = error;
        return false;
    }
    make_path_absolute(recorder.path);
    parts.keep();
    if (!waits) open_names(recorder);
    return true;
}

}  // namespace

void* private_memory(uint64_t size_bytes) {
    void* memory =
        mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return nullptr;
    madvise(memory, size_bytes, MADV_DONTFORK);
    madvise(memory, size_bytes, MADV_DONTDUMP);
    return memory;
}

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

void read_output_settings(Path& wanted) {
    Arming& arming = g_process.arming;
    arming.settings = read_settings();
    if (g_process.started_late) arming.settings.start = wire::ArmState::recording;  // it was told to come
    expand_output_path(wanted);
    if (!arming.settings.any_file_system && must_move(wanted)) move_to_tmpdir(wanted);
    arming.wanted_path = wanted;
    make_path_absolute(arming.wanted_path);
}

bool create_ring_file(Recorder& recorder) {
    Arming& arming = g_process.arming;
    Path wanted;
    read_output_settings(wanted);
    const Settings& settings = arming.settings;
    arming.resting =
        settings.start == wire::ArmState::standby ? wire::ArmState::standby : wire::ArmState::cold;
    Making making{choose_layout(settings, settings.start), settings.start, nullptr, {}};
    if (!file_size_allowed(making.layout.file_bytes)) {
        g_process.chosen_path = wanted;
        return fail(wire::Trouble::create_failed, EFBIG);
    }
    if (make_file(recorder, making)) return true;
    int error = errno;
    g_process.chosen_path = wanted;
    return fail(making.trouble, error);
}

bool create_next_file(Recorder& recorder, const Recorder& previous) {
    const wire::ArmState state = wire::ArmState::recording;
    Making making{choose_layout(g_process.arming.settings, state), state, previous.header, {}};
    return make_file(recorder, making);
}

bool open_waiting_file(Recorder& recorder) {
    const Settings& settings = g_process.arming.settings;
    const Layout layout = choose_layout(settings, wire::ArmState::recording);
    GrowingFile file;
    PrivateParts parts;
    if (!is_room_for(needed_bytes(layout)) || !file.open(recorder.path, recorder.file) ||
        !file.grow(recorder.header->file_bytes, layout.file_bytes, settings.any_file_system) ||
        !parts.make(layout.table_entry_count))
        return false;
    // Beside the mapping of the header alone, which is the same memory.
    void* mapping = file.map(0, layout.file_bytes);
    if (mapping == nullptr) return false;
    file.keep();
    parts.lend_to(recorder);
    parts.keep();
    recorder.header = static_cast<wire::Header*>(mapping);
    wire::Header& header = *recorder.header;
    header.start_mode = wire::StartMode::late;
    std::atomic_ref<uint64_t>(header.file_bytes).store(layout.file_bytes, std::memory_order_release);
    // The ring last: until then the file is a header alone.
    for (uint32_t i = wire::kAreaCount; i-- != 0;) {
        show_area(header.areas[i], layout.areas[i]);
    }
    set_up(recorder);
    open_names(recorder);
    return true;
}

bool append_ring(Recorder& recorder) {
    if (recorder.ring_place == nullptr) {
        errno = ENOMEM;
        return false;
    }
    const Settings& settings = g_process.arming.settings;
    wire::Header& header = *recorder.header;
    const wire::Area ring = ring_at(header.file_bytes, settings);
    const uint64_t file_bytes = ring.offset_bytes + ring.size_bytes;
    GrowingFile file;
    if (!is_room_for(ring.size_bytes) || !file.open(recorder.path, recorder.file) ||
        !file.grow(ring.offset_bytes, file_bytes, settings.any_file_system))
        return false;
    recorder.ring_slots =
        static_cast<wire::Record*>(file.map(ring.offset_bytes, ring.size_bytes, recorder.ring_place));
    if (recorder.ring_slots == nullptr) {
        recorder.ring_place = nullptr;  // whose the addresses are now nobody knows
        return false;
    }
    file.keep();
    std::atomic_ref<uint64_t>(header.file_bytes).store(file_bytes, std::memory_order_release);
    show_area(header.areas[static_cast<uint32_t>(wire::AreaId::ring)], ring);
    return true;
}

}  // namespace memsnap::recorder
