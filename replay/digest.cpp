// SPDX-License-Identifier: Apache-2.0
//
// SHA-256 and BLAKE2b by libsodium; these two need no initialisation of the library.
#include "digest.h"

#include <sodium/crypto_generichash.h>
#include <sodium/crypto_hash_sha256.h>

namespace memsnap {

std::string hexadecimal(std::span<const unsigned char> bytes) {
    constexpr std::string_view kHex = "0123456789abcdef";
    std::string hex;
    for (const unsigned char byte : bytes) {
        hex.push_back(kHex[byte >> 4]);
        hex.push_back(kHex[byte & 15]);
    }
    return hex;
}

namespace {

// `kind`, '-' and 16 digits of BLAKE2b-128 over the kind, a zero byte and the message.
std::string keyed_token(std::string_view kind, std::string_view message, std::span<const uint8_t> key) {
    constexpr size_t kShown_bytes = 8;
    const std::string text = std::string(kind) + '\0' + std::string(message);
    std::array<unsigned char, 16> hash = {};
    crypto_generichash(hash.data(), hash.size(), reinterpret_cast<const unsigned char*>(text.data()),
                       text.size(), key.data(), key.size());
    return std::string(kind) + '-' + hexadecimal(std::span(hash).first(kShown_bytes));
}

}  // namespace

std::string sha256_hex(std::string_view text) {
    std::array<unsigned char, crypto_hash_sha256_BYTES> hash = {};
    crypto_hash_sha256(hash.data(), reinterpret_cast<const unsigned char*>(text.data()), text.size());
    return hexadecimal(hash);
}

std::string token(std::string_view kind, uint64_t local_id, const std::array<uint8_t, 16>& ring_id) {
    std::string message;
    for (int shift = 0; shift < 64; shift += 8)
        message.push_back(static_cast<char>(local_id >> shift & 0xff));
    return keyed_token(kind, message, ring_id);
}

TokenKey token_key(std::string_view file_bytes) {
    TokenKey key = {};
    crypto_generichash(key.data(), key.size(), reinterpret_cast<const unsigned char*>(file_bytes.data()),
                       file_bytes.size(), nullptr, 0);
    return key;
}

std::string token(std::string_view kind, std::string_view text, const TokenKey& key) {
    return keyed_token(kind, text, key);
}

}  // namespace memsnap
