// SPDX-License-Identifier: Apache-2.0
//
// References as text, and of files: hashed as they are read, told apart by how they begin.
#include "reference.h"

#include <fmt/format.h>
#include <sodium/crypto_hash_sha256.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <span>
#include <utility>

#include "../snapshot/read_snapshot.h"
#include "digest.h"

namespace memsnap {
namespace {

constexpr size_t kPiece_bytes = size_t{1} << 20;  // also how far a file's kind is looked for
constexpr std::string_view kGzip = "\x1F\x8B";
constexpr std::string_view kOther = kReferenceKinds[std::size(kReferenceKinds) - 1];

Error wrong(std::string detail) {
    return {.code = ErrorCode::usage,
            .file = {},
            .offset_bytes = std::nullopt,
            .ticket = std::nullopt,
            .rule = "reference",
            .detail = std::move(detail),
            .way_out = "memsnap-replay reference FILE prints a file's"};
}

bool is_kind(std::string_view word) {
    return std::ranges::find(kReferenceKinds, word) != std::end(kReferenceKinds);
}

// What tells a JSON text's kind; the first one in it counts.
constexpr std::pair<std::string_view, std::string_view> kMembers[] = {
    {"\"schema\":\"memsnap.receipt.", "receipt"},
    {"\"removed_fields\":[\"addresses\"", "receipt"},
    {"\"traceEvents\"", "profiler_trace"},
    {"\"ph\":", "profiler_trace"},  // of an event: the list alone is a trace too
    {"\"allocated_bytes.all.current\"", "memory_stats"}};

// Of the text that gzip's bytes begin with; empty where they are damaged from the first on.
std::string inflated(std::string_view begin) {
    constexpr int kGzipAlone = 16 + MAX_WBITS;
    z_stream stream = {};
    if (inflateInit2(&stream, kGzipAlone) != Z_OK) return {};
    std::string text(kPiece_bytes, '\0');
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(begin.data()));  // which zlib only reads
    stream.avail_in = static_cast<uInt>(begin.size());
    stream.next_out = reinterpret_cast<Bytef*>(text.data());
    stream.avail_out = static_cast<uInt>(text.size());
    inflate(&stream, Z_SYNC_FLUSH);
    text.resize(text.size() - stream.avail_out);
    inflateEnd(&stream);
    return text;
}

std::string_view kind_by_begin(std::string_view begin) {
    constexpr std::string_view kRing = "\x89MEMSNAP";
    if (begin.starts_with(kRing)) return "recording";
    if (snapshot::looks_like_pickle(begin)) return "torch_snapshot";
    const size_t first = begin.find_first_not_of(" \t\r\n");
    if (first == std::string_view::npos || (begin[first] != '{' && begin[first] != '[')) return kOther;
    if (begin.starts_with(R"({"capture":{)")) return "receipt";
    size_t nearest = std::string_view::npos;
    std::string_view kind = kOther;
    for (const auto& [text, means] : kMembers) {
        const size_t at = begin.find(text);
        if (at >= nearest) continue;
        nearest = at;
        kind = means;
    }
    return kind;
}

}  // namespace

Result<Reference> parse_reference(const std::string& text) {
    const size_t first = text.find(':');
    const size_t second = first == std::string::npos ? first : text.find(':', first + 1);
    if (second == std::string::npos) return failure(wrong("not KIND:SHA256:BYTES: " + printable(text)));
    Reference reference;
    reference.kind = text.substr(0, first);
    reference.sha256 = text.substr(first + 1, second - first - 1);
    if (!is_kind(reference.kind)) {
        return failure(wrong(fmt::format("'{}' is no kind of a reference: {}", printable(reference.kind),
                                         fmt::join(kReferenceKinds, ", "))));
    }
    const bool hexadecimal = reference.sha256.find_first_not_of("0123456789abcdef") == std::string::npos;
    if (reference.sha256.size() != 2 * crypto_hash_sha256_BYTES || !hexadecimal) {
        return failure(
            wrong(fmt::format("'{}' is not 64 lower-case hexadecimal digits", printable(reference.sha256))));
    }
    const char* const digits = text.data() + second + 1;
    const char* const end = text.data() + text.size();
    const auto [behind, problem] = std::from_chars(digits, end, reference.size_bytes);
    const bool plain = problem == std::errc() && behind == end && (*digits != '0' || digits + 1 == end);
    if (!plain) return failure(wrong(fmt::format("'{}' is not a number of bytes", printable({digits, end}))));
    return reference;
}

std::string text_of(const Reference& reference) {
    return fmt::format("{}:{}:{}", reference.kind, reference.sha256, reference.size_bytes);
}

Result<Reference> reference_of(const std::string& path, const std::string& kind) {
    const auto file = RingFile::open(path);
    if (!file) return failure(file.error());
    return reference_of(*file, kind);
}

Result<Reference> reference_of(const RingFile& file, const std::string& kind) {
    if (!kind.empty() && !is_kind(kind)) {
        return failure(wrong(fmt::format("'{}' is no kind of a reference: {}", printable(kind),
                                         fmt::join(kReferenceKinds, ", "))));
    }
    Reference reference;
    reference.kind = kind;
    crypto_hash_sha256_state state;
    crypto_hash_sha256_init(&state);
    std::string piece;
    do {
        piece.resize(std::min<uint64_t>(file.size_bytes() - reference.size_bytes, kPiece_bytes));
        const auto bytes = std::as_writable_bytes(std::span(piece));
        if (auto read = file.read(reference.size_bytes, bytes); !read)
            return failure(std::move(read.error()));
        if (reference.kind.empty())
            reference.kind = kind_by_begin(piece.starts_with(kGzip) ? inflated(piece) : piece);
        crypto_hash_sha256_update(&state, reinterpret_cast<const unsigned char*>(piece.data()), piece.size());
        reference.size_bytes += piece.size();
    } while (reference.size_bytes < file.size_bytes());
    std::array<unsigned char, crypto_hash_sha256_BYTES> hash = {};
    crypto_hash_sha256_final(&state, hash.data());
    reference.sha256 = hexadecimal(hash);
    return reference;
}

}  // namespace memsnap
