// SPDX-License-Identifier: Apache-2.0
//
// Copies what an import made in memory into two files.
#include "cli_import.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <utility>

#include "output_file.h"
#include "policy.h"
#include "reader_names.h"

namespace memsnap {

namespace {

constexpr size_t kPiece_bytes = size_t{1} << 20;

const CLI::Validator kFileName(
    [](const std::string& text) {
        if (text.empty()) return std::string("an empty name");
        return std::string(text == "-" ? "a ring and its names are two files" : "");
    },
    "FILE");

const CLI::Validator kCard(
    [](const std::string& text) {
        return std::string(card_bytes_of(text) ? "" : "not the size of a card: " + printable(text));
    },
    "BYTES");

Error no_import(const std::string& path) {
    return {.code = ErrorCode::not_memsnap,
            .file = path,
            .offset_bytes = std::nullopt,
            .ticket = std::nullopt,
            .rule = "import",
            .detail = "is neither a memory snapshot nor a profiler's trace of PyTorch's",
            .way_out = "a ring needs no import: memsnap-replay FILE reads it as it is"};
}

Result<void> copy(const std::string& from, OutputFile& to) {
    auto file = RingFile::open(from);
    if (!file) return failure(std::move(file.error()));
    std::string piece;
    for (uint64_t at = 0; at < file->size_bytes(); at += piece.size()) {
        piece.resize(std::min<uint64_t>(kPiece_bytes, file->size_bytes() - at));
        if (auto read = file->read(at, std::as_writable_bytes(std::span(piece))); !read) return read;
        if (auto written = to.write(piece); !written) return written;
    }
    return {};
}

}  // namespace

std::optional<uint64_t> card_bytes_of(const std::string& text) {
    constexpr std::pair<std::string_view, uint64_t> kUnits[] = {
        {"GiB", uint64_t{1} << 30}, {"MiB", uint64_t{1} << 20}, {"", 1}};
    constexpr size_t kDecimals_most = 9;
    const char* const end = text.data() + text.size();
    uint64_t whole = 0;
    auto [at, problem] = std::from_chars(text.data(), end, whole);
    if (problem != std::errc()) return std::nullopt;
    uint64_t part = 0, scale = 1;
    if (at != end && *at == '.') {
        const auto fraction = std::from_chars(at + 1, end, part);
        const auto digits = static_cast<size_t>(fraction.ptr - (at + 1));
        if (fraction.ec != std::errc() || digits > kDecimals_most) return std::nullopt;
        for (size_t i = 0; i < digits; ++i)
            scale *= 10;
        at = fraction.ptr;
    }
    const std::string_view unit(at, static_cast<size_t>(end - at));
    const auto* const known = std::ranges::find(kUnits, unit, &std::pair<std::string_view, uint64_t>::first);
    if (known == std::end(kUnits) || (known->second == 1 && scale != 1)) return std::nullopt;
    if (whole > policy::kLargestCard_bytes / known->second) return std::nullopt;
    const uint64_t bytes = whole * known->second + part * known->second / scale;
    return bytes == 0 || bytes > policy::kLargestCard_bytes ? std::nullopt : std::optional(bytes);
}

void add_card(CLI::App& app, ImportOptions& options) {
    app.add_option_function<std::string>(
           "--card", [&options](const std::string& text) { options.card_bytes = card_bytes_of(text); },
           "what the card has in all, for a memory snapshot that does not tell: 80GiB, 79.15GiB, or bytes")
        ->check(kCard);
}

CLI::App* add_import(CLI::App& app, ImportTaskOptions& options, ImportOptions& import_options) {
    CLI::App* const import = app.add_subcommand(
        "import", "write a memory snapshot or a profiler's trace as a recording, with its file of names");
    import->add_option("file", options.file, "what PyTorch's tools wrote")->required()->check(kFileName);
    import->add_option("recording", options.ring_path, "the ring to write; its names go to a file beside it")
        ->required()
        ->check(kFileName);
    add_card(*import, import_options);
    import->add_flag("--force", options.force, "overwrite existing output files");
    return import;
}

void print_notes(const std::string& path, const std::vector<std::string>& notes) {
    for (const std::string& note : notes)
        fmt::print(stderr, "memsnap-replay: {}: {}\n", printable(path), printable(note));
}

Result<void> run_import(const ImportTaskOptions& options, const ImportOptions& import_options) {
    const auto source = snapshot::source_of(options.file);
    if (!source) return failure(source.error());
    if (*source == snapshot::Source::other) {
        if (auto file = RingFile::open(options.file); !file) return failure(std::move(file.error()));
        return failure(no_import(options.file));
    }
    const std::string names_path = options.ring_path + kNamesSuffix;
    auto ring = OutputFile::create(options.ring_path, options.force, {options.file});
    if (!ring) return failure(std::move(ring.error()));
    auto names = OutputFile::create(names_path, options.force, {options.file});
    if (!names) return failure(std::move(names.error()));
    names->keep_private();
    const auto made = snapshot::ImportedRing::read(options.file, *source, import_options);
    if (!made) return failure(made.error());
    print_notes(options.file, made->notes());
    if (auto done = copy(made->ring_path(), *ring); !done) return done;
    if (auto done = copy(made->sidecar_path(), *names); !done) return done;
    if (auto done = names->finish(); !done) return done;
    return ring->finish();
}

}  // namespace memsnap
