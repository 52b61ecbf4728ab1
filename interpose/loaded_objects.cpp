// SPDX-License-Identifier: Apache-2.0
#include "loaded_objects.h"

#include <string.h>
#include <unistd.h>

#include "cpu.h"
#include "elf_image.h"
#include "names.h"

namespace memsnap::recorder {
namespace {

constexpr size_t kBuildIdCapacity_bytes = 64;

std::atomic<uint64_t> g_seen_removals{0};

struct BuildId {
    const unsigned char* bytes = nullptr;
    uint16_t size_bytes = 0;
};

// The notes of one segment: size of name, size of content, type, name, content, each part padded.
BuildId build_id_in(const unsigned char* notes, uint64_t size_bytes, uint64_t alignment_bytes) {
    uint64_t at = 0;
    while (size_bytes - at >= sizeof(ElfW(Nhdr))) {
        ElfW(Nhdr) note;
        memcpy(&note, notes + at, sizeof note);
        uint64_t name = at + sizeof note;
        uint64_t content = (name + note.n_namesz + alignment_bytes - 1) / alignment_bytes * alignment_bytes;
        uint64_t end = (content + note.n_descsz + alignment_bytes - 1) / alignment_bytes * alignment_bytes;
        if (content + note.n_descsz > size_bytes) return {};
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof ELF_NOTE_GNU &&
            memcmp(notes + name, ELF_NOTE_GNU, sizeof ELF_NOTE_GNU) == 0 &&
            note.n_descsz <= kBuildIdCapacity_bytes) {
            return {notes + content, static_cast<uint16_t>(note.n_descsz)};
        }
        if (end > size_bytes) return {};
        at = end;
    }
    return {};
}

// Tools that rewrite objects leave notes behind that nothing maps.
bool is_readable(const dl_phdr_info& info, const ElfW(Phdr) & part) {
    for (int i = 0; i < info.dlpi_phnum; ++i) {
        const auto& load = info.dlpi_phdr[i];
        if (load.p_type != PT_LOAD || (load.p_flags & PF_R) == 0 || part.p_vaddr < load.p_vaddr) continue;
        const uint64_t offset = part.p_vaddr - load.p_vaddr;
        if (offset <= load.p_filesz && part.p_filesz <= load.p_filesz - offset) return true;
    }
    return false;
}

BuildId build_id_of(const dl_phdr_info& info) {
    for (int i = 0; i < info.dlpi_phnum; ++i) {
        const auto& header = info.dlpi_phdr[i];
        if (header.p_type != PT_NOTE || !is_readable(info, header)) continue;
        const auto* notes = reinterpret_cast<const unsigned char*>(info.dlpi_addr + header.p_vaddr);
        BuildId found = build_id_in(notes, header.p_filesz, header.p_align == 8 ? 8 : 4);
        if (found.bytes != nullptr) return found;
    }
    return {};
}

// As others can open it: the program's own name is empty here, and a name may be relative.
void find_path(const char* name, Path& path) {
    char text[kPathCapacity_bytes];
    if (name == nullptr || name[0] == '\0') {
        ssize_t size = readlink("/proc/self/exe", text, sizeof text);
        if (size > 0) path.add(text, static_cast<size_t>(size));
        return;
    }
    if (name[0] != '/' && strchr(name, '/') != nullptr && getcwd(text, sizeof text) != nullptr) {
        path.add(text);
        path.add('/');
    }
    path.add(name);
}

uint64_t hash_of(const BuildId& build_id) {
    uint64_t hash = 0;
    for (uint16_t i = 0; i < build_id.size_bytes; ++i) {
        hash = (hash ^ build_id.bytes[i] ^ 0x100) * 0x100000001b3;
    }
    return hash;
}

void enter_object(Recorder& recorder, const dl_phdr_info& info, const Extent& extent,
                  const BuildId& build_id) {
    unsigned char payload[sizeof(wire::ObjectEntry) + kBuildIdCapacity_bytes + kPathCapacity_bytes];
    Path path;
    find_path(info.dlpi_name, path);
    wire::ObjectEntry entry{};
    entry.begin = extent.begin;
    entry.end = extent.end;
    entry.bias = info.dlpi_addr;
    entry.generation = static_cast<uint16_t>(object_generation());
    entry.build_id_bytes = build_id.size_bytes;
    entry.path_bytes = static_cast<uint16_t>(path.size());
    memcpy(payload, &entry, sizeof entry);
    if (build_id.size_bytes != 0) memcpy(payload + sizeof entry, build_id.bytes, build_id.size_bytes);
    memcpy(payload + sizeof entry + build_id.size_bytes, path.c_str(), path.size());
    intern(recorder, wire::NameKind::object, 0, payload, sizeof entry + build_id.size_bytes + path.size());
}

void grow(std::atomic<uint64_t>& word, uint64_t value) {
    uint64_t before = word.load(std::memory_order_relaxed);
    while (before < value && !word.compare_exchange_weak(before, value, std::memory_order_acq_rel)) {
    }
}

// The generation first: nobody may see the removals as known and still use the old one.
bool notice_removals(uint64_t removals) {
    if (removals <= g_seen_removals.load(std::memory_order_acquire)) return false;
    g_object_generation.fetch_add(1, std::memory_order_acq_rel);
    grow(g_seen_removals, removals);
    return true;
}

// ---- the map of one recording

struct Look {
    Recorder* recorder;
    uint32_t index;  // among the loaded objects
    uint64_t added, removed;
};

bool is_mapped(const ObjectMap& map, uint64_t begin, uint64_t identity, uint32_t expected) {
    for (uint32_t i = 0; i < map.count; ++i) {
        const MappedObject& object = map.objects[(expected + i) % map.count];
        if (object.begin == begin && object.identity == identity) return true;
    }
    return false;
}

// What lay there is gone. If it was other code, what was learnt of its frames is untrue from now on.
void replace(ObjectMap& map, MappedObject& object) {
    for (uint32_t i = 0; i < map.count; ++i) {
        MappedObject& gone = map.objects[i];
        if (gone.begin >= object.end || object.begin >= gone.end) continue;
        const bool is_same_code =
            gone.begin == object.begin && gone.content == object.content && object.content != 0;
        const bool was_walked = gone.is_walked.exchange(false);
        if (was_walked && is_same_code) object.is_walked.store(true);
        if (was_walked && !is_same_code) g_walk_epoch.fetch_add(1, std::memory_order_acq_rel);
        gone.begin = gone.end = 0;
    }
}

// A place that no longer means anything, else a new one.
MappedObject* free_place(ObjectMap& map) {
    for (uint32_t i = 0; i < map.count; ++i) {
        if (map.objects[i].end == 0) return &map.objects[i];
    }
    return map.count == kMappedObjectCapacity ? nullptr : &map.objects[map.count++];
}

int visit_object(dl_phdr_info* info, size_t, void* data) {
    auto& look = *static_cast<Look*>(data);
    ObjectMap& map = *look.recorder->objects;
    if (look.index == 0) notice_removals(info->dlpi_subs);
    look.added = info->dlpi_adds;
    look.removed = info->dlpi_subs;
    const Extent extent = extent_of(*info);
    const BuildId build_id = build_id_of(*info);
    const uint64_t content = hash_of(build_id);
    const uint64_t identity = fnv1a(info->dlpi_name == nullptr ? "" : info->dlpi_name) ^ extent.end ^ content;
    // One that was gone meanwhile and is at its place again is the same.
    if (is_mapped(map, extent.begin, identity, look.index++)) return 0;
    MappedObject object{extent.begin, extent.end, identity, content, false};
    replace(map, object);
    MappedObject* place = free_place(map);
    if (place == nullptr) {
        bump(look.recorder->header->counters.names_dropped);
        return 0;
    }
    place->begin = object.begin;
    place->end = object.end;
    place->identity = identity;
    place->content = content;
    place->is_walked.store(object.is_walked.load());
    enter_object(*look.recorder, *info, extent, build_id);
    return 0;
}

int visit_first(dl_phdr_info* info, size_t, void* data) {
    auto& look = *static_cast<Look*>(data);
    look.added = info->dlpi_adds;
    look.removed = info->dlpi_subs;
    return 1;
}

Look first_look() {
    Look look{};
    dl_iterate_phdr(visit_first, &look);
    return look;
}

struct Present {
    static constexpr uint32_t kCapacity = 256;
    MappedObject* walked[kCapacity];
    bool is_there[kCapacity];
    uint32_t count;
};

int visit_present(dl_phdr_info* info, size_t, void* data) {
    auto& present = *static_cast<Present*>(data);
    const uint64_t begin = extent_of(*info).begin;
    for (uint32_t i = 0; i < present.count; ++i) {
        if (present.walked[i]->begin == begin) present.is_there[i] = true;
    }
    return 0;
}

// Another thread that is at it is done soon, unless it was killed, or is stopped.
bool take(ObjectMap& map) {
    constexpr uint32_t kTries = 10000;
    for (uint32_t i = 0; i < kTries; ++i) {
        if (map.busy.exchange(1, std::memory_order_acquire) == 0) return true;
        pause_processor();
    }
    return false;
}

}  // namespace

