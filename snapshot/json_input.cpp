// SPDX-License-Identifier: Apache-2.0
//
// Pieces of a JSON text from the file, or out of zlib.
#include "json_input.h"

#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <span>

namespace memsnap::snapshot {

namespace {

constexpr unsigned char kGzip[] = {0x1F, 0x8B};
constexpr int kGzipAlone = 16 + MAX_WBITS;

}  // namespace

struct JsonInput::Inflater {
    z_stream stream = {};
    std::vector<char> compressed = std::vector<char>(kPiece_bytes);
    bool at_member_end = false;
};

JsonInput::JsonInput(const RingFile& file) : file_(file), text_(kPiece_bytes) {
    char magic[2] = {};
    const bool compressed =
        read_file(magic, sizeof magic) == sizeof magic && std::memcmp(magic, kGzip, sizeof magic) == 0;
    file_at_bytes_ = 0;
    if (!compressed) return;
    inflater_ = std::make_unique<Inflater>();
    if (inflateInit2(&inflater_->stream, kGzipAlone) != Z_OK)
        error_ = Error{ErrorCode::io, file_.path(), {}, {}, {}, "zlib has no memory to read it", {}};
}

JsonInput::~JsonInput() {
    if (inflater_) inflateEnd(&inflater_->stream);
}

size_t JsonInput::read_file(char* into, size_t size) {
    const auto count = static_cast<size_t>(std::min<uint64_t>(size, file_.size_bytes() - file_at_bytes_));
    if (count == 0) return 0;
    const auto done = file_.read(file_at_bytes_, std::as_writable_bytes(std::span(into, count)));
    if (!done) {
        error_ = done.error();
        return 0;
    }
    file_at_bytes_ += count;
    return count;
}

// A file may hold several members one after the other. Returns 0 at the end and after an error.
size_t JsonInput::inflate_piece() {
    z_stream& stream = inflater_->stream;
    stream.next_out = reinterpret_cast<Bytef*>(text_.data());
    stream.avail_out = static_cast<uInt>(text_.size());
    while (stream.avail_out == text_.size()) {
        if (stream.avail_in == 0) {
            stream.next_in = reinterpret_cast<Bytef*>(inflater_->compressed.data());
            stream.avail_in =
                static_cast<uInt>(read_file(inflater_->compressed.data(), inflater_->compressed.size()));
        }
        if (stream.avail_in == 0 && inflater_->at_member_end) break;
        if (inflater_->at_member_end) inflateReset(&stream);
        const int state = inflate(&stream, Z_NO_FLUSH);
        inflater_->at_member_end = state == Z_STREAM_END;
        if (state == Z_OK || state == Z_STREAM_END) continue;
        if (!error_)
            error_ = Error{
                ErrorCode::corrupt,
                file_.path(),
                file_at_bytes_ - stream.avail_in,
                {},
                "gzip",
                state == Z_BUF_ERROR ? "the compressed file ends early" : "the compressed bytes are damaged",
                "copy the file anew, or write the trace again"};
        break;
    }
    return text_.size() - stream.avail_out;
}

bool JsonInput::load() {
    if (error_ || too_long_) return false;
    if (loaded_bytes_ - token_begin_bytes_ > kLongestToken_bytes) {
        too_long_ = true;
        return false;
    }
    const size_t count = inflater_ ? inflate_piece() : read_file(text_.data(), text_.size());
    if (count == 0) return false;
    at_ = 0;
    end_ = count;
    loaded_bytes_ += count;
    return true;
}

}  // namespace memsnap::snapshot
