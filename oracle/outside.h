// SPDX-License-Identifier: Apache-2.0
//
// Device memory of this process that is not PyTorch's allocator's (VERDICT.md §3). Rule: each piece is an
// interval of tickets; a handle's physical memory is one piece while a reference or a mapping lives and no
// segment lies on it.
#pragma once

#include "regions.h"

namespace oracle {

struct OutsidePiece {
    u64 from = 0;
    u64 to = kNoTicket;
    u64 birth = 0;
    Int bytes = 0;
    u16 library = 0;
    int device = -1;

    bool there_at(u64 ticket) const { return from <= ticket && ticket < to; }
};

std::vector<OutsidePiece> outside_pieces(const Recording& recording, const std::vector<Life>& lives,
                                         const Regions& regions);

}  // namespace oracle
