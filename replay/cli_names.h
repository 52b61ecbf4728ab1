// SPDX-License-Identifier: Apache-2.0
//
// Options about names. The rule: names are shown where they are known, and leave the machine only by
// `--with-names`.
#pragma once

#include <CLI/App.hpp>
#include <memory>
#include <optional>
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

// What a recording's file of names tells. Hidden names are not shown; tokens and words of closed lists that
// are made of them are the same as without the option.
struct KnownNames {
    Names names;
    bool hidden = false;
    std::unique_ptr<SiteNames> sites;
    Naming naming;

    const Names& shown() const { return hidden ? kNone : names; }

  private:
    static const Names kNone;
};

// Nothing: there is no key. Errors: io and usage.
Result<std::optional<TokenKey>> chosen_key(const NameOptions& options);

// Says on standard error where names were wanted and there are none. Errors: io and usage, about the key.
Result<std::unique_ptr<KnownNames>> known_names(const Capture& capture, const NameOptions& options);

}  // namespace memsnap
