// SPDX-License-Identifier: Apache-2.0
//
// One loaded object as its dynamic section describes it. The rule: everything here points into the object
// itself, so it holds only inside a dl_iterate_phdr callback, whose lock keeps the object loaded.
#pragma once

#include <elf.h>
#include <link.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include "elf_lookup.h"

namespace memsnap::recorder {

using Symbol = ElfW(Sym);

struct Image {
    uintptr_t base = 0;
    const ElfW(Dyn) * dynamic = nullptr;
    const char* strings = nullptr;
    const Symbol* symbols = nullptr;
    const uint32_t* gnu_hash = nullptr;
    const uint16_t* versions = nullptr;
    const char* definitions = nullptr;  // ElfW(Verdef) chain
    const char* needs = nullptr;        // ElfW(Verneed) chain
    const char* so_name = nullptr;
};

// Addresses in .dynamic are relocated in place by glibc where the section is writable, and left alone
// elsewhere.
inline uintptr_t loaded_address(uintptr_t base, uintptr_t value) {
    return value < base ? base + value : value;
}

// From its first to behind its last loaded segment.
struct Extent {
    uintptr_t begin = 0;
    uintptr_t end = 0;
    bool contains(uintptr_t address) const { return address >= begin && address < end; }
};

// Tells objects apart that may come to lie at one address.
uint64_t identity_of(uintptr_t dynamic, const char* name);

bool open_image(const dl_phdr_info& info, Image& image);
// An object of another namespace, of which the dynamic linker tells no more than these two.
bool open_image(uintptr_t base, const ElfW(Dyn) * dynamic, Image& image);

Extent extent_of(const dl_phdr_info& info);
bool is_this_library(const dl_phdr_info& info);
LoadedObject loaded_object(const dl_phdr_info& info);
void set_name(LoadedObject& object, const char* path);

// Calls visit(name, slot) for each relocation of a reference to a symbol that other objects define; the slot
// holds the definition's address once it is bound. Ends early when visit returns false.
template <typename Visit>
void for_each_reference(const Image& image, Visit visit) {
    struct Table {
        uintptr_t address = 0;
        size_t size_bytes = 0;
    };
    Table bound_at_load;
    Table bound_when_called;
    size_t relative_count = 0;
    for (const auto* entry = image.dynamic; entry->d_tag != DT_NULL; ++entry) {
        if (entry->d_tag == DT_RELA) bound_at_load.address = entry->d_un.d_ptr;
        if (entry->d_tag == DT_RELASZ) bound_at_load.size_bytes = entry->d_un.d_val;
        if (entry->d_tag == DT_RELACOUNT) relative_count = entry->d_un.d_val;
        if (entry->d_tag == DT_JMPREL) bound_when_called.address = entry->d_un.d_ptr;
        if (entry->d_tag == DT_PLTRELSZ) bound_when_called.size_bytes = entry->d_un.d_val;
    }
    for (const Table& table : {bound_at_load, bound_when_called}) {
        if (table.address == 0) continue;
        const auto* first = reinterpret_cast<const ElfW(Rela)*>(loaded_address(image.base, table.address));
        const auto* end = first + table.size_bytes / sizeof *first;
        // The relative ones come first and name no symbol: most of a large library's.
        if (table.address == bound_at_load.address) first += relative_count;
        for (; first < end; ++first) {
            const Symbol& symbol = image.symbols[ELF64_R_SYM(first->r_info)];
            if (symbol.st_name == 0 || symbol.st_shndx != SHN_UNDEF) continue;
            if (!visit(image.strings + symbol.st_name, image.base + first->r_offset)) return;
        }
    }
}

}  // namespace memsnap::recorder
