// SPDX-License-Identifier: Apache-2.0
//
// The frames of a birth site as people read them: Python's function, file and line, a native function and its
// object. The rule: a stack is resolved when it is asked for; what is not known stays empty, never a guess.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "native_symbols.h"
#include "reader_names.h"

namespace memsnap {

struct SiteFrame {
    bool native = false;
    uint64_t local_id = 0;         // equal for one place in one process
    std::string function;          // native: demangled
    std::string file;              // as Python was told it; native: base name of the object
    std::optional<uint32_t> line;  // Python's
    uint32_t first_line = 0;       // of the function, Python's
    uint64_t offset_bytes = 0;     // native: of the return address, in the object
    bool known = false;            // Python: the code object is told; native: the object
};

using SiteFrames = std::vector<SiteFrame>;  // innermost first

class SiteNames {
  public:
    explicit SiteNames(const Names& names) : names_(names) {}

    // Empty: none, or nothing is known of the token.
    const SiteFrames& python(uint64_t token);
    const SiteFrames& native(uint64_t token);
    // Native frames lie inside the innermost Python frame, so they come first.
    SiteFrames all(uint64_t token);

    const Names& names() const { return names_; }

  private:
    const CodeObject* code(uint32_t id);
    SiteFrame python_frame(const PythonPlace& place);
    SiteFrame native_frame(uint64_t return_address, const RecordedStack& stack);

    const Names& names_;
    NativeSymbols symbols_;
    std::unordered_map<uint32_t, std::optional<CodeObject>> codes_;
    std::unordered_map<uint64_t, SiteFrames> python_, native_;
};

// A path without its folders.
std::string base_name(const std::string& path);

// What a site is in every run of the program: its frames without lines of the whole file and without the
// folders of one machine. nullopt: some frame is not known.
std::optional<std::string> site_text(const SiteFrames& frames);
std::optional<std::string> frame_text(const SiteFrame& frame);

}  // namespace memsnap
