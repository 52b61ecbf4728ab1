// SPDX-License-Identifier: Apache-2.0
//
// The texts that local ids stand for (WIRE.md §11), as far as a receipt may tell of them. Rule: read apart
// from the ring; junk is the same as no sidecar, and nothing of it is ever printed but a word of a closed
// list.
#pragma once

#include <map>
#include <string>

#include "file.h"

namespace oracle {

class Names {
  public:
    /// Nothing where the file is not the sidecar of this ring.
    static std::optional<Names> read(Bytes sidecar, const Header& ring);

    /// The word of the closed list that is the name's text, if it is one.
    std::optional<std::string_view> word_of(u64 name) const;
    bool knows_name(u64 name) const { return knows(kName, name); }
    bool knows_library(u64 name) const { return knows(kLibrary, name); }
    bool knows_stack(u64 token) const { return knows(kStack, token); }

  private:
    static constexpr u16 kLibrary = 1;
    static constexpr u16 kName = 2;
    static constexpr u16 kStack = 4;

    bool knows(u16 kind, u64 id) const { return payloads_.contains({kind, id}); }
    void take_entries(Bytes sidecar);

    std::map<std::pair<u16, u64>, std::string> payloads_;  ///< the first of each kind and id
};

bool is_phase_word(std::string_view text);

}  // namespace oracle
