// SPDX-License-Identifier: Apache-2.0
//
// From recorded places to names, by line tables and symbols.
#include "site_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "line_table.h"

namespace memsnap {
namespace {

constexpr char kEnd = '\0';

// Where the part of a path begins that is the same on every machine.
size_t portable_part(std::string_view path) {
    const size_t base = path.rfind('/') + 1;
    size_t begin = 0;
    for (const std::string_view folder : {"/site-packages/", "/dist-packages/"}) {
        const size_t found = path.rfind(folder);
        if (found != std::string_view::npos) begin = std::max(begin, found + folder.size());
    }
    // /lib/pythonX.Y/
    constexpr std::string_view kLibrary = "/lib/python";
    const size_t found = path.rfind(kLibrary);
    if (found != std::string_view::npos) {
        const size_t version = found + kLibrary.size();
        const size_t end = path.find_first_not_of("0123456789.", version);
        if (end != std::string_view::npos && end != version && path[end] == '/')
            begin = std::max(begin, end + 1);
    }
    return begin == 0 ? base : begin;
}

}  // namespace

const CodeObject* SiteNames::code(uint32_t id) {
    const auto [found, fresh] = codes_.try_emplace(id);
    if (fresh) found->second = names_.sites.code(id);
    return found->second ? &*found->second : nullptr;
}

SiteFrame SiteNames::python_frame(const PythonPlace& place) {
    SiteFrame frame;
    frame.local_id = uint64_t{place.code} << 32 | place.instruction_bytes;
    const CodeObject* const of = code(place.code);
    if (of == nullptr) return frame;
    frame.known = true;
    frame.function = of->function;
    frame.file = of->file;
    frame.first_line = of->first_line;
    frame.line = line_of({.python_major = of->python_major,
                          .python_minor = of->python_minor,
                          .first_line = of->first_line,
                          .instruction_bytes = place.instruction_bytes},
                         of->line_table);
    return frame;
}

SiteFrame SiteNames::native_frame(uint64_t return_address, const RecordedStack& stack) {
    SiteFrame frame;
    frame.native = true;
    frame.local_id = return_address;
    const auto object = names_.sites.object_of(return_address, stack);
    if (!object) return frame;
    frame.known = true;
    frame.file = base_name(object->path);
    frame.offset_bytes = return_address - object->bias;
    // The call lies before the address that it returns to, perhaps as the function's last instruction.
    frame.function = symbols_.function_at(*object, return_address - 1);
    return frame;
}

const SiteFrames& SiteNames::python(uint64_t token) {
    const auto [found, fresh] = python_.try_emplace(token);
    if (!fresh) return found->second;
    if (const auto stack = names_.sites.stack(token)) {
        for (const PythonPlace& place : stack->python)
            found->second.push_back(python_frame(place));
    }
    return found->second;
}

const SiteFrames& SiteNames::native(uint64_t token) {
    const auto [found, fresh] = native_.try_emplace(token);
    if (!fresh) return found->second;
    if (const auto stack = names_.sites.stack(token)) {
        for (const uint64_t address : stack->native)
            found->second.push_back(native_frame(address, *stack));
    }
    return found->second;
}

SiteFrames SiteNames::all(uint64_t token) {
    SiteFrames frames = native(token);
    std::ranges::copy(python(token), std::back_inserter(frames));
    return frames;
}

std::string base_name(const std::string& path) {
    return path.substr(path.rfind('/') + 1);
}

std::optional<std::string> frame_text(const SiteFrame& frame) {
    if (!frame.known) return std::nullopt;
    if (frame.native) return frame.file + kEnd + frame.function;
    std::string text = frame.file.substr(portable_part(frame.file)) + kEnd + frame.function + kEnd;
    if (frame.line) text += fmt::format("{}", int64_t{*frame.line} - int64_t{frame.first_line});
    return text;
}

std::optional<std::string> site_text(const SiteFrames& frames) {
    if (frames.empty()) return std::nullopt;
    std::string text;
    for (const SiteFrame& frame : frames) {
        const auto part = frame_text(frame);
        if (!part) return std::nullopt;
        text += *part;
        text += kEnd;
    }
    return text;
}

}  // namespace memsnap
