// SPDX-License-Identifier: Apache-2.0
#include "blind_scan.h"

#include <sys/mman.h>

#include "blind.h"
#include "callers.h"
#include "elf_image.h"
#include "unwrapped.h"

namespace memsnap::recorder {
namespace {

constexpr uint32_t kObjectCapacity = 16384;
constexpr uint32_t kSlotCapacity = 65536;

// A reference that waits for its first call: where it will be bound is not known yet.
struct Slot {
    uintptr_t address;
    bool is_resolver;
};

struct Object {
    uint64_t identity;
    bool is_loaded;
    bool says_deepbind, says_resolver;  // recorded already
    uint32_t first_slot, slot_count;    // undecided ones
};

// What the scans of one process know. Pages come when they are touched.
struct Knowledge {
    uint32_t generation;  // of the recorder that it was said to
    uint64_t added, removed;
    uint32_t object_count, slot_count, undecided_count, unwrapped_recorded;
    Object objects[kObjectCapacity];
    Slot slots[kSlotCapacity];
};
Knowledge* g_knowledge = nullptr;

// ---- what a reference leads to

enum class Lead : uint8_t {
    here,       // to us, or to another tool that stands before us and decides itself
    undecided,  // not bound yet, or its object not relocated
    elsewhere
};

struct Target {
    uintptr_t address;
    Lead lead;
    bool passed_us;
};

int visit_target(dl_phdr_info* info, size_t, void* data) {
    auto& target = *static_cast<Target*>(data);
    if (is_this_library(*info)) target.passed_us = true;
    if (!extent_of(*info).contains(target.address)) return 0;
    target.lead = target.passed_us ? Lead::elsewhere : Lead::here;
    return 1;
}

Lead lead_of(uintptr_t slot, const Extent& own, const Extent& ours) {
    uintptr_t address = __atomic_load_n(reinterpret_cast<uintptr_t*>(slot), __ATOMIC_RELAXED);
    if (ours.contains(address)) return Lead::here;
    if (address == 0 || own.contains(address)) return Lead::undecided;  // 0: or a weak reference to nothing
    Target target{address, Lead::undecided, false};
    dl_iterate_phdr(visit_target, &target);
    return target.lead;
}

// ---- one object

// One look inside dl_iterate_phdr: at all known objects, up to and with the first that is new or that
// something must be said of.
struct Look {
    uint32_t first = 0;  // the objects before it were looked at
    uint32_t at = 0;
    Extent ours;
    bool deepbind = false;
    bool resolver = false;
    LoadedObject object;  // filled when one of the two is
};

// Objects are mostly known in the order in which they are listed.
Object* find_object(uint64_t identity, uint32_t expected) {
    const uint32_t count = g_knowledge->object_count;
    for (uint32_t i = 0; i < count; ++i) {
        Object& object = g_knowledge->objects[(expected + i) % count];
        if (object.identity == identity) return &object;
    }
    return nullptr;
}

Object* add_object(uint64_t identity) {
    if (g_knowledge->object_count == kObjectCapacity) return nullptr;
    Object& object = g_knowledge->objects[g_knowledge->object_count++];
    object = Object{};
    object.identity = identity;
    object.first_slot = g_knowledge->slot_count;
    return &object;
}

void take_in(Look& look, bool is_resolver, Lead lead) {
    if (lead != Lead::elsewhere) return;
    look.resolver = look.resolver || is_resolver;
    look.deepbind = look.deepbind || !is_resolver;
}

void examine(Look& look, Object& object, const Image& image, const Extent& own) {
    for_each_reference(image, [&](const char* name, uintptr_t slot) {
        bool is_resolver = equal(name, "dlsym");
        if ((!is_resolver && !is_hooked(name)) || !own.contains(slot)) return true;
        Lead lead = lead_of(slot, own, look.ours);
        take_in(look, is_resolver, lead);
        if (lead == Lead::undecided && g_knowledge->slot_count < kSlotCapacity) {
            g_knowledge->slots[g_knowledge->slot_count++] = Slot{slot, is_resolver};
            ++object.slot_count;
        }
        return true;
    });
}

void examine_again(Look& look, Object& object, const Extent& own) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < object.slot_count; ++i) {
        Slot slot = g_knowledge->slots[object.first_slot + i];
        Lead lead = lead_of(slot.address, own, look.ours);
        take_in(look, slot.is_resolver, lead);
        if (lead == Lead::undecided) g_knowledge->slots[object.first_slot + kept++] = slot;
    }
    object.slot_count = kept;
}

