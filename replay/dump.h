// SPDX-License-Identifier: Apache-2.0
//
// A file as text: one line a record, and the header. A renderer: stable words, no interpretation.
#pragma once

#include <cstdio>
#include <optional>

#include "capture.h"
#include "reader_names.h"

namespace memsnap {

struct DumpOptions {
    std::optional<int> device;
};

void dump_records(const Capture& capture, const DumpOptions& options, std::FILE* out);
void dump_header(const Capture& capture, std::FILE* out, const Names& names = {});

}  // namespace memsnap
