// SPDX-License-Identifier: Apache-2.0
//
// A stream-ordered call on a stream that is being captured makes a node of a graph: no memory begins or ends.
// Other streams go on as ever. The node's memory is taken when the graph runs.
#include "driver.h"

int main(void) {
    start_on(0);
    const size_t bytes = 32 * kMebibyte;
    CUstream captured = NULL;
    CUstream other = NULL;
    CUgraph graph = NULL;
    CUdeviceptr node = 0;
    CUdeviceptr real = 0;
    OK(DRIVER(cuStreamCreate)(&captured, CU_STREAM_NON_BLOCKING));
    OK(DRIVER(cuStreamCreate)(&other, CU_STREAM_NON_BLOCKING));
    const size_t before = free_bytes();

    OK(DRIVER(cuStreamBeginCapture_v2)(captured, CU_STREAM_CAPTURE_MODE_RELAXED));
    OK(DRIVER(cuMemAllocAsync)(&node, bytes, captured));
    OK(DRIVER(cuMemAllocAsync)(&real, bytes, other));  // + 32 MiB
    OK(DRIVER(cuMemFreeAsync)(node, captured));
    if (free_bytes() != before - bytes) return 1;
    OK(DRIVER(cuStreamEndCapture)(captured, &graph));

    // Afterwards the same stream is an ordinary one.
    CUdeviceptr later = 0;
    OK(DRIVER(cuMemAllocAsync)(&later, bytes, captured));  // + 32 MiB
    OK(DRIVER(cuMemFreeAsync)(later, captured));
    OK(DRIVER(cuMemFreeAsync)(real, other));

    // The calling thread's own default stream, by the twins of each name.
    OK(DRIVER(cuStreamBeginCapture_v2_ptsz)(NULL, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    OK(DRIVER(cuMemAllocAsync_ptsz)(&node, bytes, NULL));
    OK(DRIVER(cuMemFreeAsync_ptsz)(node, NULL));
    OK(DRIVER(cuStreamEndCapture_ptsz)(NULL, &graph));
    OK(DRIVER(cuMemAllocAsync_ptsz)(&later, bytes, NULL));
    OK(DRIVER(cuMemFreeAsync_ptsz)(later, NULL));

    // A capture that was spoilt is over as well, for the driver and for us.
    OK(DRIVER(cuStreamBeginCapture)(captured));
    EXPECT(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, DRIVER(cuMemAlloc_v2)(&real, bytes));
    EXPECT(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, DRIVER(cuStreamEndCapture)(captured, &graph));

    // The other ways to begin one.
    CUgraph into = NULL;
    OK(DRIVER(cuGraphCreate)(&into, 0));
    OK(DRIVER(cuStreamBeginCaptureToGraph)(captured, into, NULL, NULL, 0, CU_STREAM_CAPTURE_MODE_RELAXED));
    OK(DRIVER(cuMemAllocAsync)(&node, bytes, captured));
    OK(DRIVER(cuStreamEndCapture)(captured, &graph));
    OK(DRIVER(cuStreamBeginCapture_ptsz)(NULL));
    OK(DRIVER(cuStreamEndCapture_ptsz)(NULL, &graph));
    OK(DRIVER(cuStreamBeginCaptureToGraph_ptsz)(NULL, into, NULL, NULL, 0, CU_STREAM_CAPTURE_MODE_RELAXED));
    OK(DRIVER(cuMemAllocAsync_ptsz)(&node, bytes, NULL));
    OK(DRIVER(cuStreamEndCapture_ptsz)(NULL, &graph));
    return 0;
}