// The stronger of the two statements is made, each once.
void choose_statement(Look& look, Object& object) {
    look.deepbind = look.deepbind && !object.says_deepbind;
    look.resolver = look.resolver && !look.deepbind && !object.says_deepbind && !object.says_resolver;
    object.says_deepbind = object.says_deepbind || look.deepbind;
    object.says_resolver = object.says_resolver || look.resolver;
}

int visit_object(dl_phdr_info* info, size_t, void* data) {
    auto& look = *static_cast<Look*>(data);
    if (look.at++ < look.first) return 0;
    Image image;
    const Extent own = extent_of(*info);
    if (own.begin == look.ours.begin || !open_image(*info, image)) return 0;
    uint64_t identity = identity_of(reinterpret_cast<uintptr_t>(image.dynamic), info->dlpi_name);
    Object* object = find_object(identity, look.at - 1);
    const bool is_new = object == nullptr;
    if (is_new) {
        object = add_object(identity);
        if (object == nullptr) return 0;
        examine(look, *object, image, own);
    } else {
        examine_again(look, *object, own);
    }
    object->is_loaded = true;
    g_knowledge->undecided_count += object->slot_count;
    choose_statement(look, *object);
    if (look.deepbind || look.resolver) look.object = loaded_object(*info);
    return is_new || look.deepbind || look.resolver ? 1 : 0;
}

void say(Recorder& recorder, wire::Blind reason, const LoadedObject& object) {
    record_blind(recorder, reason, wire::Op::none, add_caller(object));
}

void scan_objects(Recorder& recorder, const Extent& ours) {
    for (uint32_t i = 0; i < g_knowledge->object_count; ++i) {
        g_knowledge->objects[i].is_loaded = false;
    }
    g_knowledge->undecided_count = 0;
    uint32_t first = 0;
    for (bool ended = false; !ended;) {
        Look look;
        look.first = first;
        look.ours = ours;
        ended = dl_iterate_phdr(visit_object, &look) == 0;
        first = look.at;
        if (look.deepbind) say(recorder, wire::Blind::deepbind, look.object);
        if (look.resolver) say(recorder, wire::Blind::resolver_bypassed, look.object);
    }
}

// ---- other namespaces

// glibc 2.35 and later lists them behind the debugger's view of the first one (r_version 2).
struct NamespaceView {
    r_debug debug;
    NamespaceView* next;
};

const NamespaceView* debugger_view(const dl_phdr_info& program) {
    Image image;
    if (!open_image(program, image)) return nullptr;
    for (const auto* entry = image.dynamic; entry->d_tag != DT_NULL; ++entry) {
        if (entry->d_tag == DT_DEBUG) return reinterpret_cast<const NamespaceView*>(entry->d_un.d_ptr);
    }
    return nullptr;
}

bool is_cuda(const link_map& map) {
    const char* name = map.l_name == nullptr ? "" : base_name(map.l_name);
    if (starts_with(name, "libcudart.so") || starts_with(name, "libcuda.so")) return true;
    Image image;
    bool imports = false;
    if (!open_image(map.l_addr, map.l_ld, image)) return false;
    for_each_reference(image, [&imports](const char* reference, uintptr_t) {
        imports = is_hooked(reference);
        return !imports;
    });
    return imports;
}

