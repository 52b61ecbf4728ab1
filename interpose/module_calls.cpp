// SPDX-License-Identifier: Apache-2.0
#include "module_calls.h"

#include <string.h>

#include "code_generations.h"
#include "python_interpreter.h"

namespace memsnap::recorder {
namespace {

// Releases of PyTorch before 2.1 have no _wrapped_call_impl; in later ones it is the outer of the two.
enum class Caller : uint32_t {
    none = 0,
    inner = 1,
    outer = 2,
};

struct ModuleCode {
    std::atomic<uintptr_t> code;  // 0: unused
    std::atomic<uint32_t> generation;
    std::atomic<Caller> caller;
};

constexpr uint32_t kModuleCodes = 8;
ModuleCode g_module_codes[kModuleCodes];
std::atomic<uint32_t> g_learnt_count{0};

bool ends_with(const char* text, size_t text_bytes, const char* end) {
    size_t end_bytes = strlen(end);
    return text_bytes >= end_bytes && memcmp(text + text_bytes - end_bytes, end, end_bytes) == 0;
}

bool is_name(const char* text, size_t text_bytes, const char* name) {
    return text_bytes == strlen(name) && memcmp(text, name, text_bytes) == 0;
}

Caller caller_by_name(const char* name, size_t name_bytes) {
    constexpr char kClass[] = "Module.";
    constexpr size_t kClass_bytes = sizeof kClass - 1;
    if (name_bytes > kClass_bytes && memcmp(name, kClass, kClass_bytes) == 0) {
        name += kClass_bytes;
        name_bytes -= kClass_bytes;
    }
    if (is_name(name, name_bytes, "_wrapped_call_impl")) return Caller::outer;
    return is_name(name, name_bytes, "_call_impl") ? Caller::inner : Caller::none;
}

bool is_alive(const ModuleCode& known, uintptr_t code) {
    return known.generation.load(std::memory_order_relaxed) == code_generation(code);
}

// What an object of the type `cell` holds: a local that an inner function uses lies in one.
uintptr_t without_cell(uintptr_t object) {
    OwnMemory memory;
    if (object == 0) return 0;
    bool is_cell =
        memory.at<uintptr_t>(object + kObjectType) == reinterpret_cast<uintptr_t>(g_python.api.cell_type);
    return is_cell ? memory.at<uintptr_t>(object + kCellContents) : object;
}

uintptr_t module_in(uintptr_t frame) {
    OwnMemory memory;
    return without_cell(without_tag(memory.at<uintptr_t>(frame + g_python.layout.frame_locals)));
}

// Both functions are (self, *args, **kwargs): each call makes a dict of its own, which stays as it is.
uint64_t activation_of(uintptr_t frame) {
    constexpr uintptr_t kKeywords = 2 * sizeof(uintptr_t);
    const PythonLayout& layout = g_python.layout;
    OwnMemory memory;
    uintptr_t keywords = without_tag(memory.at<uintptr_t>(frame + layout.frame_locals + kKeywords));
    if (layout.dict_version == 0 || keywords == 0) return 0;
    bool is_dict =
        memory.at<uintptr_t>(keywords + kObjectType) == reinterpret_cast<uintptr_t>(g_python.api.dict_type);
    return is_dict ? memory.at<uint64_t>(keywords + layout.dict_version) : 0;
}

}  // namespace

void learn_module_code(const void* code, const char* file_name, size_t file_name_bytes, const char* name,
                       size_t name_bytes) {
    if (!ends_with(file_name, file_name_bytes, "torch/nn/modules/module.py")) return;
    Caller caller = caller_by_name(name, name_bytes);
    if (caller == Caller::none) return;
    auto address = reinterpret_cast<uintptr_t>(code);
    for (ModuleCode& known : g_module_codes) {
        if (known.code.load() == address && is_alive(known, address)) return;
        if (caller == Caller::outer && known.caller.load() == Caller::inner) known.code.store(0);
        if (caller == Caller::inner && known.caller.load() == Caller::outer) return;
    }
    ModuleCode& place = g_module_codes[g_learnt_count.load() % kModuleCodes];
    place.code.store(0);
    place.caller.store(caller);
    place.generation.store(code_generation(address));
    place.code.store(address, std::memory_order_release);
    g_learnt_count.fetch_add(1, std::memory_order_release);
}

uint32_t known_module_codes() {
    return g_learnt_count.load(std::memory_order_acquire);
}

ModuleCall module_call_at(uintptr_t frame, const PythonFrame& caller) {
    uintptr_t module = module_in(frame);
    if (module == 0) return {};
    return ModuleCall{reinterpret_cast<const void*>(frame), reinterpret_cast<const void*>(module), caller,
                      activation_of(frame)};
}

OutermostModule::OutermostModule() {
    static_assert(kCapacity == kModuleCodes);
    uint32_t learnt = g_learnt_count.load(std::memory_order_acquire);
    for (uint32_t i = 0; i < kModuleCodes && i < learnt; ++i) {
        uintptr_t code = g_module_codes[i].code.load(std::memory_order_acquire);
        if (code != 0 && is_alive(g_module_codes[i], code)) codes_[count_++] = code;
    }
}

void OutermostModule::take(uintptr_t frame) {
    if (module_in(frame) == 0) {
        has_unread_ = true;
        return;
    }
    frame_ = frame;
    caller_code_ = 0;
    wants_caller_ = true;
}

ModuleCall OutermostModule::get() const {
    if (frame_ == 0) return {};
    PythonFrame caller{};
    if (caller_code_ != 0) {
        caller = PythonFrame{reinterpret_cast<const void*>(caller_code_), caller_instruction_,
                             code_generation(caller_code_)};
    }
    return module_call_at(frame_, caller);
}

}  // namespace memsnap::recorder
