// SPDX-License-Identifier: Apache-2.0
//
// Names of the pickle language's opcodes, and which of them are refused.
#pragma once

#include <cstdint>
#include <string>

namespace memsnap::snapshot {

// `0x..` for a byte that is none.
std::string opcode_name(uint8_t opcode);

// What the opcode would have done in Python that is more than making data; nullptr: nothing.
const char* refused_deed(uint8_t opcode);

}  // namespace memsnap::snapshot