// The first one not yet known about.
int visit_namespaces(dl_phdr_info* program, size_t, void* data) {
    auto& found = *static_cast<LoadedObject*>(data);
    const NamespaceView* view = debugger_view(*program);
    if (view == nullptr || view->debug.r_version < 2) return 1;
    for (view = view->next; view != nullptr; view = view->next) {
        for (const link_map* map = view->debug.r_map; map != nullptr; map = map->l_next) {
            auto dynamic = reinterpret_cast<uintptr_t>(map->l_ld);
            uint64_t identity = identity_of(dynamic, map->l_name);
            Object* object = find_object(identity, 0);
            if (object != nullptr) {
                object->is_loaded = true;
                continue;
            }
            object = add_object(identity);
            if (object == nullptr) return 1;
            object->is_loaded = true;
            if (!is_cuda(*map)) continue;
            // It never calls us: its range only has to be nobody else's.
            found.begin = dynamic;
            found.end = dynamic + 1;
            set_name(found, map->l_name);
            return 1;
        }
    }
    return 1;
}

void scan_namespaces(Recorder& recorder) {
    for (;;) {
        LoadedObject found;
        dl_iterate_phdr(visit_namespaces, &found);
        if (found.begin == 0) return;
        say(recorder, wire::Blind::dlmopen, found);
    }
}

// ---- all of it

// Room for the slots of objects to come: those of objects that are gone go.
void forget_unloaded() {
    uint32_t objects = 0;
    uint32_t slots = 0;
    for (uint32_t i = 0; i < g_knowledge->object_count; ++i) {
        Object object = g_knowledge->objects[i];
        if (!object.is_loaded) continue;
        for (uint32_t k = 0; k < object.slot_count; ++k) {
            g_knowledge->slots[slots + k] = g_knowledge->slots[object.first_slot + k];
        }
        object.first_slot = slots;
        slots += object.slot_count;
        g_knowledge->objects[objects++] = object;
    }
    g_knowledge->object_count = objects;
    g_knowledge->slot_count = slots;
}

struct Changes {
    uint64_t added = 0;
    uint64_t removed = 0;
    Extent ours;
};

int visit_changes(dl_phdr_info* info, size_t, void* data) {
    auto& changes = *static_cast<Changes*>(data);
    changes.added = info->dlpi_adds;
    changes.removed = info->dlpi_subs;
    if (!is_this_library(*info)) return 0;
    changes.ours = extent_of(*info);
    return 1;
}

bool prepare(const Recorder& recorder) {
    if (g_knowledge == nullptr) {
        void* memory = mmap(nullptr, sizeof(Knowledge), PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED) return false;
        madvise(memory, sizeof(Knowledge), MADV_DONTDUMP);
        g_knowledge = static_cast<Knowledge*>(memory);
    }
    // A forked child has the same objects, and a file that nothing was said in yet.
    if (g_knowledge->generation != recorder.generation) {
        g_knowledge->generation = recorder.generation;
        g_knowledge->object_count = 0;
        g_knowledge->slot_count = 0;
        g_knowledge->unwrapped_recorded = 0;
        g_knowledge->added = 0;
    }
    return true;
}

void scan(Recorder& recorder) {
    if (!prepare(recorder)) return;
    g_knowledge->unwrapped_recorded = record_unwrapped(recorder, g_knowledge->unwrapped_recorded);
    Changes changes;
    dl_iterate_phdr(visit_changes, &changes);
    bool changed = changes.added != g_knowledge->added || changes.removed != g_knowledge->removed;
    if (!changed && g_knowledge->undecided_count == 0) return;
    g_knowledge->added = changes.added;
    g_knowledge->removed = changes.removed;
    scan_objects(recorder, changes.ours);
    if (!changed) return;
    scan_namespaces(recorder);
    forget_unloaded();
    // What a failed dlopen loaded goes without a dlclose.
    retire_unloaded_callers();
}

}  // namespace

void scan_blind_spots(Recorder& recorder) {
    if (g_process.scanning.exchange(1, std::memory_order_acquire) != 0) return;
    EventScope scope(Start::never);
    if (scope.recorder() == &recorder) scan(recorder);
    g_process.scanning.store(0, std::memory_order_release);
}

}  // namespace memsnap::recorder
