// SPDX-License-Identifier: Apache-2.0
//
// Device memory of this process that is not PyTorch's allocator's (VERDICT.md §3). Rule: each piece is an
// interval of tickets; a handle's physical memory is one piece while a reference or a mapping lives and no
// segment lies on it. What PyTorch's allocator made itself it holds, while nothing maps it too.
#pragma once

#include "regions.h"

namespace oracle {

struct Piece {
    u64 from = 0;
    u64 to = kNoTicket;
    u64 birth = 0;
    Int bytes = 0;
    u16 library = 0;
    int device = -1;

    bool there_at(u64 ticket) const { return from <= ticket && ticket < to; }
};

struct Pieces {
    std::vector<Piece> outside;
    std::vector<Piece> unmapped;  ///< physical memory that PyTorch's allocator made and no mapping shows
};

Pieces cut_pieces(const Recording& recording, const std::vector<Life>& lives, const Regions& regions);

}  // namespace oracle
