// SPDX-License-Identifier: Apache-2.0
#include "slot_sweep.h"

#include <sys/auxv.h>

#include "blind.h"
#include "callers.h"
#include "driver_hooks.h"
#include "elf_image.h"
#include "slot_hooks.h"
#include "slot_store.h"
#include "slot_table.h"

namespace memsnap::recorder {
namespace {

constexpr uint32_t kObjectCapacity = 16384;

// An object that was looked at.
struct Known {
    uint64_t identity;
    uintptr_t begin;
    bool is_loaded;
    bool is_finished;   // nothing in it is left to be done
    bool says_blind;    // recorded already
    bool waits_to_say;  // a slot of it could not be put to us
    uint32_t look_count;
    // Found by the first pass of a sweep: whether the second one has to look at its references and its data.
    bool has_references, has_pointers;
};
// The dynamic linker needs no more looks than that for an object; what is not bound by then waits for ever.
constexpr uint32_t kMostLooks = 8;

struct Knowledge {
    uint64_t added, removed;
    uint32_t object_count, unfinished_count;
    Known objects[kObjectCapacity];  // pages come when they are touched
};
constinit Knowledge g_knowledge{};

enum class Pass : uint8_t {
    endings,  // slots of calls that end objects
    all
};

// One look inside dl_iterate_phdr, at the objects up to and with the first one that there was something to do
// in.
struct Look {
    Pass pass;
    const MemoryMap* memory;
    EntryPoints driver;
    uint32_t first;  // the objects before it were looked at
    uint32_t at;
    bool has_gap;  // the map lacks a part that belongs to an object
};

struct Place {
    Look* look;
    Known* known;
    Extent own;
    Extent relro;
    bool is_late;     // a slot is not bound yet, or may be bound just now
    bool is_refused;  // one cannot be changed
    bool has_any;     // one leads to us
};

Known* known_object(uint64_t identity, uintptr_t begin, uint32_t expected) {
    const uint32_t count = g_knowledge.object_count;
    for (uint32_t i = 0; i < count; ++i) {
        Known& object = g_knowledge.objects[(expected + i) % count];
        if (object.identity == identity) return &object;
    }
    if (count == kObjectCapacity) return nullptr;
    Known& added = g_knowledge.objects[g_knowledge.object_count++];
    added = Known{};
    added.identity = identity;
    added.begin = begin;
    return &added;
}

// Read-only once the dynamic linker has finished the object, and writable until then.
Extent relro_of(const dl_phdr_info& info) {
    for (int i = 0; i < info.dlpi_phnum; ++i) {
        const auto& header = info.dlpi_phdr[i];
        if (header.p_type != PT_GNU_RELRO) continue;
        const uintptr_t page_bytes = getauxval(AT_PAGESZ);
        const uintptr_t begin = info.dlpi_addr + header.p_vaddr;
        return {begin / page_bytes * page_bytes, (begin + header.p_memsz) / page_bytes * page_bytes};
    }
    return {};
}

int visit_holder(dl_phdr_info* info, size_t, void* data) {
    return extent_of(*info).contains(*static_cast<uintptr_t*>(data)) ? 1 : 0;
}

bool is_in_an_object(uintptr_t address) {
    return dl_iterate_phdr(visit_holder, &address) != 0;
}

// Whether the word may be put to us now, and not only later or never.
bool may_put(Place& place, uintptr_t address, uintptr_t held, const PatchedSlot* before) {
    // Of a slot that was ours: the linker had not bound it and has now, or its object was loaded again. What
    // another tool put there since knows us, and would be called by us for ever.
    const bool is_foreign = before != nullptr && held != before->held && held != before->original() &&
                            is_in_an_object(before->original());
    if (is_foreign) {
        place.is_refused = true;
        return false;
    }
    const bool is_open =
        place.relro.contains(address) && place.look->memory->access_to(address) == Access::writable;
    if (is_open && place.known->look_count < kMostLooks) {
        place.is_late = true;  // the linker is not done with the object
        return false;
    }
    return true;
}

// The pointer in the slot is replaced; `original` is where it led, or where a first call would have.
void put(Place& place, uintptr_t address, uintptr_t held, const SlotHook& target, uintptr_t original) {
    PatchedSlot* slot = g_slots.find(place.own.begin, address);
    if (!may_put(place, address, held, slot)) return;
    if (slot == nullptr) slot = g_slots.add(place.own.begin, place.known->identity, address);
    if (slot == nullptr) {
        place.is_refused = true;
        return;
    }
    const Access access = place.look->memory->access_to(address);
    place.look->has_gap = place.look->has_gap || access == Access::none;
    const auto hook = reinterpret_cast<uintptr_t>(target.hook);
    slot->held = held;
    slot->hook = hook;
    slot->function = target.function;
    slot->set_original(original);
    if (replace_word(address, held, hook, access)) {
        place.has_any = true;
    } else if (load_word_at(address) == held) {
        place.is_refused = true;
    } else {
        place.is_late = true;  // bound at this moment
    }
}

void visit_reference(Place& place, const char* name, uintptr_t address) {
    const SlotHook target = hook_named(name);
    if (target.hook == nullptr || !place.own.contains(address)) return;
    place.known->has_references = true;
    if (place.look->pass == Pass::endings && !target.ends_objects) return;
    const uintptr_t held = load_word_at(address);
    if (held == reinterpret_cast<uintptr_t>(target.hook)) {
        place.has_any = true;
        return;
    }
    if (held == 0) return;  // not bound yet, or a weak reference to nothing
    if (!place.own.contains(held)) {
        if (is_in_an_object(held)) {
            put(place, address, held, target, held);
        } else {
            place.is_late = true;
        }
        return;
    }
    // It waits for its first call. A thread may be binding it at this moment: it is looked at once more.
    void* found = find_original(place.own.begin, name);
    if (found == nullptr) return;  // its first call would end the job
    place.is_late = true;
    put(place, address, held, target, reinterpret_cast<uintptr_t>(found));
}

void visit_word(Place& place, uintptr_t address) {
    const uintptr_t held = load_word_at(address);
    if (held < place.look->driver.first || held > place.look->driver.last) [[likely]]
        return;
    const char* name = name_of_entry_point(reinterpret_cast<const void*>(held));
    if (name == nullptr) return;
    const SlotHook target = hook_of_entry_point(name);
    place.known->has_pointers = true;
    if (place.look->pass == Pass::all || target.ends_objects) put(place, address, held, target, held);
}

void visit_data(Place& place, const dl_phdr_info& info) {
    for (int i = 0; i < info.dlpi_phnum; ++i) {
        const auto& header = info.dlpi_phdr[i];
        if (header.p_type != PT_LOAD || (header.p_flags & PF_W) == 0) continue;
        constexpr uintptr_t kWord_bytes = sizeof(uintptr_t);
        uintptr_t at = info.dlpi_addr + header.p_vaddr;
        const uintptr_t end = at + header.p_memsz;
        at = (at + kWord_bytes - 1) / kWord_bytes * kWord_bytes;
        uintptr_t page_end = 0;
        for (; at + kWord_bytes <= end; at += kWord_bytes) {
            constexpr uintptr_t kStep_bytes = 4096;
            if (at >= page_end) {
                page_end = (at / kStep_bytes + 1) * kStep_bytes;
                if (place.look->memory->access_to(at) == Access::none) {
                    place.look->has_gap = true;
                    at = page_end - kWord_bytes;
                    continue;
                }
            }
            visit_word(place, at);
        }
    }
}

void patch_object(Look& look, const dl_phdr_info& info, Known& known) {
    Place place{&look, &known, extent_of(info), relro_of(info), false, false, false};
    Image image;
    const bool is_first = look.pass == Pass::endings;
    const bool is_driver = place.own.contains(look.driver.first);
    if (!is_driver && (is_first || known.has_references) && open_image(info, image)) {
        for_each_reference(image, [&place](const char* name, uintptr_t slot) {
            visit_reference(place, name, slot);
            return true;
        });
    }
    if (!is_driver && (is_first || known.has_pointers)) visit_data(place, info);
    if (place.has_any && starts_with(loaded_object(info).base_name, "libc10_cuda"))
        add_caller(loaded_object(info));  // whose version is told
    if (is_first) return;
    // Where we have business the first look may have come in the middle of a library's start.
    const bool has_business = known.has_references || known.has_pointers;
    const bool is_done = !place.is_late && (known.look_count != 0 || !has_business);
    known.is_finished = is_done || known.look_count == kMostLooks;
    ++known.look_count;
    known.waits_to_say = place.is_refused && !known.says_blind;
}

bool are_slots_ours(uintptr_t begin) {
    for (PatchedSlot& slot : g_slots) {
        if (slot.object() == begin && load_word_at(slot.address) != slot.hook) return false;
    }
    return true;
}

int visit_object(dl_phdr_info* info, size_t, void* data) {
    auto& look = *static_cast<Look*>(data);
    if (look.at++ < look.first || is_this_library(*info)) return 0;
    Image image;
    if (!open_image(*info, image)) return 0;
    const uintptr_t begin = extent_of(*info).begin;
    const uint64_t identity = identity_of(reinterpret_cast<uintptr_t>(image.dynamic), info->dlpi_name);
    Known* known = known_object(identity, begin, look.at - 1);
    if (known == nullptr) return 0;
    g_slots.forget(begin, identity);
    known->is_loaded = true;
    if (known->is_finished && are_slots_ours(begin)) return 0;
    patch_object(look, *info, *known);
    return 1;
}

// False: the map lacked something.
bool run_pass(Pass pass, const MemoryMap& memory) {
    Look look{pass, &memory, known_entry_points(), 0, 0, false};
    for (bool ended = false; !ended;) {
        look.at = 0;
        ended = dl_iterate_phdr(visit_object, &look) == 0;
        look.first = look.at;
    }
    return !look.has_gap;
}

// The kernel's list of a process that maps memory meanwhile may lack parts: then once more.
void run_passes() {
    constexpr int kMostReadings = 4;
    for (int i = 0; i < kMostReadings; ++i) {
        const MemoryMap memory;
        const bool endings_done = run_pass(Pass::endings, memory);
        if (run_pass(Pass::all, memory) && endings_done) return;
    }
}

void forget_unloaded() {
    uint32_t kept = 0;
    g_knowledge.unfinished_count = 0;
    for (uint32_t i = 0; i < g_knowledge.object_count; ++i) {
        const Known& object = g_knowledge.objects[i];
        if (!object.is_loaded) {
            constexpr uint64_t kNobody = 0;
            g_slots.forget(object.begin, kNobody);
            continue;
        }
        if (!object.is_finished) ++g_knowledge.unfinished_count;
        g_knowledge.objects[kept++] = object;
    }
    g_knowledge.object_count = kept;
}

struct Changes {
    uint64_t added, removed;
};

int visit_changes(dl_phdr_info* info, size_t, void* data) {
    *static_cast<Changes*>(data) = {info->dlpi_adds, info->dlpi_subs};
    return 1;
}

// Outside of the walk: the record may make a table of libraries grow.
void say_refused(Recorder& recorder) {
    for (uint32_t i = 0; i < g_knowledge.object_count; ++i) {
        Known& known = g_knowledge.objects[i];
        if (!known.waits_to_say) continue;
        known.waits_to_say = false;
        known.says_blind = true;
        LoadedObject object = object_at(known.begin);
        if (object.begin == known.begin)
            record_blind(recorder, wire::Blind::deepbind, wire::Op::none, add_caller(object));
    }
}

struct Restore {
    bool is_whole;
    const MemoryMap* memory;
};

int visit_restored(dl_phdr_info* info, size_t, void* data) {
    auto& restore = *static_cast<Restore*>(data);
    Image image;
    if (is_this_library(*info) || !open_image(*info, image)) return 0;
    const uintptr_t begin = extent_of(*info).begin;
    const uint64_t identity = identity_of(reinterpret_cast<uintptr_t>(image.dynamic), info->dlpi_name);
    for (PatchedSlot& slot : g_slots) {
        if (slot.object() != begin || slot.identity != identity) continue;
        const bool is_ours = load_word_at(slot.address) == slot.hook;
        if (is_ours &&
            !replace_word(slot.address, slot.hook, slot.held, restore.memory->access_to(slot.address)))
            restore.is_whole = false;
    }
    return 0;
}

}  // namespace

bool sweep_slots(Recorder* recorder) {
    if (g_process.scanning.exchange(1, std::memory_order_acquire) != 0) return false;
    Changes changes{};
    dl_iterate_phdr(visit_changes, &changes);
    const bool changed = changes.added != g_knowledge.added || changes.removed != g_knowledge.removed;
    if (changed || g_knowledge.unfinished_count != 0) {
        g_knowledge.added = changes.added;
        g_knowledge.removed = changes.removed;
        for (uint32_t i = 0; i < g_knowledge.object_count; ++i) {
            g_knowledge.objects[i].is_loaded = false;
        }
        run_passes();
        forget_unloaded();
        EventScope scope(Start::never);
        if (recorder != nullptr && scope.recorder() == recorder) say_refused(*recorder);
    }
    g_process.scanning.store(0, std::memory_order_release);
    return true;
}

bool restore_slots() {
    constexpr int kMostReadings = 4;
    Restore restore{false, nullptr};
    for (int i = 0; i < kMostReadings && !restore.is_whole; ++i) {
        const MemoryMap memory;
        restore = Restore{true, &memory};
        dl_iterate_phdr(visit_restored, &restore);
    }
    // The next sweep starts anew.
    g_knowledge.object_count = 0;
    g_knowledge.unfinished_count = 0;
    g_knowledge.added = 0;
    return restore.is_whole;
}

}  // namespace memsnap::recorder
