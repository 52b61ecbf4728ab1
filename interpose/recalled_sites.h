// SPDX-License-Identifier: Apache-2.0
//
// The sites that a thread has come back to, with the walks that led to their tokens. The rules: touched by
// its own thread only; a site is remembered at its second sight, so that one that never comes again costs
// nothing; a token is used again only when nothing that it is made from has changed; a thread that finds no
// room walks each time.
#pragma once

#include "frame_rules.h"
#include "recalled_python.h"
#include "sites.h"

namespace memsnap::recorder {

struct RecalledSite {
    uint64_t key;    // differs between most sites; 0: unused
    uint64_t token;  // 0: seen, and not remembered
    SiteOf what;
    bool has_native;
    uint32_t object_generation;
    RecalledPython python;
    WordsRead native;
};

// Of one thread.
struct RecalledSites {
    static constexpr unsigned kBits = 4;
    RecalledSite sites[1 << kBits];

    // `mixed` is different in its highest bits too.
    RecalledSite& at(uint64_t mixed) { return sites[mixed >> (64 - kBits)]; }
};

}  // namespace memsnap::recorder
