// SPDX-License-Identifier: Apache-2.0
#include "versions.h"

#include <string.h>

#include "callers.h"
#include "elf_lookup.h"

namespace memsnap::recorder {
namespace {

// The number after the first quote that follows `name` at the start of a line: "13.0" -> {13, 0, 0}.
bool quoted_version(const char* text, const char* name, uint64_t (&parts)[3]) {
    for (const char* line = text; line != nullptr; line = strchr(line, '\n')) {
        if (*line == '\n') ++line;
        if (!starts_with(line, name)) continue;
        const char* at = line + strcspn(line, "'\n");
        if (*at != '\'') return false;
        for (uint64_t& part : parts) {
            ++at;
            if (!read_number(at, part)) break;
            if (*at != '.') return true;
        }
        return true;
    }
    return false;
}

// <site>/torch/lib/libc10_cuda.so -> <site>/torch/version.py
bool version_file(const Path& library, Path& file) {
    size_t end = static_cast<size_t>(base_name(library.c_str()) - library.c_str());
    if (end < 2) return false;
    file.add(library.c_str(), end - 1);
    size_t folder = static_cast<size_t>(base_name(file.c_str()) - file.c_str());
    file.shorten(folder);
    file.add("version.py");
    return !file.cut();
}

void note_torch(Recorder& recorder, uintptr_t library_begin) {
    Path library;
    Path file;
    char text[4096];
    if (!path_of_object(library_begin, library) || !version_file(library, file)) return;
    if (read_small_file(file.c_str(), text, sizeof text) == 0) return;
    uint32_t torch_version = 0;
    uint32_t cudart_version = 0;
    parse_torch_versions(text, torch_version, cudart_version);
    std::atomic_ref<uint32_t>(recorder.header->torch_version).store(torch_version, std::memory_order_relaxed);
    std::atomic_ref<uint32_t>(recorder.header->cudart_version)
        .store(cudart_version, std::memory_order_relaxed);
}

}  // namespace

std::atomic<uint32_t> g_driver_version{0};

void parse_torch_versions(const char* text, uint32_t& torch_version, uint32_t& cudart_version) {
    uint64_t torch[3] = {};
    uint64_t cuda[3] = {};
    torch_version = 0;
    cudart_version = 0;
    if (quoted_version(text, "__version__", torch)) {
        torch_version = static_cast<uint32_t>(torch[0] * 10000 + torch[1] * 100 + torch[2]);
    }
    if (quoted_version(text, "cuda", cuda))
        cudart_version = static_cast<uint32_t>(cuda[0] * 1000 + cuda[1] * 10);
}

void note_versions(Recorder& recorder) {
    std::atomic_ref<uint32_t>(recorder.header->driver_version)
        .store(g_driver_version.load(std::memory_order_relaxed), std::memory_order_relaxed);
    if (recorder.torch_version_noted) return;
    uint32_t count = g_caller_count.load(std::memory_order_acquire);
    for (uint32_t i = 1; i < count; ++i) {
        if (!is_torch_allocator(static_cast<uint16_t>(i))) continue;
        recorder.torch_version_noted = true;
        note_torch(recorder, g_callers[i].begin.load(std::memory_order_relaxed));
        return;
    }
}

}  // namespace memsnap::recorder
