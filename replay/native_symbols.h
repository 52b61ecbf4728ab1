// SPDX-License-Identifier: Apache-2.0
//
// Functions of loaded objects, by the symbol tables of the files they were loaded from. The rules: a file
// counts only with the build id that was recorded; nothing is downloaded; what no symbol covers has no name.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "reader_sites.h"

namespace memsnap {

class SymbolTable;

class NativeSymbols {
  public:
    NativeSymbols();
    NativeSymbols(const NativeSymbols&) = delete;
    NativeSymbols& operator=(const NativeSymbols&) = delete;
    ~NativeSymbols();

    // The demangled name of the function that an address in memory lies in; empty: not known.
    std::string function_at(const LoadedObject& object, uint64_t address);

  private:
    // By build id; a file is looked for once. nullptr: there is none.
    std::map<std::vector<std::byte>, std::unique_ptr<SymbolTable>> tables_;
};

}  // namespace memsnap
