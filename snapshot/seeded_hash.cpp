// SPDX-License-Identifier: Apache-2.0
//
// SipHash of bytes. A number is multiplied by a secret one: its upper half brings all bits down.
#include "seeded_hash.h"

#include <sodium/crypto_shorthash.h>
#include <sodium/randombytes.h>

#include <cstring>

namespace memsnap::snapshot {

namespace {

__extension__ typedef unsigned __int128 Product;  // GCC's; -Wpedantic objects to it

struct Seed {
    unsigned char key[crypto_shorthash_KEYBYTES];
    uint64_t added, factor;

    Seed() {
        crypto_shorthash_keygen(key);
        randombytes_buf(&added, sizeof added);
        randombytes_buf(&factor, sizeof factor);
        factor |= 1;
    }
};

const Seed& seed() {
    static const Seed of_process;
    return of_process;
}

}  // namespace

uint64_t seeded_hash(std::string_view bytes) {
    unsigned char out[crypto_shorthash_BYTES];
    crypto_shorthash(out, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), seed().key);
    uint64_t hash = 0;
    std::memcpy(&hash, out, sizeof hash);
    return hash;
}

uint64_t seeded_hash(uint64_t number) {
    const Seed& secret = seed();
    const Product product = Product{number ^ secret.added} * secret.factor;
    return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

}  // namespace memsnap::snapshot
