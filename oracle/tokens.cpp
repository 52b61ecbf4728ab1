// SPDX-License-Identifier: Apache-2.0
//
// BLAKE2b-128 keyed with the ring's random id. Rule: over the kind's name, a zero byte and the id as eight
// little-endian bytes.
#include "tokens.h"

#include <fmt/format.h>
#include <sodium.h>

namespace oracle {

std::string token(const Header& header, std::string_view kind, u64 local_id) {
    std::string message(kind);
    message.push_back('\0');
    for (int byte = 0; byte < 8; ++byte)
        message.push_back(static_cast<char>(local_id >> (8 * byte) & 0xFFU));
    std::array<unsigned char, 16> hash{};
    crypto_generichash(hash.data(), hash.size(), reinterpret_cast<const unsigned char*>(message.data()),
                       message.size(), reinterpret_cast<const unsigned char*>(header.ring_id.data()),
                       header.ring_id.size());
    std::string text = std::string(kind) + '-';
    for (std::size_t i = 0; i < 8; ++i)
        text += fmt::format("{:02x}", hash[i]);
    return text;
}

}  // namespace oracle
