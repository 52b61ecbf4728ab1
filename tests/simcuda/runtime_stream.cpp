// SPDX-License-Identifier: Apache-2.0
// Streams, events and capture of the runtime. Rule: one driver call each; only types differ.
#include <cstring>

#include "runtime.h"

using namespace simcuda;

extern "C" {

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned int flags, int priority) {
    return forward<&DriverTable::cuStreamCreateWithPriority>(stream, flags, priority);
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned int flags) {
    return cudaStreamCreateWithPriority(stream, flags, 0);
}

cudaError_t cudaStreamCreate(cudaStream_t* stream) {
    return cudaStreamCreateWithPriority(stream, 0, 0);
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
    return forward<&DriverTable::cuStreamDestroy_v2>(stream);
}
cudaError_t cudaStreamQuery(cudaStream_t stream) {
    return forward<&DriverTable::cuStreamQuery>(stream);
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
    return forward<&DriverTable::cuStreamSynchronize>(stream);
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags) {
    return forward<&DriverTable::cuStreamWaitEvent>(stream, event, flags);
}

cudaError_t cudaStreamGetPriority(cudaStream_t stream, int* priority) {
    return forward<&DriverTable::cuStreamGetPriority>(stream, priority);
}

cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned int* flags) {
    return forward<&DriverTable::cuStreamGetFlags>(stream, flags);
}

cudaError_t cudaStreamGetId(cudaStream_t stream, unsigned long long* id) {
    return forward<&DriverTable::cuStreamGetId>(stream, id);
}

cudaError_t cudaStreamGetDevice(cudaStream_t stream, int* device) {
    return forward<&DriverTable::cuStreamGetDevice>(stream, device);
}

cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback, void* data,
                                  unsigned int flags) {
    return forward<&DriverTable::cuStreamAddCallback>(stream, reinterpret_cast<CUstreamCallback>(callback),
                                                      data, flags);
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data) {
    return forward<&DriverTable::cuLaunchHostFunc>(stream, function, data);
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned int flags) {
    return forward<&DriverTable::cuEventCreate>(event, flags);
}

cudaError_t cudaEventCreate(cudaEvent_t* event) {
    return cudaEventCreateWithFlags(event, cudaEventDefault);
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
    return forward<&DriverTable::cuEventDestroy_v2>(event);
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
    return forward<&DriverTable::cuEventQuery>(event);
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
    return forward<&DriverTable::cuEventSynchronize>(event);
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned int flags) {
    return forward<&DriverTable::cuEventRecordWithFlags>(event, stream, flags);
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    return cudaEventRecordWithFlags(event, stream, 0);
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
    return forward<&DriverTable::cuEventElapsedTime_v2>(milliseconds, start, end);
}

cudaError_t cudaIpcGetEventHandle(cudaIpcEventHandle_t* handle, cudaEvent_t event) {
    return forward<&DriverTable::cuIpcGetEventHandle>(reinterpret_cast<CUipcEventHandle*>(handle), event);
}

cudaError_t cudaIpcOpenEventHandle(cudaEvent_t* event, cudaIpcEventHandle_t handle) {
    CUipcEventHandle driver_handle{};
    std::memcpy(&driver_handle, &handle, sizeof handle);
    return forward<&DriverTable::cuIpcOpenEventHandle>(event, driver_handle);
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
    return forward<&DriverTable::cuStreamBeginCapture_v2>(stream, static_cast<CUstreamCaptureMode>(mode));
}

cudaError_t cudaStreamBeginCaptureToGraph(cudaStream_t stream, cudaGraph_t graph,
                                          const cudaGraphNode_t* dependencies, const cudaGraphEdgeData*,
                                          size_t count, cudaStreamCaptureMode mode) {
    return forward<&DriverTable::cuStreamBeginCaptureToGraph>(stream, graph, dependencies,
                                                              static_cast<const CUgraphEdgeData*>(nullptr),
                                                              count, static_cast<CUstreamCaptureMode>(mode));
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
    return forward<&DriverTable::cuStreamEndCapture>(stream, graph);
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
    return forward<&DriverTable::cuStreamIsCapturing>(stream,
                                                      reinterpret_cast<CUstreamCaptureStatus*>(status));
}

cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, cudaStreamCaptureStatus* status,
                                     unsigned long long* id, cudaGraph_t* graph,
                                     const cudaGraphNode_t** dependencies, const cudaGraphEdgeData** edges,
                                     size_t* count) {
    return call_context([&](const DriverTable& driver) {
        cuuint64_t found_id = 0;
        const CUresult result = driver.cuStreamGetCaptureInfo_v3(
            stream, reinterpret_cast<CUstreamCaptureStatus*>(status), &found_id, graph, dependencies,
            reinterpret_cast<const CUgraphEdgeData**>(edges), count);
        if (id != nullptr && result == CUDA_SUCCESS) *id = found_id;
        return result;
    });
}

cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t stream, cudaGraphNode_t* dependencies,
                                                const cudaGraphEdgeData*, size_t count, unsigned int flags) {
    return forward<&DriverTable::cuStreamUpdateCaptureDependencies_v2>(
        stream, dependencies, static_cast<const CUgraphEdgeData*>(nullptr), count, flags);
}

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
    return call_driver([&](const DriverTable& driver) {
        return driver.cuThreadExchangeStreamCaptureMode(reinterpret_cast<CUstreamCaptureMode*>(mode));
    });
}

}  // extern "C"
