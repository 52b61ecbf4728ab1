// SPDX-License-Identifier: Apache-2.0
// Last errors and their names. Rule: cudaGetLastError clears the thread's last error, cudaPeekAtLastError
// does not; an error that corrupted the context stays (CUDA runtime API, "Error Handling").
#include "runtime.h"
#include "stub.h"

namespace simcuda {
namespace {

cudaError_t& last_error() {
    thread_local cudaError_t error = cudaSuccess;
    return error;
}

// After these "the process must be terminated and relaunched" (driver_types.h).
bool is_sticky(cudaError_t error) {
    switch (static_cast<int>(error)) {
        case cudaErrorIllegalAddress:
        case cudaErrorLaunchTimeout:
        case cudaErrorAssert:
        case cudaErrorHardwareStackError:
        case cudaErrorIllegalInstruction:
        case cudaErrorMisalignedAddress:
        case cudaErrorInvalidAddressSpace:
        case cudaErrorInvalidPc:
        case cudaErrorLaunchFailure:
            return true;
        default:
            return false;
    }
}

}  // namespace

cudaError_t finish(cudaError_t error) {
    if (error != cudaSuccess) last_error() = error;
    return error;
}

void clear_last_error() {
    last_error() = cudaSuccess;
}

}  // namespace simcuda

using namespace simcuda;

extern "C" {

cudaError_t cudaGetLastError() {
    const cudaError_t error = last_error();
    if (!is_sticky(error)) last_error() = cudaSuccess;
    return error;
}

cudaError_t cudaPeekAtLastError() {
    return last_error();
}

const char* cudaGetErrorName(cudaError_t error) {
    const char* name = find_error_name(kRuntimeErrorNames, static_cast<int>(error));
    return name != nullptr ? name : "unrecognized error code";
}

const char* cudaGetErrorString(cudaError_t error) {
    const char* text = describe_error(static_cast<int>(error));
    return text != nullptr ? text : cudaGetErrorName(error);
}

}  // extern "C"
