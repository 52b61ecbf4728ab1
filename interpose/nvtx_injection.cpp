// SPDX-License-Identifier: Apache-2.0
#include "nvtx_injection.h"

#include <stdlib.h>
#include <sys/auxv.h>

#include <atomic>

#include "elf_lookup.h"
#include "nvtx_ranges.h"
#include "ring_file.h"
#include "settings.h"
#include "visibility.h"

namespace memsnap::recorder {
namespace nvtx {
namespace {

void mark_ex(const Attributes* attributes) {
    mark(Message(attributes));
}
template <typename Text>
void mark_text(const Text* text) {
    mark(Message(text));
}
RangeId start_ex(const Attributes* attributes) {
    return start(Message(attributes));
}
template <typename Text>
RangeId start_text(const Text* text) {
    return start(Message(text));
}
int push_ex(const Attributes* attributes) {
    push(0, Message(attributes));
    return kNotTracked;
}
template <typename Text>
int push_text(const Text* text) {
    push(0, Message(text));
    return kNotTracked;
}
int pop_default() {
    pop(0);
    return kNotTracked;
}

void domain_mark_ex(Domain, const Attributes* attributes) {
    mark(Message(attributes));
}
RangeId domain_start_ex(Domain, const Attributes* attributes) {
    return start(Message(attributes));
}
void domain_end(Domain, RangeId id) {
    end(id);
}
int domain_push_ex(Domain domain, const Attributes* attributes) {
    push(domain_number(domain), Message(attributes));
    return kNotTracked;
}
int domain_pop(Domain domain) {
    pop(domain_number(domain));
    return kNotTracked;
}
template <typename Text>
String domain_register(Domain, const Text* text) {
    return register_string(Message(text));
}
template <typename Text>
Domain domain_create(const Text* name) {
    return create_domain(Message(name));
}

class Table {
  public:
    Table(const Callbacks& callbacks, unsigned module) {
        if (callbacks.get_module_table(module, &slots_, &size_) == 0) size_ = 0;
    }
    template <typename Signature>
    void set(unsigned id, Signature* function) {
        if (slots_ == nullptr || id >= size_ || slots_[id] == nullptr) return;
        // Other threads call through the slot meanwhile.
        std::atomic_ref<Function>(*slots_[id])
            .store(reinterpret_cast<Function>(function), std::memory_order_release);
    }

  private:
    Function** slots_ = nullptr;
    unsigned size_ = 0;
};

void attach_core(const Callbacks& callbacks) {
    Table table(callbacks, kCore);
    table.set(kMarkEx, mark_ex);
    table.set(kMarkA, mark_text<char>);
    table.set(kMarkW, mark_text<wchar_t>);
    table.set(kRangeStartEx, start_ex);
    table.set(kRangeStartA, start_text<char>);
    table.set(kRangeStartW, start_text<wchar_t>);
    table.set(kRangeEnd, end);
    table.set(kRangePushEx, push_ex);
    table.set(kRangePushA, push_text<char>);
    table.set(kRangePushW, push_text<wchar_t>);
    table.set(kRangePop, pop_default);
}

void attach_domains(const Callbacks& callbacks) {
    Table table(callbacks, kCore2);
    table.set(kDomainMarkEx, domain_mark_ex);
    table.set(kDomainRangeStartEx, domain_start_ex);
    table.set(kDomainRangeEnd, domain_end);
    table.set(kDomainRangePushEx, domain_push_ex);
    table.set(kDomainRangePop, domain_pop);
    table.set(kDomainRegisterStringA, domain_register<char>);
    table.set(kDomainRegisterStringW, domain_register<wchar_t>);
    table.set(kDomainCreateA, domain_create<char>);
    table.set(kDomainCreateW, domain_create<wchar_t>);
}

bool attach(GetExportTable* get_export_table) {
    const auto* callbacks = static_cast<const Callbacks*>(get_export_table(kCallbacksTable));
    if (callbacks == nullptr || callbacks->struct_size < sizeof(Callbacks)) return false;
    attach_core(*callbacks);
    attach_domains(*callbacks);
    return true;
}

}  // namespace
}  // namespace nvtx

namespace {

constexpr char kVariable[] = "NVTX_INJECTION64_PATH";

bool is_switched_off() {
    return environment_is("MEMSNAP_NVTX", "0") || recording_disabled();
}

bool has_python() {
    const auto* program = reinterpret_cast<const char*>(getauxval(AT_EXECFN));
    return (program != nullptr && starts_with(base_name(program), "python")) ||
           find_symbol("Py_BytesMain") != nullptr || find_symbol("Py_Main") != nullptr;
}

}  // namespace

void offer_nvtx_injection() {
    if (environment(kVariable) != nullptr || is_switched_off()) return;
    if (!environment_is("MEMSNAP_NVTX", "1") && !has_python()) return;
    Path path;
    LoadedObject self = object_at(reinterpret_cast<uintptr_t>(&kVariable));
    if (self.begin == 0 || !path_of_object(self.begin, path)) return;
    make_path_absolute(path);
    if (!path.cut()) setenv(kVariable, path.c_str(), 0);
}

}  // namespace memsnap::recorder

extern "C" MEMSNAP_EXPORT int InitializeInjectionNvtx2(
    memsnap::recorder::nvtx::GetExportTable* get_export_table) {
    using namespace memsnap::recorder;
    return !is_switched_off() && get_export_table != nullptr && nvtx::attach(get_export_table) ? 1 : 0;
}
