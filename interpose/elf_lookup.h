// SPDX-License-Identifier: Apache-2.0
//
// Finds the function that a library's call would have reached had this library not been there: the symbol its
// reference names, with its version, first in what was loaded at start (other preloads included), then in
// what the calling library needs, breadth first.
//
// The rule: no call into the dynamic linker but dl_iterate_phdr. Its lock is held only while the list of
// loaded objects changes, never while constructors run, so a first call under an allocator's lock cannot
// deadlock with a dlopen elsewhere. dlsym on the link_map of a library that came in as a dependency is no
// alternative: glibc has built no search list for it and crashes.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "text.h"

namespace memsnap::recorder {

inline constexpr size_t kNameCapacity_bytes = 256;  // a file's name and its terminator

struct LoadedObject {
    uintptr_t begin = 0;  // of its first and last loaded segment; begin 0: the address is in no loaded object
    uintptr_t end = 0;
    char base_name[kNameCapacity_bytes] = {};  // empty: the program itself
};

// To be called once, when this library is loaded: what was loaded at the program's start belongs to the
// global scope.
void remember_startup_objects();
// Whether this library came after that: no call comes to it by itself.
bool is_loaded_late();

LoadedObject object_at(uintptr_t address);

// The path under which the object that begins there was loaded.
bool path_of_object(uintptr_t begin, Path& path);

// The definition of a hooked `name` that the object at `caller` would reach without us, or null. `caller` 0:
// any object's.
void* find_original(uintptr_t caller, const char* name);

// A function of the C library that one of ours stands in front of, found when it is first asked for.
template <typename Signature>
class Hidden {
  public:
    constexpr explicit Hidden(const char* name) : name_(name) {}
    // Null only where no loaded object has it.
    Signature* get() {
        Signature* found = found_.load(std::memory_order_acquire);
        if (found != nullptr) [[likely]]
            return found;
        found = reinterpret_cast<Signature*>(find_original(0, name_));
        found_.store(found, std::memory_order_release);
        return found;
    }

  private:
    const char* name_;
    std::atomic<Signature*> found_{nullptr};
};

// The definition of a name that is not ours, as the global scope has it.
void* find_symbol(const char* name);
// The same for a variable.
void* find_data(const char* name);

}  // namespace memsnap::recorder
