// SPDX-License-Identifier: Apache-2.0
//
// The frames of a birth site as people read them: Python's function, file and line, a native function and its
// object. The rule: a stack is resolved when it is asked for; what is not known stays empty, never a guess.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "line_table.h"
#include "native_symbols.h"
#include "reader_names.h"
#include "remembered.h"

namespace memsnap {

struct SiteFrame {
    bool native = false;
    bool symbol = false;    // native, and told by its function alone: the object is not known
    uint64_t local_id = 0;  // equal for one place in one process
    std::string function;   // native: demangled
    std::string file;       // as Python was told it; native: base name of the object, or the source file
    std::optional<uint32_t> line;  // Python's, or a symbol's
    uint32_t first_line = 0;       // of the function, Python's; 0: not known
    uint64_t offset_bytes = 0;     // native: of the return address, in the object
    bool known = false;            // Python: the code object is told; native: the object
};

using SiteFrames = std::vector<SiteFrame>;  // innermost first

// What its frames are named by.
struct SiteFunction {
    std::string function, file;
    uint32_t first_line = 0;
    bool told = false;  // by PyTorch's tools, with its line instead of the function's first one
    LineTable lines;
};

class SiteNames {
  public:
    explicit SiteNames(const Names& names) : names_(names) {}

    // Empty: none, or nothing is known of the token. Valid until one of the same sort is asked for.
    const SiteFrames& python(uint64_t token);
    const SiteFrames& native(uint64_t token);
    // Native frames that the recorder saw lie inside the innermost Python frame, so they come first; told
    // ones keep their places.
    SiteFrames all(uint64_t token);

    const Names& names() const { return names_; }

  private:
    static constexpr uint64_t kFunctions_bytes_most = uint64_t{128} << 20;
    static constexpr uint64_t kRemembered_bytes_most = uint64_t{32} << 20;  // of each other sort

    std::optional<SiteFunction> function(uint32_t code_id) const;
    SiteFrame code_frame(const PythonPlace& place);
    SiteFrame native_frame(uint64_t return_address, const RecordedStack& stack);
    SiteFrames python_frames(uint64_t token);
    SiteFrames native_frames(uint64_t token);

    const Names& names_;
    NativeSymbols symbols_;
    Remembered<uint32_t, std::optional<SiteFunction>> functions_{kFunctions_bytes_most};
    Remembered<size_t, std::optional<LoadedObject>> objects_{kRemembered_bytes_most};
    Remembered<uint64_t, SiteFrames> python_{kRemembered_bytes_most}, native_{kRemembered_bytes_most};
};

uint64_t memory_bytes(const SiteFrames& frames);
uint64_t memory_bytes(const std::optional<SiteFunction>& function);
uint64_t memory_bytes(const std::optional<LoadedObject>& object);

// A path without its folders.
std::string base_name(const std::string& path);

// What a site is in every run of the program: its frames without lines of the whole file and without the
// folders of one machine. nullopt: some frame is not known.
std::optional<std::string> site_text(const SiteFrames& frames);
std::optional<std::string> frame_text(const SiteFrame& frame);

}  // namespace memsnap
