// SPDX-License-Identifier: Apache-2.0
// Graphs of the runtime. Rule: one driver call each; only types differ.
#include "runtime.h"

using namespace simcuda;

extern "C" {

cudaError_t cudaGraphCreate(cudaGraph_t* graph, unsigned int flags) {
    return forward<&DriverTable::cuGraphCreate>(graph, flags);
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
    return forward<&DriverTable::cuGraphDestroy>(graph);
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count) {
    return forward<&DriverTable::cuGraphGetNodes>(graph, nodes, count);
}

cudaError_t cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count) {
    return forward<&DriverTable::cuGraphGetRootNodes>(graph, nodes, count);
}

cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, cudaGraphNodeType* type) {
    return forward<&DriverTable::cuGraphNodeGetType>(node, reinterpret_cast<CUgraphNodeType*>(type));
}

cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t* dependencies,
                                         cudaGraphEdgeData* edges, size_t* count) {
    return forward<&DriverTable::cuGraphNodeGetDependencies_v2>(
        node, dependencies, reinterpret_cast<CUgraphEdgeData*>(edges), count);
}

cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                  const cudaGraphNode_t* dependencies, size_t count) {
    return forward<&DriverTable::cuGraphAddEmptyNode>(node, graph, dependencies, count);
}

cudaError_t cudaGraphAddMemAllocNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                     const cudaGraphNode_t* dependencies, size_t count,
                                     cudaMemAllocNodeParams* parameters) {
    if (parameters == nullptr) return finish(cudaErrorInvalidValue);
    CUDA_MEM_ALLOC_NODE_PARAMS driver_parameters{};
    driver_parameters.poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    driver_parameters.poolProps.location.id = parameters->poolProps.location.id;
    driver_parameters.bytesize = parameters->bytesize;
    const cudaError_t result =
        forward<&DriverTable::cuGraphAddMemAllocNode>(node, graph, dependencies, count, &driver_parameters);
    if (result == cudaSuccess) parameters->dptr = reinterpret_cast<void*>(driver_parameters.dptr);
    return result;
}

cudaError_t cudaGraphAddMemFreeNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                    const cudaGraphNode_t* dependencies, size_t count, void* pointer) {
    return forward<&DriverTable::cuGraphAddMemFreeNode>(node, graph, dependencies, count,
                                                        device_address(pointer));
}

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* executable, cudaGraph_t graph,
                                          unsigned long long flags) {
    return forward<&DriverTable::cuGraphInstantiateWithFlags>(executable, graph, flags);
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph, unsigned long long flags) {
    return cudaGraphInstantiateWithFlags(executable, graph, flags);
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
    return forward<&DriverTable::cuGraphExecDestroy>(executable);
}

cudaError_t cudaGraphUpload(cudaGraphExec_t executable, cudaStream_t stream) {
    return forward<&DriverTable::cuGraphUpload>(executable, stream);
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
    return forward<&DriverTable::cuGraphLaunch>(executable, stream);
}

cudaError_t cudaGraphDebugDotPrint(cudaGraph_t graph, const char* path, unsigned int flags) {
    return forward<&DriverTable::cuGraphDebugDotPrint>(graph, path, flags);
}

cudaError_t cudaUserObjectCreate(cudaUserObject_t* object, void* pointer, cudaHostFn_t destroy,
                                 unsigned int count, unsigned int flags) {
    return forward<&DriverTable::cuUserObjectCreate>(object, pointer, destroy, count, flags);
}

cudaError_t cudaUserObjectRetain(cudaUserObject_t object, unsigned int count) {
    return forward<&DriverTable::cuUserObjectRetain>(object, count);
}

cudaError_t cudaUserObjectRelease(cudaUserObject_t object, unsigned int count) {
    return forward<&DriverTable::cuUserObjectRelease>(object, count);
}

cudaError_t cudaGraphRetainUserObject(cudaGraph_t graph, cudaUserObject_t object, unsigned int count,
                                      unsigned int flags) {
    return forward<&DriverTable::cuGraphRetainUserObject>(graph, object, count, flags);
}

cudaError_t cudaGraphReleaseUserObject(cudaGraph_t graph, cudaUserObject_t object, unsigned int count) {
    return forward<&DriverTable::cuGraphReleaseUserObject>(graph, object, count);
}

cudaError_t cudaDeviceGraphMemTrim(int device) {
    return forward<&DriverTable::cuDeviceGraphMemTrim>(device);
}

cudaError_t cudaDeviceGetGraphMemAttribute(int device, cudaGraphMemAttributeType attribute, void* value) {
    return forward<&DriverTable::cuDeviceGetGraphMemAttribute>(
        device, static_cast<CUgraphMem_attribute>(attribute), value);
}

cudaError_t cudaDeviceSetGraphMemAttribute(int device, cudaGraphMemAttributeType attribute, void* value) {
    return forward<&DriverTable::cuDeviceSetGraphMemAttribute>(
        device, static_cast<CUgraphMem_attribute>(attribute), value);
}

}  // extern "C"
