// SPDX-License-Identifier: Apache-2.0
#include "elf_lookup.h"

#include "elf_image.h"
#include "text.h"

namespace memsnap::recorder {
namespace {

constexpr uint16_t kVersionMask = 0x7fff;
constexpr uint16_t kHiddenBit = 0x8000;
constexpr uint16_t kGlobalVersion = 1;

size_t g_startup_count = 0;
bool g_is_loaded_late = false;

bool contains(const dl_phdr_info& info, uintptr_t address) {
    return extent_of(info).contains(address);
}

// The version that a reference of `image` to `name` asks for, or null.
const char* wanted_version(const Image& image, const char* name) {
    if (image.versions == nullptr || image.needs == nullptr || image.gnu_hash == nullptr) return nullptr;
    uint32_t first_defined = image.gnu_hash[1];
    for (uint32_t i = 1; i < first_defined; ++i) {
        if (!equal(image.strings + image.symbols[i].st_name, name)) continue;
        uint16_t wanted = image.versions[i] & kVersionMask;
        for (const char* p = image.needs;;) {
            const auto* need = reinterpret_cast<const ElfW(Verneed)*>(p);
            const char* q = p + need->vn_aux;
            for (unsigned k = 0; k < need->vn_cnt; ++k) {
                const auto* aux = reinterpret_cast<const ElfW(Vernaux)*>(q);
                if ((aux->vna_other & kVersionMask) == wanted) return image.strings + aux->vna_name;
                q += aux->vna_next;
            }
            if (need->vn_next == 0) return nullptr;
            p += need->vn_next;
        }
    }
    return nullptr;
}

// Whether the definition with this version index answers a reference to `wanted` (null: to no version).
bool version_fits(const Image& image, size_t symbol, const char* wanted) {
    if (image.versions == nullptr) return true;
    uint16_t index = image.versions[symbol] & kVersionMask;
    if (wanted == nullptr) return (image.versions[symbol] & kHiddenBit) == 0;
    if (index <= kGlobalVersion || image.definitions == nullptr) return true;
    for (const char* p = image.definitions;;) {
        const auto* definition = reinterpret_cast<const ElfW(Verdef)*>(p);
        if ((definition->vd_ndx & kVersionMask) == index) {
            const auto* aux = reinterpret_cast<const ElfW(Verdaux)*>(p + definition->vd_aux);
            return equal(image.strings + aux->vda_name, wanted);
        }
        if (definition->vd_next == 0) return false;
        p += definition->vd_next;
    }
}

uint32_t gnu_hash_of(const char* name) {
    uint32_t hash = 5381;
    for (; *name != '\0'; ++name) {
        hash = hash * 33 + static_cast<unsigned char>(*name);
    }
    return hash;
}

void* find_in(const Image& image, const char* name, const char* wanted, uint32_t type = STT_FUNC) {
    if (image.gnu_hash == nullptr) return nullptr;
    uint32_t bucket_count = image.gnu_hash[0];
    uint32_t first_defined = image.gnu_hash[1];
    uint32_t filter_words = image.gnu_hash[2];
    const auto* filter = reinterpret_cast<const ElfW(Addr)*>(image.gnu_hash + 4);
    const auto* buckets = reinterpret_cast<const uint32_t*>(filter + filter_words);
    const uint32_t* chains = buckets + bucket_count;
    if (bucket_count == 0) return nullptr;
    uint32_t hash = gnu_hash_of(name);
    uint32_t index = buckets[hash % bucket_count];
    if (index < first_defined) return nullptr;
    for (;; ++index) {
        uint32_t chained = chains[index - first_defined];
        const Symbol& symbol = image.symbols[index];
        if ((chained | 1) == (hash | 1) && symbol.st_shndx != SHN_UNDEF &&
            ELF64_ST_TYPE(symbol.st_info) == type && equal(image.strings + symbol.st_name, name) &&
            version_fits(image, index, wanted)) {
            return reinterpret_cast<void*>(image.base + symbol.st_value);
        }
        if ((chained & 1) != 0) return nullptr;
    }
}

// One search; lives on the stack of the first call from a library.
struct Search {
    uintptr_t caller = 0;
    const char* name = nullptr;
    const char* version = nullptr;
    uint32_t type = STT_FUNC;
    bool everywhere = false;  // also before this library
    bool startup_only = false;
    size_t visited = 0;        // objects the walk has passed
    bool passed_this = false;  // and whether this library was one of them
    void* own = nullptr;       // the calling library's own definition
    void* found = nullptr;
    // Needed libraries still to be looked into, by name; the strings lie in loaded objects.
    static constexpr size_t kQueueCapacity = 256;
    const char* queue[kQueueCapacity];
    size_t queue_size = 0;
    size_t queue_next = 0;
};

void enqueue_needed(Search& search, const Image& image) {
    for (const auto* entry = image.dynamic; entry->d_tag != DT_NULL; ++entry) {
        if (entry->d_tag != DT_NEEDED || search.queue_size == Search::kQueueCapacity) continue;
        const char* needed = image.strings + entry->d_un.d_val;
        bool known = false;
        for (size_t i = 0; i < search.queue_size && !known; ++i) {
            known = equal(search.queue[i], needed);
        }
        if (!known) search.queue[search.queue_size++] = needed;
    }
}

// A caller loaded before this library is another preload that reached us by RTLD_NEXT: its own definition is
// where the call came from, not where it goes.
int visit_caller(dl_phdr_info* info, size_t, void* data) {
    auto& search = *static_cast<Search*>(data);
    if (is_this_library(*info)) search.passed_this = true;
    if (!contains(*info, search.caller)) return 0;
    Image image;
    if (open_image(*info, image)) {
        search.version = wanted_version(image, search.name);
        if (search.passed_this && !is_this_library(*info))
            search.own = find_in(image, search.name, search.version, search.type);
        enqueue_needed(search, image);
    }
    return 1;
}

// Only what comes after this library: had anything before it defined the name, the call would not be here.
int visit_in_load_order(dl_phdr_info* info, size_t, void* data) {
    auto& search = *static_cast<Search*>(data);
    if (search.startup_only && search.visited >= g_startup_count) return 1;
    ++search.visited;
    if (is_this_library(*info)) {
        search.passed_this = true;
        return 0;
    }
    Image image;
    if (!search.passed_this || !open_image(*info, image)) return 0;
    search.found = find_in(image, search.name, search.version, search.type);
    return search.found != nullptr ? 1 : 0;
}

int visit_needed(dl_phdr_info* info, size_t, void* data) {
    auto& search = *static_cast<Search*>(data);
    const char* needed = search.queue[search.queue_next];
    Image image;
    if (is_this_library(*info) || !open_image(*info, image)) return 0;
    bool named = (image.so_name != nullptr && equal(image.so_name, needed)) ||
                 (info->dlpi_name != nullptr && equal(base_name(info->dlpi_name), needed));
    if (!named) return 0;
    search.found = find_in(image, search.name, search.version, search.type);
    enqueue_needed(search, image);
    return 1;
}

// Runs inside one outer dl_iterate_phdr, whose lock keeps every string and table of the search in place.
int run_search(dl_phdr_info*, size_t, void* data) {
    auto& search = *static_cast<Search*>(data);
    if (search.caller != 0) dl_iterate_phdr(visit_caller, data);
    search.passed_this = search.everywhere;
    search.startup_only = true;
    dl_iterate_phdr(visit_in_load_order, data);
    if (search.found == nullptr) search.found = search.own;
    while (search.found == nullptr && search.queue_next < search.queue_size) {
        dl_iterate_phdr(visit_needed, data);
        ++search.queue_next;
    }
    if (search.found == nullptr) {
        search.visited = 0;
        search.passed_this = search.everywhere;
        search.startup_only = false;
        dl_iterate_phdr(visit_in_load_order, data);
    }
    return 1;
}

struct Place {
    uintptr_t address = 0;
    Path* path = nullptr;  // wanted as well
    LoadedObject object;
};

int visit_place(dl_phdr_info* info, size_t, void* data) {
    auto& place = *static_cast<Place*>(data);
    if (!contains(*info, place.address)) return 0;
    place.object = loaded_object(*info);
    if (place.path != nullptr) place.path->add(info->dlpi_name);
    return 1;
}

void* find_everywhere(const char* name, uint32_t type) {
    Search search;
    search.name = name;
    search.type = type;
    search.everywhere = true;
    dl_iterate_phdr(run_search, &search);
    return search.found;
}

// Places in the list of objects, from 1: 0 is none.
struct Startup {
    uintptr_t linker_base = 0;
    size_t count = 0;
    size_t linker = 0;
    size_t ours = 0;
};

// Where the dynamic linker itself lies, as it tells debuggers.
uintptr_t linker_base(const dl_phdr_info& program) {
    Image image;
    if (!open_image(program, image)) return 0;
    for (const auto* entry = image.dynamic; entry->d_tag != DT_NULL; ++entry) {
        const auto* view = reinterpret_cast<const r_debug*>(entry->d_un.d_ptr);
        if (entry->d_tag == DT_DEBUG && view != nullptr) return view->r_ldbase;
    }
    return 0;
}

int visit_startup(dl_phdr_info* info, size_t, void* data) {
    auto& startup = *static_cast<Startup*>(data);
    if (startup.count++ == 0) startup.linker_base = linker_base(*info);
    if (is_this_library(*info)) startup.ours = startup.count;
    if (startup.linker_base != 0 && info->dlpi_addr == startup.linker_base) startup.linker = startup.count;
    return 0;
}

}  // namespace

// The dynamic linker comes behind what it was asked to load at start, and before all that is loaded later.
void remember_startup_objects() {
    Startup startup;
    dl_iterate_phdr(visit_startup, &startup);
    g_is_loaded_late = startup.linker != 0 && startup.ours > startup.linker;
    g_startup_count = g_is_loaded_late ? startup.linker : startup.count;
}

bool is_loaded_late() {
    return g_is_loaded_late;
}

LoadedObject object_at(uintptr_t address) {
    Place place;
    place.address = address;
    dl_iterate_phdr(visit_place, &place);
    return place.object;
}

bool path_of_object(uintptr_t begin, Path& path) {
    Place place;
    place.address = begin;
    place.path = &path;
    dl_iterate_phdr(visit_place, &place);
    return path.size() != 0 && !path.cut();
}

void* find_original(uintptr_t caller, const char* name) {
    Search search;
    search.everywhere = g_is_loaded_late;  // we stand before nobody
    search.caller = caller;
    search.name = name;
    dl_iterate_phdr(run_search, &search);
    return search.found;
}

void* find_symbol(const char* name) {
    return find_everywhere(name, STT_FUNC);
}

void* find_data(const char* name) {
    return find_everywhere(name, STT_OBJECT);
}

}  // namespace memsnap::recorder