std::atomic<uint32_t> g_object_generation{0};
std::atomic<uint32_t> g_walk_epoch{0};

bool notice_unloading() {
    return notice_removals(first_look().removed);
}

bool are_objects_unmapped(const Recorder& recorder) {
    if (recorder.objects == nullptr || recorder.names == nullptr) return false;
    Look now = first_look();
    return now.added != recorder.objects->added.load(std::memory_order_acquire) ||
           now.removed != recorder.objects->removed.load(std::memory_order_acquire);
}

void map_loaded_objects(Recorder& recorder) {
    if (!are_objects_unmapped(recorder) || !take(*recorder.objects)) return;
    ObjectMap& map = *recorder.objects;
    Look look{&recorder, 0, 0, 0};
    dl_iterate_phdr(visit_object, &look);
    map.added.store(look.added, std::memory_order_release);
    map.removed.store(look.removed, std::memory_order_release);
    map.busy.store(0, std::memory_order_release);
}

void retire_walked_objects(Recorder& recorder) {
    if (recorder.objects == nullptr || !take(*recorder.objects)) return;
    ObjectMap& map = *recorder.objects;
    Present present{};
    for (uint32_t i = 0; i < map.count && present.count < Present::kCapacity; ++i) {
        MappedObject& object = map.objects[i];
        if (object.end != 0 && object.is_walked.load(std::memory_order_relaxed))
            present.walked[present.count++] = &object;
    }
    dl_iterate_phdr(visit_present, &present);
    bool is_any_gone = false;
    for (uint32_t i = 0; i < present.count; ++i) {
        if (present.is_there[i]) continue;
        present.walked[i]->is_walked.store(false, std::memory_order_relaxed);
        is_any_gone = true;
    }
    if (is_any_gone) g_walk_epoch.fetch_add(1, std::memory_order_acq_rel);
    map.busy.store(0, std::memory_order_release);
}

bool note_walked(Recorder& recorder, const uint64_t* addresses, uint32_t count) {
    if (recorder.objects == nullptr || !take(*recorder.objects)) return true;
    ObjectMap& map = *recorder.objects;
    uint32_t known_count = 0;
    uint32_t last = 0;  // neighbouring frames are mostly in one object
    for (uint32_t k = 0; k < count; ++k) {
        for (uint32_t i = 0; i < map.count; ++i) {
            uint32_t index = (last + i) % map.count;
            MappedObject& object = map.objects[index];
            if (addresses[k] < object.begin || addresses[k] >= object.end) continue;
            object.is_walked.store(true, std::memory_order_relaxed);
            last = index;
            ++known_count;
            break;
        }
    }
    map.busy.store(0, std::memory_order_release);
    return known_count == count;
}

}  // namespace memsnap::recorder
