// SPDX-License-Identifier: Apache-2.0
//
// Whether a recorded job was granted what another one asked for in vain. The rule: a grant is a block (or a
// device call) of at least that size on that device; the count is exact only where nothing was lost.
#pragma once

#include <cstdint>
#include <optional>

#include "capture.h"
#include "diff_side.h"

namespace memsnap {

struct Want {
    enum class By : uint8_t {
        block,         // of PyTorch's caching allocator
        torch_call,    // of the device, by PyTorch's allocator
        foreign_call,  // of the device, by another library
    };
    By by = By::block;
    uint64_t size_bytes = 0;
    int device = 0;
};

// What the failing side asked for in vain; nullopt: its size is unknown.
std::optional<Want> want_of(const SideIncident& incident);

// Grants before a ticket. `nth` (from 1) is the grant that is looked at more closely.
Grants count_grants(const Capture& capture, const Want& want, uint64_t until_ticket, uint64_t nth);

}  // namespace memsnap
