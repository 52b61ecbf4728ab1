// SPDX-License-Identifier: Apache-2.0
//
// Options about names. The rule: names are shown where they are known, and leave the machine only by
// `--with-names`.
#pragma once

#include <CLI/App.hpp>
#include <memory>
#include <string>

#include "receipt_dictionary.h"
#include "result.h"

namespace memsnap {

struct NameOptions {
    bool wanted = false;
    bool hidden = false;
    bool exported = false;
    std::string token_key_path;
};

void add_names(CLI::App& app, NameOptions& options);
void add_token_key(CLI::App& app, NameOptions& options);

Names shown_names(const Capture& capture, const NameOptions& options);

// The names of a recording, and what may be made of them.
struct KnownNames {
    Names names;
    std::unique_ptr<SiteNames> sites;
    Naming naming;
};

// Says on standard error where names were wanted and there are none. Errors: io and usage, about the key.
Result<std::unique_ptr<KnownNames>> known_names(const Capture& capture, const NameOptions& options);

}  // namespace memsnap
