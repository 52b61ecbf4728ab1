// SPDX-License-Identifier: Apache-2.0
//
// Which frame tells most. A user looks for a line of his own; frames of PyTorch, of packages and of the
// interpreter's library lie between it and the allocation.
#include "site_label.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <span>

namespace memsnap {
namespace {

constexpr std::string_view kCut = "..";

bool is_of_library(std::string_view file) {
    constexpr std::array<std::string_view, 5> kFolders = {"/site-packages/", "/dist-packages/", "/torch/",
                                                          "/lib/python3.", "/python/memsnap/"};
    return file.starts_with("<frozen ") || std::ranges::any_of(kFolders, [&](std::string_view folder) {
               return file.find(folder) != std::string_view::npos;
           });
}

// `outer.<locals>.inner` is found by its file and line, so the inner name will do.
std::string_view inner_name(std::string_view function) {
    constexpr std::string_view kLocals = "<locals>.";
    const size_t found = function.rfind(kLocals);
    return found == std::string_view::npos ? function : function.substr(found + kLocals.size());
}

// Without template arguments, parameters and the type of the result.
std::string bare_name(std::string_view demangled) {
    constexpr std::string_view kAnonymous = "(anonymous namespace)";
    constexpr std::string_view kCall = "operator()";
    std::string bare;
    int depth = 0;
    for (size_t at = 0; at < demangled.size(); ++at) {
        const std::string_view rest = demangled.substr(at);
        if (rest.starts_with(kAnonymous)) {
            if (depth == 0) bare += kAnonymous;
            at += kAnonymous.size() - 1;
        } else if (rest.starts_with(kCall)) {
            if (depth == 0) bare += kCall;
            at += kCall.size() - 1;
        } else if (rest.front() == '<') {
            ++depth;
        } else if (rest.front() == '>') {
            depth = std::max(0, depth - 1);
        } else if (depth == 0) {
            if (rest.front() == '(') break;
            bare.push_back(rest.front());
            if (rest.front() == ' ' && !bare.ends_with("operator ")) bare.clear();
        }
    }
    return bare;
}

// The node of the backward graph that a frame runs: MulBackward0 of
// torch::autograd::generated::MulBackward0::apply.
std::optional<std::string> autograd_node(const SiteFrame& frame) {
    const std::string name = bare_name(frame.function);
    constexpr std::string_view kApply = "::apply";
    if (!name.starts_with("torch::autograd::") || !name.ends_with(kApply)) return std::nullopt;
    const std::string node = name.substr(0, name.size() - kApply.size());
    return node.substr(node.rfind(':') + 1);
}

// The operator that PyTorch was asked for: mm of at::_ops::mm::call.
std::optional<std::string> called_operator(const SiteFrame& frame) {
    constexpr std::string_view kBegin = "at::_ops::";
    constexpr std::string_view kEnd = "::call";
    const std::string name = bare_name(frame.function);
    if (!name.starts_with(kBegin) || !name.ends_with(kEnd) || name.size() <= kBegin.size() + kEnd.size())
        return std::nullopt;
    return name.substr(kBegin.size(), name.size() - kBegin.size() - kEnd.size());
}

bool is_of(const SiteFrame& frame, std::span<const std::string_view> objects) {
    return std::ranges::any_of(objects, [&](std::string_view name) { return frame.file.starts_with(name); });
}

bool is_of_torch(const SiteFrame& frame) {
    constexpr std::array<std::string_view, 2> kObjects = {"libc10", "libtorch"};
    return is_of(frame, kObjects);
}

// What every thread runs through.
bool is_of_runtime(const SiteFrame& frame) {
    constexpr std::array<std::string_view, 6> kObjects = {"libc.so",     "libstdc++.so", "libpthread.so",
                                                          "libgcc_s.so", "libm.so",      "ld-linux"};
    return is_of(frame, kObjects);
}

std::string function_of(const SiteFrame& frame) {
    if (!frame.native) return plain_ascii(inner_name(frame.function));
    return plain_ascii(bare_name(frame.function));
}

std::string place_of(const SiteFrame& frame) {
    std::string place = plain_ascii(base_name(frame.file));
    if (frame.line) place += fmt::format(":{}", *frame.line);
    return place.empty() ? "" : fmt::format(" ({})", place);
}

// What is most important about the place stands last.
std::string cut_to(const std::string& function, const std::string& place, size_t columns_most) {
    if (function.size() + place.size() <= columns_most) return function + place;
    if (place.size() + kCut.size() < columns_most) {
        return function.substr(0, columns_most - place.size() - kCut.size()) + std::string(kCut) + place;
    }
    return (function + place).substr(0, columns_most - kCut.size()) + std::string(kCut);
}

std::string python_label(const SiteFrames& frames, size_t columns_most) {
    const auto own = [](const SiteFrame& frame) { return frame.known && !is_of_library(frame.file); };
    const auto found = std::ranges::find_if(frames, own);
    const SiteFrame& first = found == frames.end() ? frames.front() : *found;
    if (!first.known) return {};
    std::string via, caller, near_caller;
    if (found != frames.end()) {
        if (found != frames.begin()) via = " via " + function_of(frames.front());
        const auto outer = std::find_if(std::next(found), frames.end(), own);
        if (outer != frames.end()) {
            caller = near_caller = " < " + frame_label(*outer);
            if (outer->file == found->file && outer->line)
                near_caller = fmt::format(" < {}:{}", function_of(*outer), *outer->line);
        }
    }
    const std::string self = frame_label(first);
    for (const std::string& more : {via + caller, caller, near_caller, via}) {
        if (self.size() + more.size() <= columns_most) return self + more;
    }
    return cut_to(function_of(first), place_of(first), columns_most);
}

// The outermost operator, if any frame asked for one.
std::optional<std::string> operator_of(const SiteFrames& frames) {
    std::optional<std::string> found;
    for (const SiteFrame& frame : frames) {
        if (auto asked = called_operator(frame)) found = std::move(asked);
    }
    return found;
}

std::string native_label(const SiteFrames& frames, size_t columns_most) {
    const auto cut = [&](const std::string& name, const std::string& place) {
        return cut_to(plain_ascii(name), place, columns_most);
    };
    const auto operation = operator_of(frames);
    for (const SiteFrame& frame : frames) {
        if (const auto node = autograd_node(frame)) return cut(*node, " (autograd)");
        const bool engine = bare_name(frame.function).starts_with("torch::autograd::Engine::");
        if (engine && operation) return cut(*operation, " (autograd)");
    }
    const auto first = [&](auto fits) -> const SiteFrame* {
        const auto found = std::ranges::find_if(frames, fits);
        return found == frames.end() ? nullptr : &*found;
    };
    const SiteFrame* frame =
        first([](const SiteFrame& one) { return one.known && !is_of_torch(one) && !is_of_runtime(one); });
    if (frame == nullptr && operation) return cut(*operation, " (PyTorch)");
    if (frame == nullptr)
        frame = first([](const SiteFrame& one) { return one.known && !one.function.empty(); });
    if (frame == nullptr) frame = first(&SiteFrame::known);
    if (frame == nullptr) return {};
    const std::string label = frame_label(*frame);
    return label.size() <= columns_most ? label : cut(function_of(*frame), place_of(*frame));
}

}  // namespace

std::string frame_label(const SiteFrame& frame) {
    const std::string function = function_of(frame);
    if (!frame.native) return (function.empty() ? "?" : function) + place_of(frame);
    if (!function.empty()) return function + place_of(frame);
    const std::string object = frame.file.empty() ? "?" : plain_ascii(frame.file);
    return frame.known ? fmt::format("{}+0x{:x}", object, frame.offset_bytes) : object;
}

std::string frames_label(const SiteFrames& frames, size_t columns_most) {
    if (frames.empty()) return {};
    return frames.front().native ? native_label(frames, columns_most) : python_label(frames, columns_most);
}

std::string site_label(SiteNames& sites, uint64_t token, size_t columns_most) {
    const SiteFrames& python = sites.python(token);
    return frames_label(python.empty() ? sites.native(token) : python, columns_most);
}

}  // namespace memsnap
