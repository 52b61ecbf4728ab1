// SPDX-License-Identifier: Apache-2.0
//
// From recorded places to names, by line tables and symbols.
#include "site_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

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

// A frame that PyTorch named by a symbol has the source file that the symbol's object tells, if any.
bool is_native_source(std::string_view file) {
    constexpr std::array<std::string_view, 8> kSuffixes = {".c",  ".cc",  ".cpp", ".cxx",
                                                           ".cu", ".cuh", ".h",   ".hpp"};
    return file.empty() || file == "??" ||
           std::ranges::any_of(kSuffixes, [&](std::string_view suffix) { return file.ends_with(suffix); });
}

}  // namespace

std::optional<SiteFunction> SiteNames::function(uint32_t code_id) const {
    auto code = names_.sites.code(code_id);
    if (!code) return std::nullopt;
    const CodeLines lines = {code->python_major, code->python_minor, code->first_line};
    return SiteFunction{std::move(code->function), std::move(code->file), code->first_line, code->told,
                        LineTable(lines, code->line_table)};
}

SiteFrame SiteNames::code_frame(const PythonPlace& place) {
    SiteFrame frame;
    frame.local_id = uint64_t{place.code} << 32 | place.instruction_bytes;
    const auto& of = functions_.get(place.code, [&] { return function(place.code); });
    if (!of) return frame;
    frame.known = true;
    frame.function = of->function;
    frame.file = of->file;
    if (of->told) {
        frame.native = frame.symbol = is_native_source(of->file);
        if (of->first_line != 0) frame.line = of->first_line;
        if (frame.file == "??") frame.file.clear();
    } else {
        frame.first_line = of->first_line;
        frame.line = of->lines.line_at(place.instruction_bytes);
    }
    return frame;
}

SiteFrame SiteNames::native_frame(uint64_t return_address, const RecordedStack& stack) {
    SiteFrame frame;
    frame.native = true;
    frame.local_id = return_address;
    const auto number = names_.sites.object_at(return_address, stack);
    if (!number) return frame;
    const auto& object = objects_.get(*number, [&] { return names_.sites.object(*number); });
    if (!object) return frame;
    frame.known = true;
    frame.file = base_name(object->path);
    frame.offset_bytes = return_address - object->bias;
    // The call lies before the address that it returns to, perhaps as the function's last instruction.
    frame.function = symbols_.function_at(*object, return_address - 1);
    return frame;
}

SiteFrames SiteNames::python_frames(uint64_t token) {
    SiteFrames frames;
    if (const auto stack = names_.sites.stack(token)) {
        for (const PythonPlace& place : stack->python) {
            SiteFrame frame = code_frame(place);
            if (!frame.native) frames.push_back(std::move(frame));
        }
    }
    return frames;
}

SiteFrames SiteNames::native_frames(uint64_t token) {
    SiteFrames frames;
    if (const auto stack = names_.sites.stack(token)) {
        for (const uint64_t address : stack->native)
            frames.push_back(native_frame(address, *stack));
        for (const PythonPlace& place : stack->python) {
            SiteFrame frame = code_frame(place);
            if (frame.native) frames.push_back(std::move(frame));
        }
    }
    return frames;
}

const SiteFrames& SiteNames::python(uint64_t token) {
    return python_.get(token, [&] { return python_frames(token); });
}

const SiteFrames& SiteNames::native(uint64_t token) {
    return native_.get(token, [&] { return native_frames(token); });
}

SiteFrames SiteNames::all(uint64_t token) {
    SiteFrames frames;
    if (const auto stack = names_.sites.stack(token)) {
        for (const uint64_t address : stack->native)
            frames.push_back(native_frame(address, *stack));
        for (const PythonPlace& place : stack->python)
            frames.push_back(code_frame(place));
    }
    return frames;
}

uint64_t memory_bytes(const SiteFrames& frames) {
    uint64_t bytes = frames.capacity() * sizeof(SiteFrame);
    for (const SiteFrame& frame : frames)
        bytes += frame.function.capacity() + frame.file.capacity();
    return bytes;
}

uint64_t memory_bytes(const std::optional<SiteFunction>& function) {
    if (!function) return 0;
    return function->file.capacity() + function->function.capacity() + function->lines.memory_bytes();
}

uint64_t memory_bytes(const std::optional<LoadedObject>& object) {
    return object ? object->path.capacity() + object->build_id.capacity() : 0;
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
