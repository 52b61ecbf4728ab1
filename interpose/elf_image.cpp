// SPDX-License-Identifier: Apache-2.0
#include "elf_image.h"

#include <string.h>

#include "text.h"

extern "C" __attribute__((visibility("hidden"))) const char __ehdr_start[];

namespace memsnap::recorder {
namespace {

template <typename T>
const T* at(uintptr_t base, uintptr_t value) {
    return reinterpret_cast<const T*>(loaded_address(base, value));
}

}  // namespace

uint64_t identity_of(uintptr_t dynamic, const char* name) {
    return fnv1a(name == nullptr ? "" : name) ^ (dynamic * 0x9e3779b97f4a7c15);
}

bool open_image(const dl_phdr_info& info, Image& image) {
    const ElfW(Dyn)* dynamic = nullptr;
    for (int i = 0; i < info.dlpi_phnum; ++i) {
        if (info.dlpi_phdr[i].p_type == PT_DYNAMIC) {
            dynamic = reinterpret_cast<const ElfW(Dyn)*>(info.dlpi_addr + info.dlpi_phdr[i].p_vaddr);
        }
    }
    return open_image(info.dlpi_addr, dynamic, image);
}

bool open_image(uintptr_t base, const ElfW(Dyn) * dynamic, Image& image) {
    image = Image{};
    image.base = base;
    image.dynamic = dynamic;
    if (dynamic == nullptr) return false;
    uintptr_t so_name_offset = 0;
    for (const auto* entry = dynamic; entry->d_tag != DT_NULL; ++entry) {
        uintptr_t value = entry->d_un.d_ptr;
        if (entry->d_tag == DT_STRTAB) image.strings = at<char>(base, value);
        if (entry->d_tag == DT_SYMTAB) image.symbols = at<Symbol>(base, value);
        if (entry->d_tag == DT_GNU_HASH) image.gnu_hash = at<uint32_t>(base, value);
        if (entry->d_tag == DT_VERSYM) image.versions = at<uint16_t>(base, value);
        if (entry->d_tag == DT_VERDEF) image.definitions = at<char>(base, value);
        if (entry->d_tag == DT_VERNEED) image.needs = at<char>(base, value);
        if (entry->d_tag == DT_SONAME) so_name_offset = value;
    }
    if (image.strings == nullptr || image.symbols == nullptr) return false;
    if (so_name_offset != 0) image.so_name = image.strings + so_name_offset;
    return true;
}

Extent extent_of(const dl_phdr_info& info) {
    Extent extent;
    extent.begin = ~uintptr_t{0};
    for (int i = 0; i < info.dlpi_phnum; ++i) {
        const auto& header = info.dlpi_phdr[i];
        if (header.p_type != PT_LOAD) continue;
        uintptr_t begin = info.dlpi_addr + header.p_vaddr;
        if (begin < extent.begin) extent.begin = begin;
        if (begin + header.p_memsz > extent.end) extent.end = begin + header.p_memsz;
    }
    return extent;
}

bool is_this_library(const dl_phdr_info& info) {
    return extent_of(info).contains(reinterpret_cast<uintptr_t>(&__ehdr_start));
}

void set_name(LoadedObject& object, const char* path) {
    if (path != nullptr) strncpy(object.base_name, base_name(path), sizeof object.base_name - 1);
}

LoadedObject loaded_object(const dl_phdr_info& info) {
    Extent extent = extent_of(info);
    LoadedObject object;
    object.begin = extent.begin;
    object.end = extent.end;
    set_name(object, info.dlpi_name);
    return object;
}

}  // namespace memsnap::recorder
