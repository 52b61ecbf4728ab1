// SPDX-License-Identifier: Apache-2.0
// The few cuBLAS and cuBLASLt functions whose results a program looks at, and what the generated rest does.
// Rule: no product is computed and nothing is allocated (PyTorch gives cuBLAS its workspace itself); a
// product is one empty kernel on the stream it was asked for, so streams, captures and events see it.
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstring>

namespace {

struct BlasHandle {
    cudaStream_t stream = nullptr;
};

constexpr int kSuccess = 0;
constexpr int kExecutionFailed = 13;  // CUBLAS_STATUS_EXECUTION_FAILED

int compute(cudaStream_t stream) {
    static const char kernel = 0;
    const cudaError_t launched = cudaLaunchKernel(&kernel, dim3(1), dim3(1), nullptr, 0, stream);
    return launched == cudaSuccess ? kSuccess : kExecutionFailed;
}

// Descriptors are never looked into.
int give_description(void** description) {
    static int object = 0;
    *description = &object;
    return kSuccess;
}

// cublasLtMatmulHeuristicResult_t of cublasLt.h.
struct HeuristicResult {
    unsigned long long algorithm[8];
    size_t workspace_bytes;
    int state;
    float waves;
    int reserved[4];
};

}  // namespace

extern "C" {

int simblas_compute(void* handle) {
    return compute(static_cast<BlasHandle*>(handle)->stream);
}

int cublasCreate_v2(void** handle) {
    *handle = new BlasHandle;
    return kSuccess;
}

int cublasDestroy_v2(void* handle) {
    delete static_cast<BlasHandle*>(handle);
    return kSuccess;
}

int cublasSetStream_v2(void* handle, cudaStream_t stream) {
    static_cast<BlasHandle*>(handle)->stream = stream;
    return kSuccess;
}

int cublasGetMathMode(void*, int* mode) {
    *mode = 0;
    return kSuccess;
}

int cublasGetPointerMode_v2(void*, int* mode) {
    *mode = 0;
    return kSuccess;
}

size_t cublasLtGetVersion() {
    return 130100;
}
int cublasLtMatmulDescCreate(void** descriptor, int, int) {
    return give_description(descriptor);
}
int cublasLtMatrixLayoutCreate(void** layout, int, unsigned long, unsigned long, long) {
    return give_description(layout);
}
int cublasLtMatmulPreferenceCreate(void** preference) {
    return give_description(preference);
}

// One algorithm, without a workspace.
int cublasLtMatmulAlgoGetHeuristic(void*, void*, void*, void*, void*, void*, void*, int requested,
                                   HeuristicResult* results, int* found) {
    *found = requested > 0 ? 1 : 0;
    if (requested > 0) std::memset(results, 0, sizeof *results);
    return kSuccess;
}

int cublasLtMatmul(void*, void*, const void*, const void*, void*, const void*, void*, const void*,
                   const void*, void*, void*, void*, const void*, void*, size_t, cudaStream_t stream) {
    return compute(stream);
}

}  // extern "C"
