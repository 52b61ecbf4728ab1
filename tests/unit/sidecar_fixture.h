// SPDX-License-Identifier: Apache-2.0
//
// A ring beside which a sidecar lies.
#pragma once

#include <algorithm>
#include <fstream>
#include <memory>

#include "catch.h"
#include "reader_names.h"
#include "ring_fixture.h"
#include "sidecar_writer.h"

namespace memsnap::test {

inline void write_sidecar(const SidecarWriter& sidecar, const std::string& ring_path,
                          size_t file_bytes = SIZE_MAX) {
    const std::vector<std::byte> bytes = sidecar.bytes();
    std::ofstream(ring_path + kNamesSuffix, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(std::min(file_bytes, bytes.size())));
}

// A ring with one library of name id 7, and what is beside it.
struct Named {
    Folder folder;
    std::unique_ptr<Capture> capture;
    SidecarWriter sidecar;

    explicit Named(wire::Sidecar beside = wire::Sidecar::beside) {
        RingWriter ring;
        ring.header().sidecar = beside;
        ring.library_entry(2, wire::LibraryRole::program);
        ring.library_at(2).name = 7;
        ring.write(folder.file("ring.bin"));
        capture = std::make_unique<Capture>(std::move(*Capture::read(folder.file("ring.bin"))));
    }

    Names names(size_t file_bytes = SIZE_MAX) const {
        write_sidecar(sidecar, folder.file("ring.bin"), file_bytes);
        return read_names(*capture);
    }
};

// Code of CPython 3.12 whose instruction 2n is on line first_line + n.
inline std::vector<std::byte> line_a_unit(size_t unit_count) {
    std::vector<std::byte> table;
    for (size_t unit = 0; unit < unit_count; ++unit) {
        // One code unit, a line number without columns; the difference of lines is 0, then 1.
        table.push_back(std::byte{0xE8});
        table.push_back(unit == 0 ? std::byte{0} : std::byte{2});
    }
    return table;
}

inline constexpr uint16_t kPython312 = 3 << 8 | 12;

// A function of CPython 3.12 for frames `code id << 32 | instruction`.
inline void add_function(SidecarWriter& sidecar, uint64_t code_id, uint32_t first_line, std::string_view file,
                         std::string_view name) {
    sidecar.code(code_id, first_line, kPython312, file, name, line_a_unit(100));
}
// On the line so many lines below the function's first.
inline uint64_t frame_at(uint64_t code_id, uint64_t lines_below) {
    return code_id << 32 | lines_below * 2;
}

}  // namespace memsnap::test
