// SPDX-License-Identifier: Apache-2.0
//
// SHA-256 by libsodium; this one function needs no initialisation of the library.
#include "digest.h"

#include <sodium/crypto_hash_sha256.h>

#include <array>

namespace memsnap {

std::string sha256_hex(std::string_view text) {
    std::array<unsigned char, crypto_hash_sha256_BYTES> hash = {};
    crypto_hash_sha256(hash.data(), reinterpret_cast<const unsigned char*>(text.data()), text.size());
    constexpr std::string_view kHex = "0123456789abcdef";
    std::string hex;
    for (const unsigned char byte : hash) {
        hex.push_back(kHex[byte >> 4]);
        hex.push_back(kHex[byte & 15]);
    }
    return hex;
}

}  // namespace memsnap
