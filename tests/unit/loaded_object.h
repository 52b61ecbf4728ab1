// SPDX-License-Identifier: Apache-2.0
//
// A loaded object of this very program, as a recorder would have told it.
#pragma once

#include <link.h>

#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "catch.h"
#include "reader_sites.h"

namespace memsnap::test {

// The object whose path ends so; the program's own is empty.
inline int take_object(dl_phdr_info* info, size_t, void* into) {
    auto& object = *static_cast<LoadedObject*>(into);
    const std::string_view path = info->dlpi_name;
    if (object.path.empty() ? !path.empty() : !path.ends_with(object.path)) return 0;
    if (!object.path.empty()) object.path = path;
    object.bias = info->dlpi_addr;
    for (const auto& header : std::span(info->dlpi_phdr, info->dlpi_phnum)) {
        if (header.p_type != PT_NOTE) continue;
        const auto* at = reinterpret_cast<const char*>(info->dlpi_addr + header.p_vaddr);
        for (const char* const end = at + header.p_memsz; at < end;) {
            ElfW(Nhdr) note;
            std::memcpy(&note, at, sizeof note);
            const char* const name = at + sizeof note;
            const char* const text = name + (note.n_namesz + 3) / 4 * 4;
            if (note.n_type == NT_GNU_BUILD_ID && std::memcmp(name, "GNU", 4) == 0) {
                const auto* const bytes = reinterpret_cast<const std::byte*>(text);
                object.build_id.assign(bytes, bytes + note.n_descsz);
            }
            at = text + (note.n_descsz + 3) / 4 * 4;
        }
    }
    return 1;
}

inline LoadedObject loaded(const std::string& path_end) {
    LoadedObject object;
    object.path = path_end;
    ::dl_iterate_phdr(take_object, &object);
    REQUIRE(!object.build_id.empty());
    if (object.path.empty()) object.path = "/proc/self/exe";
    return object;
}
}  // namespace memsnap::test
