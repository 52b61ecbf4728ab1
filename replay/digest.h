// SPDX-License-Identifier: Apache-2.0
//
// Digests and tokens. The rule: a digest is of a text alone; a token tells two things apart, of one recording
// or of all that one key is used for, and says nothing beyond it.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace memsnap {

// In lower-case digits.
std::string hexadecimal(std::span<const unsigned char> bytes);

// SHA-256 in lower-case hexadecimal.
std::string sha256_hex(std::string_view text);

// `kind` and 16 hexadecimal digits that only the recording's own random id leads to.
std::string token(std::string_view kind, uint64_t local_id, const std::array<uint8_t, 16>& ring_id);

// Made of the bytes of a user's file.
using TokenKey = std::array<uint8_t, 32>;
TokenKey token_key(std::string_view file_bytes);

// The same of a text, for whoever has the key.
std::string token(std::string_view kind, std::string_view text, const TokenKey& key);

}  // namespace memsnap
