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
#include <utility>
#include <vector>

namespace memsnap {
namespace {

bool is_of_library(std::string_view file) {
    constexpr std::array<std::string_view, 4> kFolders = {"/site-packages/", "/dist-packages/",
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

// Of what a symbol alone tells nothing is taken for the user's.
bool is_of_torch(const SiteFrame& frame) {
    constexpr std::array<std::string_view, 2> kObjects = {"libc10", "libtorch"};
    return frame.symbol || is_of(frame, kObjects);
}

// What PyTorch's recorder saw of itself and of the allocator.
bool is_of_torchs_recorder(const SiteFrame& frame) {
    constexpr std::array<std::string_view, 4> kBegins = {
        "torch::unwind::", "torch::CapturedTraceback::", "torch::cuda::(anonymous namespace)::gather",
        "c10::cuda::CUDACachingAllocator::"};
    return frame.symbol && std::ranges::any_of(kBegins, [&](std::string_view begin) {
               return frame.function.starts_with(begin);
           });
}

// What every thread runs through, and the interpreter.
bool is_of_runtime(const SiteFrame& frame) {
    constexpr std::array<std::string_view, 8> kObjects = {"libc.so",     "libstdc++.so", "libpthread.so",
                                                          "libgcc_s.so", "libm.so",      "ld-linux",
                                                          "libpython",   "python3"};
    return is_of(frame, kObjects);
}

std::string place_of(const SiteFrame& frame, Letters letters) {
    std::string place = shown_text(base_name(frame.file), letters);
    if (frame.line) place += fmt::format(":{}", *frame.line);
    return place.empty() ? "" : fmt::format(" ({})", place);
}

// What is most important about the place stands last.
std::string cut_to(const std::string& function, const std::string& place, size_t columns_most) {
    const size_t place_columns = columns_of(place);
    if (columns_of(function) + place_columns <= columns_most) return function + place;
    if (place_columns + 2 < columns_most)
        return cut_to_columns(function, columns_most - place_columns) + place;
    return cut_to_columns(function + place, columns_most);
}

size_t own_behind(const SiteFrames& frames, size_t at) {
    const auto begin = frames.begin() + static_cast<ptrdiff_t>(std::min(at + 1, frames.size()));
    return static_cast<size_t>(std::find_if(begin, frames.end(), is_own) - frames.begin());
}

// What a forward allocates lives as the loop around the model has it, so that line tells most.
size_t calling_loop(const SiteFrames& frames, size_t of) {
    for (size_t at = frames.size(); at-- > of + 1;) {
        if (is_module_call(frames[at])) return own_behind(frames, at);
    }
    return frames.size();
}

std::string file_and_line(const SiteFrame& frame, Letters letters) {
    return fmt::format("{}:{}", shown_text(base_name(frame.file), letters), frame.line.value_or(0));
}

// Callers of a frame, the fullest text first.
std::vector<std::string> callers_of(const SiteFrames& frames, size_t of, Letters letters) {
    std::vector<std::string> texts;
    const size_t caller = own_behind(frames, of);
    if (caller == frames.size()) return texts;
    const auto near = [&](const SiteFrame& frame) { return frame.file == frames[of].file && frame.line; };
    const std::string direct = " < " + frame_label(frames[caller], letters);
    if (const size_t loop = calling_loop(frames, of); loop > caller && loop < frames.size()) {
        const SiteFrame& outer = frames[loop];
        const std::string full = " < " + frame_label(outer, letters);
        const std::string skipped = letters == Letters::utf8 ? " …" : " ..";
        texts.push_back(direct + (own_behind(frames, caller) == loop ? "" : skipped) + full);
        texts.push_back(skipped + full);
        if (near(outer)) {
            texts.push_back(skipped + " < " + line_label(outer, letters));
        } else if (outer.line) {
            texts.push_back(skipped + " < " + file_and_line(outer, letters));
        }
    }
    texts.push_back(direct);
    if (near(frames[caller])) texts.push_back(" < " + line_label(frames[caller], letters));
    return texts;
}

std::string python_label(const SiteFrames& frames, size_t columns_most, Letters letters, const Apart& apart) {
    const size_t at = labelled_frame(frames);
    const SiteFrame& first = frames[at];
    if (!first.known) return {};
    const std::string via =
        at == 0 || !apart.inner.empty() ? apart.inner : " via " + function_label(frames.front(), letters);
    std::vector<std::string> callers;
    if (!apart.outer.empty()) {
        callers = {apart.outer};
    } else if (is_own(first)) {
        callers = callers_of(frames, at, letters);
    }
    std::vector<std::string> behind;
    for (const std::string& caller : callers) {
        if (!apart.inner.empty() || behind.empty()) behind.push_back(via + caller);
        if (apart.inner.empty()) behind.push_back(caller);
    }
    if (apart.outer.empty()) behind.push_back(via);
    const std::string self = frame_label(first, letters);
    for (const std::string& more : behind) {
        if (columns_of(self) + columns_of(more) <= columns_most) return self + more;
    }
    const std::string told = apart.inner + apart.outer;
    if (!told.empty() && first.line) return cut_to(file_and_line(first, letters), told, columns_most);
    return cut_to(function_label(first, letters), place_of(first, letters) + told, columns_most);
}

std::string native_label(const SiteFrames& frames, size_t columns_most, Letters letters, const Apart& apart) {
    const std::string more = apart.inner + apart.outer;
    const auto cut = [&](const std::string& name, const std::string& place) {
        return cut_to(shown_text(name, letters), place + more, columns_most);
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
        frame = first([](const SiteFrame& one) {
            return one.known && !one.function.empty() && !is_of_torchs_recorder(one);
        });
    if (frame == nullptr) frame = first(&SiteFrame::known);
    if (frame == nullptr) return {};
    const std::string label = frame_label(*frame, letters) + more;
    if (columns_of(label) <= columns_most) return label;
    return cut_to(function_label(*frame, letters), place_of(*frame, letters) + more, columns_most);
}

}  // namespace

bool is_own(const SiteFrame& frame) {
    return frame.known && !is_of_library(frame.file);
}

bool is_module_call(const SiteFrame& frame) {
    return is_of_library(frame.file) &&
           (frame.function.ends_with("_call_impl") || frame.function == "Module.__call__");
}

size_t labelled_frame(const SiteFrames& python) {
    const auto found = std::ranges::find_if(python, is_own);
    return found == python.end() ? 0 : static_cast<size_t>(found - python.begin());
}

std::optional<std::string> operator_of(const SiteFrames& native) {
    std::optional<std::string> found;
    for (const SiteFrame& frame : native) {
        if (auto asked = called_operator(frame)) found = std::move(asked);
    }
    return found;
}

std::string function_label(const SiteFrame& frame, Letters letters) {
    return shown_text(frame.native ? bare_name(frame.function) : inner_name(frame.function), letters);
}

std::string line_label(const SiteFrame& frame, Letters letters) {
    const std::string function = function_label(frame, letters);
    return frame.line ? fmt::format("{}:{}", function, *frame.line) : function;
}

std::string frame_label(const SiteFrame& frame, Letters letters) {
    const std::string function = function_label(frame, letters);
    if (!frame.native) return (function.empty() ? "?" : function) + place_of(frame, letters);
    if (!function.empty()) return function + place_of(frame, letters);
    const std::string object = frame.file.empty() ? "?" : shown_text(frame.file, letters);
    return frame.known ? fmt::format("{}+0x{:x}", object, frame.offset_bytes) : object;
}

std::string frames_label(const SiteFrames& frames, size_t columns_most, Letters letters, const Apart& apart) {
    if (frames.empty()) return {};
    return frames.front().native ? native_label(frames, columns_most, letters, apart)
                                 : python_label(frames, columns_most, letters, apart);
}

std::string loop_label(SiteNames& sites, uint64_t token, Letters letters) {
    const SiteFrames& python = sites.python(token);
    if (python.empty()) return {};
    const size_t loop = calling_loop(python, labelled_frame(python));
    return loop == python.size() ? std::string() : frame_label(python[loop], letters);
}

std::string site_label(SiteNames& sites, uint64_t token, size_t columns_most, Letters letters,
                       const Apart& apart) {
    const SiteFrames& python = sites.python(token);
    return frames_label(python.empty() ? sites.native(token) : python, columns_most, letters, apart);
}

}  // namespace memsnap
