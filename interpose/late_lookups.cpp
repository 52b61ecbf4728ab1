// SPDX-License-Identifier: Apache-2.0
//
// The runtime's lookups of driver entry points, as a library calls them through a slot that was put to us: a
// runtime that was started before we came holds the driver's own resolver, so what it finds does not pass
// through ours. The rule: the runtime answers first; a pointer is replaced only where it is exactly an
// original's.
#include "callers.h"
#include "driver_hooks.h"

namespace memsnap::recorder {
namespace {

using LookUp = int(const char* symbol, void** found, uint64_t flags, void* status);
using LookUpByVersion = int(const char* symbol, void** found, unsigned version, uint64_t flags, void* status);
constexpr int kSymbolNotFound = 500;  // cudaErrorSymbolNotFound

// Both runtimes return success for a name that they do not know, with a status and a null pointer.
int hand_out_found(int result, const char* symbol, void** found, const void* return_address) {
    if (result == 0 && found != nullptr) *found = hand_out(symbol, *found, return_address);
    return result;
}

template <typename Signature>
Signature* runtime_lookup(Function function, const void* return_address) {
    return reinterpret_cast<Signature*>(original_of(caller_index(return_address), return_address, function));
}

// Older runtimes have a lookup without a status: an argument too many is harmless in registers.
template <Function function>
int look_up(const char* symbol, void** found, uint64_t flags, void* status) {
    const void* caller = __builtin_return_address(0);
    auto* original = runtime_lookup<LookUp>(function, caller);
    if (original == nullptr) return kSymbolNotFound;
    return hand_out_found(original(symbol, found, flags, status), symbol, found, caller);
}

template <Function function>
int look_up_by_version(const char* symbol, void** found, unsigned version, uint64_t flags, void* status) {
    const void* caller = __builtin_return_address(0);
    auto* original = runtime_lookup<LookUpByVersion>(function, caller);
    if (original == nullptr) return kSymbolNotFound;
    return hand_out_found(original(symbol, found, version, flags, status), symbol, found, caller);
}

}  // namespace

void* lookup_hook_of_cudaGetDriverEntryPoint() {
    return reinterpret_cast<void*>(&look_up<Function::cudaGetDriverEntryPoint>);
}
void* lookup_hook_of_cudaGetDriverEntryPoint_ptsz() {
    return reinterpret_cast<void*>(&look_up<Function::cudaGetDriverEntryPoint_ptsz>);
}
void* lookup_hook_of_cudaGetDriverEntryPointByVersion() {
    return reinterpret_cast<void*>(&look_up_by_version<Function::cudaGetDriverEntryPointByVersion>);
}
void* lookup_hook_of_cudaGetDriverEntryPointByVersion_ptsz() {
    return reinterpret_cast<void*>(&look_up_by_version<Function::cudaGetDriverEntryPointByVersion_ptsz>);
}

}  // namespace memsnap::recorder
