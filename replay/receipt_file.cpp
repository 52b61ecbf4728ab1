// SPDX-License-Identifier: Apache-2.0
//
// The cheap questions, then the content.
#include "receipt_file.h"

#include <array>
#include <span>

namespace memsnap {
namespace {

constexpr uint64_t kReceipt_bytes_most = uint64_t{256} << 20;

Error no_receipt(const RingFile& file, std::string detail) {
    return file_error(ErrorCode::not_memsnap, file.path(), "receipt", std::move(detail),
                      "memsnap-replay RING --json FILE writes a receipt");
}

}  // namespace

Result<bool> begins_with_brace(const RingFile& file) {
    if (file.size_bytes() == 0) return false;
    std::array<std::byte, 1> first = {};
    if (auto done = file.read(0, first); !done) return failure(std::move(done.error()));
    return first.front() == std::byte{'{'};
}

Result<std::string> read_receipt_file(const RingFile& file) {
    const auto brace = begins_with_brace(file);
    if (!brace) return failure(brace.error());
    if (!*brace) return failure(no_receipt(file, "is no receipt: it does not begin with a brace"));
    if (file.size_bytes() > kReceipt_bytes_most)
        return failure(no_receipt(file, "is no receipt: it is larger than 256 MiB"));
    std::string text(file.size_bytes(), '\0');
    if (auto done = file.read(0, std::as_writable_bytes(std::span(text))); !done)
        return failure(std::move(done.error()));
    return text;
}

}  // namespace memsnap
