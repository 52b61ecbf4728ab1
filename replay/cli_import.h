// SPDX-License-Identifier: Apache-2.0
//
// The `import` subcommand, and what the command line takes about files of PyTorch's tools. The rule: the ring
// and its sidecar appear both or not at all.
#pragma once

#include <CLI/App.hpp>
#include <cstdint>
#include <optional>
#include <string>

#include "recording.h"

namespace memsnap {

struct ImportTaskOptions {
    std::string file;
    std::string ring_path;
    bool force = false;
};

// 80GiB, 79.15GiB (rounded down), or plain bytes; nullopt for what no card has.
std::optional<uint64_t> card_bytes_of(const std::string& text);

void add_card(CLI::App& app, ImportOptions& options);
CLI::App* add_import(CLI::App& app, ImportTaskOptions& options, ImportOptions& import_options);

// On standard error, as far as there are any.
void print_notes(const std::string& path, const std::vector<std::string>& notes);

// Errors: as open_recording(), and of the two files.
Result<void> run_import(const ImportTaskOptions& options, const ImportOptions& import_options);

}  // namespace memsnap
