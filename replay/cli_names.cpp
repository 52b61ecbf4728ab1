// SPDX-License-Identifier: Apache-2.0
//
// The sidecar and the user's key, as the options say.
#include "cli_names.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "ring_file.h"

namespace memsnap {
namespace {

constexpr const char* kTokenKeyVariable = "MEMSNAP_TOKEN_KEY_FILE";
constexpr uint64_t kKeyFile_bytes_most = uint64_t{1} << 20;

bool has_names(const Capture& capture, const Names& names) {
    return capture.header.has_sidecar && names.problem.empty();
}

Error key_error(const std::string& path, std::string detail) {
    return {.code = ErrorCode::usage,
            .file = path,
            .offset_bytes = std::nullopt,
            .ticket = std::nullopt,
            .rule = "token_key",
            .detail = std::move(detail),
            .way_out = "a key is a file of 1 byte to 1 MiB that nobody else has: head -c 32 /dev/urandom"};
}

}  // namespace

void add_names(CLI::App& app, NameOptions& options) {
    CLI::Option* const wanted = app.add_flag("--names", options.wanted,
                                             "show names, as is done anyway; say why where there are none");
    CLI::Option* const hidden =
        app.add_flag("--no-names", options.hidden,
                     "show libraries by number, sites and phases by token, and leave names out of the page");
    CLI::Option* const exported =
        app.add_flag("--with-names", options.exported,
                     "put functions, files and names into what is written: not for handing on");
    hidden->excludes(wanted)->excludes(exported);
    add_token_key(app, options);
}

void add_token_key(CLI::App& app, NameOptions& options) {
    app.add_option("--token-key", options.token_key_path,
                   "make tokens of names with the bytes of this file, equal in all recordings")
        ->check(CLI::Validator(
            [](const std::string& text) { return std::string(text.empty() ? "an empty name" : ""); },
            "FILE"));
}

const Names KnownNames::kNone = {};

Result<std::optional<TokenKey>> chosen_key(const NameOptions& options) {
    std::string path = options.token_key_path;
    const char* const set = std::getenv(kTokenKeyVariable);
    if (path.empty() && set != nullptr) path = set;
    if (path.empty()) return std::nullopt;
    const auto file = RingFile::open(path);
    if (!file) return failure(file.error());
    if (file->size_bytes() == 0) return failure(key_error(path, "is empty, so it is no key"));
    if (file->size_bytes() > kKeyFile_bytes_most) return failure(key_error(path, "is too large for a key"));
    std::string bytes(file->size_bytes(), '\0');
    if (auto read = file->read(0, std::as_writable_bytes(std::span(bytes))); !read)
        return failure(std::move(read.error()));
    return token_key(bytes);
}

Names shown_names(const Capture& capture, const NameOptions& options) {
    return options.hidden ? Names{} : read_names(capture);
}

Result<std::unique_ptr<KnownNames>> known_names(const Capture& capture, const NameOptions& options) {
    auto key = chosen_key(options);
    if (!key) return failure(std::move(key.error()));
    auto known = std::make_unique<KnownNames>();
    known->names = read_names(capture);
    known->hidden = options.hidden;
    const bool there = has_names(capture, known->names);
    if ((options.wanted || options.exported) && !there) {
        const std::string& problem = known->names.problem;
        fmt::print(stderr, "memsnap-replay: no names: {}\n",
                   problem.empty() ? "the recording has no file of names"
                                   : "the file of names beside the recording " + problem);
    }
    known->sites = std::make_unique<SiteNames>(known->names);
    known->naming = {there ? known->sites.get() : nullptr, *key, options.exported};
    return known;
}

}  // namespace memsnap
