// SPDX-License-Identifier: Apache-2.0
//
// Loading the next piece: what is not yet taken moves to the front, the rest comes from the file.
#include "pickle_input.h"

#include <algorithm>
#include <cstring>

namespace memsnap::snapshot {

PickleInput::PickleInput(const RingFile& file)
    : file_(file), buffer_(std::min<uint64_t>(file.size_bytes(), kPiece_bytes)) {}

bool PickleInput::load(size_t count) {
    if (error_ || count > buffer_.size() || count > left_bytes()) return false;
    std::memmove(buffer_.data(), buffer_.data() + at_, end_ - at_);
    end_ -= at_;
    at_ = 0;
    const size_t wanted = std::min<uint64_t>(buffer_.size() - end_, file_.size_bytes() - loaded_bytes_);
    const auto read =
        file_.read(loaded_bytes_, std::as_writable_bytes(std::span(buffer_.data() + end_, wanted)));
    if (!read) {
        error_ = read.error();
        return false;
    }
    end_ += wanted;
    loaded_bytes_ += wanted;
    return true;
}

bool PickleInput::skip(uint64_t count) {
    if (count > left_bytes()) return false;
    while (count > 0) {
        const size_t piece = std::min<uint64_t>(count, kPiece_bytes);
        if (take(piece) == nullptr) return false;
        count -= piece;
    }
    return true;
}

std::optional<PickleInput::Line> PickleInput::line() {
    size_t searched = 0;
    while (true) {
        const uint8_t* const from = buffer_.data() + at_;
        const void* const feed = std::memchr(from + searched, '\n', end_ - at_ - searched);
        if (feed != nullptr) {
            const auto length = static_cast<size_t>(static_cast<const uint8_t*>(feed) - from);
            at_ += length + 1;
            return Line{{reinterpret_cast<const char*>(from), length}};
        }
        searched = end_ - at_;
        if (searched == buffer_.size()) break;
        if (!load(searched + 1)) return std::nullopt;
    }
    while (true) {
        at_ = end_;
        if (!load(1)) return std::nullopt;
        const void* const feed = std::memchr(buffer_.data(), '\n', end_);
        if (feed == nullptr) continue;
        at_ = static_cast<size_t>(static_cast<const uint8_t*>(feed) - buffer_.data()) + 1;
        return Line{{}, false};
    }
}

}  // namespace memsnap::snapshot
