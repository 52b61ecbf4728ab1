// SPDX-License-Identifier: Apache-2.0
// Behaviour of the generated stubs. Rule: silent unless SIMCUDA_VERBOSE=1, so a job's own stderr stays its own.
#include "stub.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>
#include <string>

namespace simcuda {

int unsupported(const char* name) {
    const char* verbose = std::getenv("SIMCUDA_VERBOSE");
    if (verbose == nullptr || std::strcmp(verbose, "1") != 0) return kNotSupported;
    static std::mutex mutex;
    static auto& said = *new std::set<std::string>;  // never destroyed: called until the last instant of a process
    const std::lock_guard lock(mutex);
    if (said.insert(name).second) std::fprintf(stderr, "simcuda: %s is not simulated\n", name);
    return kNotSupported;
}

const char* find_error_name(const ErrorName* table, int code) {
    for (; table->name != nullptr; ++table) {
        if (table->code == code) return table->name;
    }
    return nullptr;
}

}  // namespace simcuda
