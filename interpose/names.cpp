// SPDX-License-Identifier: Apache-2.0
#include "names.h"

#include <string.h>
#include <sys/mman.h>

#include <atomic>

#include "new_file.h"

namespace memsnap::recorder {
namespace {

constexpr uint64_t kExitMargin_bytes = 256 * 1024;

void fill_names_header(wire::NamesHeader& names, const wire::Header& ring, uint64_t file_bytes) {
    names.version_major = wire::kNamesVersionMajor;
    names.version_minor = wire::kNamesVersionMinor;
    names.byte_order = wire::kByteOrder;
    memcpy(names.ring_id, ring.ring_id, sizeof names.ring_id);
    names.file_bytes = file_bytes;
    names.used_bytes = sizeof names;
    uint64_t magic = 0;
    memcpy(&magic, wire::kNamesMagic, sizeof magic);
    auto* target = reinterpret_cast<uint64_t*>(names.magic);
    std::atomic_ref<uint64_t>(*target).store(magic, std::memory_order_release);
}

wire::NamesHeader* make_file(Recorder& recorder, uint64_t file_bytes, bool any_file_system) {
    Path wanted = recorder.path;
    wanted.add(kNamesSuffix);
    if (wanted.cut()) return nullptr;
    NewFile file{Naming{}};
    if (!file.open(wanted) || !file.reserve(file_bytes, any_file_system)) return nullptr;
    auto* names = static_cast<wire::NamesHeader*>(file.map(file_bytes));
    if (names == nullptr) return nullptr;
    fill_names_header(*names, *recorder.header, file_bytes);
    Path name;
    if (file.keep(name)) return names;
    munmap(names, file_bytes);
    return nullptr;
}

}  // namespace

void create_names_file(Recorder& recorder, uint64_t file_bytes, bool any_file_system) {
    recorder.names_bytes = file_bytes;
    recorder.names = make_file(recorder, file_bytes, any_file_system);
    if (recorder.names == nullptr) {
        bump(recorder.header->counters.names_dropped);
        return;
    }
    auto* sidecar = reinterpret_cast<uint32_t*>(&recorder.header->sidecar);
    std::atomic_ref<uint32_t>(*sidecar).store(static_cast<uint32_t>(wire::Sidecar::beside),
                                              std::memory_order_release);
}

void intern(Recorder& recorder, wire::NameKind kind, uint64_t id, const void* payload, size_t payload_bytes) {
    wire::NamesHeader* names = recorder.names;
    if (names == nullptr) return;
    if (payload_bytes > UINT16_MAX) {
        bump(recorder.header->counters.names_dropped);
        return;
    }
    const uint64_t entry_bytes = (sizeof(wire::NameEntry) + payload_bytes + 7) / 8 * 8;
    uint64_t offset = std::atomic_ref<uint64_t>(names->used_bytes).fetch_add(entry_bytes);
    if (offset + entry_bytes > recorder.names_bytes) {
        bump(recorder.header->counters.names_dropped);
        return;
    }
    unsigned char* at = reinterpret_cast<unsigned char*>(names) + offset;
    auto* entry = reinterpret_cast<wire::NameEntry*>(at);
    entry->kind = kind;
    entry->payload_bytes = static_cast<uint16_t>(payload_bytes);
    entry->id = id;
    memcpy(at + sizeof *entry, payload, payload_bytes);
    // A reader that sees the size sees all of the entry; the rest of its last word is 0 as the file came.
    std::atomic_ref<uint32_t>(entry->entry_bytes)
        .store(static_cast<uint32_t>(entry_bytes), std::memory_order_release);
}

uint64_t unused_names_offset(const Recorder& recorder) {
    uint64_t used = std::atomic_ref<uint64_t>(recorder.names->used_bytes).load() + kExitMargin_bytes;
    used = (used + wire::kAreaAlignment_bytes - 1) / wire::kAreaAlignment_bytes * wire::kAreaAlignment_bytes;
    return used < recorder.names_bytes ? used : recorder.names_bytes;
}

}  // namespace memsnap::recorder
