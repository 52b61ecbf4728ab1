// SPDX-License-Identifier: Apache-2.0
//
// Recorded stacks, code objects and loaded objects of a sidecar. The rule: an index of where entries lie is
// kept, and an entry is read when somebody asks for it; of several entries of one id the first counts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "object_index.h"
#include "ring_file.h"

namespace memsnap {

struct PythonPlace {
    uint32_t code = 0;               // id of a code object, 0: not told
    uint32_t instruction_bytes = 0;  // offset of the last instruction
};

// Innermost first.
struct RecordedStack {
    std::vector<PythonPlace> python;
    std::vector<uint64_t> native;  // return addresses
    bool python_cut = false;       // there were more frames
    bool native_cut = false;
    int64_t generation = 0;  // of the loaded objects
};

struct CodeObject {
    uint32_t first_line = 0;
    uint8_t python_major = 0, python_minor = 0;
    bool told = false;           // by PyTorch's tools: first_line is the frame's own line
    std::string file, function;  // bytes of any value
    std::vector<std::byte> line_table;
};

struct LoadedObject {
    uint64_t begin = 0, end = 0;
    uint64_t bias = 0;  // added by the linker to the file's addresses
    std::vector<std::byte> build_id;
    std::string path;
};

class SiteRecords {
  public:
    std::optional<RecordedStack> stack(uint64_t token) const;
    std::optional<CodeObject> code(uint32_t id) const;
    // The number of the object that a return address of the stack lies in.
    std::optional<size_t> object_at(uint64_t return_address, const RecordedStack& stack) const;
    std::optional<LoadedObject> object(size_t number) const;

    uint64_t stack_count() const { return stacks_.size(); }

  private:
    friend class SidecarWalk;

    struct Place {
        uint64_t id = 0;
        uint64_t offset_bytes = 0;
    };
    struct ObjectPlace {
        uint64_t begin = 0, end = 0, bias = 0;
        int64_t generation = 0;
        uint64_t offset_bytes = 0;
    };

    static const Place* find(const std::vector<Place>& places, uint64_t id);
    std::vector<std::byte> payload(uint64_t offset_bytes) const;
    int64_t generation_at(uint64_t offset_bytes, uint16_t generation) const;

    std::shared_ptr<const RingFile> file_;
    std::vector<Place> stacks_, codes_;  // by id, the first written of one id before the others
    std::vector<ObjectPlace> objects_;   // in the order of writing
    ObjectIndex object_index_;
};

}  // namespace memsnap
