// SPDX-License-Identifier: Apache-2.0
// What every runtime function passes through: the driver, a current context, and the thread's last error.
// Rule: the runtime keeps no accounts; it translates to the driver, whose results have the same numbers, and
// remembers the last error of the thread (CUDA runtime API, "Error Handling").
#pragma once

#include "runtime_driver_table.h"

namespace simcuda {

// Remembers an error as the thread's last one and passes it on.
cudaError_t finish(cudaError_t error);
void clear_last_error();  // sticky ones too: their context is gone
inline cudaError_t finish(CUresult result) {
    return finish(static_cast<cudaError_t>(result));
}

// The device that cudaSetDevice chose for this thread.
int& thread_device();

// Makes the primary context of the thread's device current, unless the program made some context current
// itself.
CUresult ensure_context(const DriverTable& driver);

// A call that needs the driver only.
template <typename Body>
cudaError_t call_driver(Body body) {
    const DriverTable& driver = driver_table();
    return finish(driver.load_result == CUDA_SUCCESS ? body(driver) : driver.load_result);
}

// A call that needs a context.
template <typename Body>
cudaError_t call_context(Body body) {
    return call_driver([&](const DriverTable& driver) {
        const CUresult ready = ensure_context(driver);
        return ready == CUDA_SUCCESS ? body(driver) : ready;
    });
}

// Most runtime functions: forward to one driver function, arguments unchanged.
template <auto Member, typename... Arguments>
cudaError_t forward(Arguments... arguments) {
    return call_context([&](const DriverTable& driver) { return (driver.*Member)(arguments...); });
}

inline CUdeviceptr device_address(const void* pointer) {
    return reinterpret_cast<CUdeviceptr>(pointer);
}

}  // namespace simcuda
