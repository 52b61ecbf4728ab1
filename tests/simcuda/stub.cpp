// SPDX-License-Identifier: Apache-2.0
// Behaviour of the generated stubs. Rule: silent unless SIMCUDA_VERBOSE=1, so a job's own stderr stays its
// own.
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
    static auto& said =
        *new std::set<std::string>;  // never destroyed: called until the last instant of a process
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

const char* describe_error(int code) {
    switch (code) {
        case 0:
            return "no error";
        case 1:
            return "invalid argument";
        case 2:
            return "out of memory";
        case 3:
            return "initialization error";
        case 4:
            return "driver shutting down";
        case 35:
            return "CUDA driver version is insufficient for CUDA runtime version";
        case 100:
            return "no CUDA-capable device is detected";
        case 101:
            return "invalid device ordinal";
        case 201:
            return "invalid device context";
        case 400:
            return "invalid resource handle";
        case 500:
            return "named symbol not found";
        case 600:
            return "device not ready";
        case 700:
            return "an illegal memory access was encountered";
        case 709:
            return "context is destroyed";
        case 719:
            return "unspecified launch failure";
        case kNotSupported:
            return "operation not supported";
        case 900:
            return "operation not permitted when stream is capturing";
        case 901:
            return "operation failed due to a previous error during capture";
        case 904:
            return "capturing stream has unjoined work";
        case 905:
            return "dependency created on uncaptured work in another stream";
        case 907:
            return "operation would make the legacy stream depend on a capturing blocking stream";
        case 908:
            return "operation not permitted on an event last recorded in a capturing stream";
        default:
            return nullptr;
    }
}

}  // namespace simcuda
