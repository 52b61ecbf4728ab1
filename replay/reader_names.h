// SPDX-License-Identifier: Apache-2.0
//
// The texts beside a ring: what its local ids stand for. The rule: without `--with-names` they are for the
// terminal alone; a sidecar that is not exactly what WIRE.md describes is as if there were none, and why is
// kept to be said.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "capture.h"
#include "name_bounds.h"
#include "reader_sites.h"

namespace memsnap {

// Behind the name of the ring.
inline constexpr const char* kNamesSuffix = ".names";

struct Names {
    std::map<uint64_t, std::string> libraries;  // by local name id; bytes of any value
    std::map<uint64_t, std::string> texts;      // of phases, marks, dimensions and modules, likewise
    SiteRecords sites;
    std::string problem;  // why the sidecar was not read; empty: nothing is wrong

    // nullptr: no text is known.
    const std::string* of_library(const Capture& capture, uint16_t library) const;
    const std::string* text(uint64_t name) const;
};

Names read_names(const Capture& capture);

}  // namespace memsnap
