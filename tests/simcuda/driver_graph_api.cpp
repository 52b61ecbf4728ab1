// SPDX-License-Identifier: Apache-2.0
// Entry points of graphs and user objects. Rule: user callbacks run after the lock is released; node kinds
// that this simulation does not know (conditional and external ones) are "not supported".
#include <algorithm>
#include <cstdio>

#include "driver_state.h"

using namespace simcuda;

namespace {

template <typename Body>
CUresult with_graph(CUgraph graph, Body body) {
    return with_driver([&](Driver& state) {
        return state.graphs.graphs.contains(graph) ? body(state, *graph) : CUDA_ERROR_INVALID_VALUE;
    });
}

// Runs body(Driver&, calls&) under the lock and then makes the calls it collected.
template <typename Body>
CUresult with_calls(Body body) {
    std::vector<HostCall> calls;
    const CUresult result = with_driver([&](Driver& state) { return body(state, calls); });
    for (const HostCall& call : calls)
        call.function(call.user_data);
    return result;
}

// The CUDA way of returning a list: count alone, or up to the given count and the rest null.
template <typename T>
CUresult copy_list(const std::vector<T>& from, T* to, size_t* count) {
    if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (to != nullptr) {
        for (size_t index = 0; index < *count; ++index)
            to[index] = index < from.size() ? from[index] : nullptr;
    }
    *count = to == nullptr ? from.size() : std::min(*count, from.size());
    return CUDA_SUCCESS;
}

std::vector<CUgraphNode> nodes_of(const CUgraph_st& graph) {
    std::vector<CUgraphNode> nodes;
    for (const auto& node : graph.nodes)
        nodes.push_back(node.get());
    return nodes;
}

CUresult add_node(CUgraphNode* result, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                  GraphNodeContent content) {
    if (result == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return with_graph(graph, [&](Driver&, CUgraph_st&) {
        *result = GraphTable::add_node(graph, content, {dependencies, dependencies + count});
        return CUDA_SUCCESS;
    });
}

}  // namespace

extern "C" {

CUresult cuGraphCreate(CUgraph* graph, unsigned int flags) {
    if (graph == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
    return with_driver([&](Driver& state) {
        *graph = state.graphs.create();
        return CUDA_SUCCESS;
    });
}

CUresult cuGraphDestroy(CUgraph graph) {
    return with_calls([&](Driver& state, std::vector<HostCall>& calls) {
        if (!state.graphs.graphs.contains(graph)) return CUDA_ERROR_INVALID_VALUE;
        state.graphs.destroy(state, graph, calls);
        return CUDA_SUCCESS;
    });
}

CUresult cuGraphGetNodes(CUgraph graph, CUgraphNode* nodes, size_t* count) {
    return with_graph(graph,
                      [&](Driver&, CUgraph_st& found) { return copy_list(nodes_of(found), nodes, count); });
}

CUresult cuGraphGetRootNodes(CUgraph graph, CUgraphNode* nodes, size_t* count) {
    return with_graph(graph, [&](Driver&, CUgraph_st& found) {
        std::vector<CUgraphNode> roots = nodes_of(found);
        std::erase_if(roots, [](CUgraphNode node) { return !node->dependencies.empty(); });
        return copy_list(roots, nodes, count);
    });
}

CUresult cuGraphNodeGetType(CUgraphNode node, CUgraphNodeType* type) {
    if (node == nullptr || type == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return with_driver([&](Driver&) {
        *type = node->content.type;
        return CUDA_SUCCESS;
    });
}

CUresult cuGraphNodeGetDependencies_v2(CUgraphNode node, CUgraphNode* dependencies, CUgraphEdgeData* edges,
                                       size_t* count) {
    if (node == nullptr || count == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return with_driver([&](Driver&) {
        if (edges != nullptr) std::fill_n(edges, *count, CUgraphEdgeData{});
        return copy_list(node->dependencies, dependencies, count);
    });
}

CUresult cuGraphNodeGetDependencies(CUgraphNode node, CUgraphNode* dependencies, size_t* count) {
    return cuGraphNodeGetDependencies_v2(node, dependencies, nullptr, count);
}

CUresult cuGraphAddEmptyNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                             size_t count) {
    return add_node(node, graph, dependencies, count, {.type = CU_GRAPH_NODE_TYPE_EMPTY});
}

CUresult cuGraphAddKernelNode_v2(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                                 size_t count, const CUDA_KERNEL_NODE_PARAMS*) {
    return add_node(node, graph, dependencies, count, {.type = CU_GRAPH_NODE_TYPE_KERNEL});
}

CUresult cuGraphAddHostNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                            const CUDA_HOST_NODE_PARAMS* parameters) {
    if (parameters == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return add_node(node, graph, dependencies, count,
                    {.type = CU_GRAPH_NODE_TYPE_HOST,
                     .host_function = parameters->fn,
                     .user_data = parameters->userData});
}

CUresult cuGraphAddMemAllocNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                                size_t count, CUDA_MEM_ALLOC_NODE_PARAMS* parameters) {
    if (node == nullptr || parameters == nullptr || parameters->bytesize == 0)
        return CUDA_ERROR_INVALID_VALUE;
    return with_graph(graph, [&](Driver& state, CUgraph_st&) {
        const int device = parameters->poolProps.location.id;
        if (!is_device(state, device)) return CUDA_ERROR_INVALID_DEVICE;
        parameters->dptr = state.graphs.add_memory(state, device, parameters->bytesize);
        if (parameters->dptr == 0) return CUDA_ERROR_OUT_OF_MEMORY;
        *node =
            GraphTable::add_node(graph, {.type = CU_GRAPH_NODE_TYPE_MEM_ALLOC, .address = parameters->dptr},
                                 {dependencies, dependencies + count});
        return CUDA_SUCCESS;
    });
}

CUresult cuGraphAddMemFreeNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                               size_t count, CUdeviceptr pointer) {
    return add_node(node, graph, dependencies, count,
                    {.type = CU_GRAPH_NODE_TYPE_MEM_FREE, .address = pointer});
}

// Nodes of memory and empty ones; the others have calls of their own here.
CUresult cuGraphAddNode_v2(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                           const CUgraphEdgeData*, size_t count, CUgraphNodeParams* parameters) {
    if (parameters == nullptr) return CUDA_ERROR_INVALID_VALUE;
    switch (static_cast<int>(parameters->type)) {
        case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
            return cuGraphAddMemAllocNode(node, graph, dependencies, count,
                                          reinterpret_cast<CUDA_MEM_ALLOC_NODE_PARAMS*>(&parameters->alloc));
        case CU_GRAPH_NODE_TYPE_MEM_FREE:
            return cuGraphAddMemFreeNode(node, graph, dependencies, count, parameters->free.dptr);
        case CU_GRAPH_NODE_TYPE_EMPTY:
            return cuGraphAddEmptyNode(node, graph, dependencies, count);
        default:
            return CUDA_ERROR_NOT_SUPPORTED;
    }
}

CUresult cuGraphAddNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                        CUgraphNodeParams* parameters) {
    return cuGraphAddNode_v2(node, graph, dependencies, nullptr, count, parameters);
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec* executable, CUgraph graph, unsigned long long flags) {
    if (executable == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return with_graph(graph, [&](Driver& state, CUgraph_st&) {
        *executable = state.graphs.instantiate(graph, flags);
        return CUDA_SUCCESS;
    });
}

CUresult cuGraphInstantiateWithParams(CUgraphExec* executable, CUgraph graph,
                                      CUDA_GRAPH_INSTANTIATE_PARAMS* parameters) {
    if (parameters == nullptr) return CUDA_ERROR_INVALID_VALUE;
    parameters->result_out = CUDA_GRAPH_INSTANTIATE_SUCCESS;
    return cuGraphInstantiateWithFlags(executable, graph, parameters->flags);
}

CUresult cuGraphExecDestroy(CUgraphExec executable) {
    return with_calls([&](Driver& state, std::vector<HostCall>& calls) {
        if (!state.graphs.executables.contains(executable)) return CUDA_ERROR_INVALID_VALUE;
        state.graphs.destroy(state, executable, calls);
        return CUDA_SUCCESS;
    });
}

CUresult cuGraphUpload(CUgraphExec executable, CUstream) {
    return with_driver([&](Driver& state) {
        return state.graphs.executables.contains(executable) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    });
}

// Launched into a capturing stream, the graph becomes a child node, which this simulation keeps as an empty
// node.
CUresult cuGraphLaunch(CUgraphExec executable, CUstream stream) {
    std::vector<HostCall> calls;
    const CUresult result = with_context([&](Driver& state, CUctx_st& context) {
        if (!state.graphs.executables.contains(executable)) return CUDA_ERROR_INVALID_VALUE;
        CUgraphNode node = nullptr;
        const CUresult queued = enqueue(state, context, stream, {.type = CU_GRAPH_NODE_TYPE_GRAPH}, &node);
        if (queued != CUDA_SUCCESS || node != nullptr) return queued;
        return state.graphs.launch(state, *executable, calls);
    });
    for (const HostCall& call : calls)
        call.function(call.user_data);
    return result;
}

CUresult cuGraphDebugDotPrint(CUgraph graph, const char* path, unsigned int) {
    return with_graph(graph, [&](Driver&, CUgraph_st& found) {
        std::FILE* file = std::fopen(path, "w");
        if (file == nullptr) return CUDA_ERROR_OPERATING_SYSTEM;
        std::fprintf(file, "digraph graph_1 {\n");
        for (const auto& node : found.nodes) {
            std::fprintf(file, "\"%p\" [label=\"%d\"];\n", static_cast<void*>(node.get()),
                         node->content.type);
            for (CUgraphNode before : node->dependencies) {
                std::fprintf(file, "\"%p\" -> \"%p\";\n", static_cast<void*>(before),
                             static_cast<void*>(node.get()));
            }
        }
        std::fprintf(file, "}\n");
        std::fclose(file);
        return CUDA_SUCCESS;
    });
}

CUresult cuUserObjectCreate(CUuserObject* object, void* pointer, CUhostFn destroy, unsigned int count,
                            unsigned int) {
    if (object == nullptr || destroy == nullptr || count == 0) return CUDA_ERROR_INVALID_VALUE;
    return with_driver([&](Driver& state) {
        auto created = std::make_unique<CUuserObject_st>(CUuserObject_st{{destroy, pointer}, count});
        *object = created.get();
        state.graphs.user_objects[*object] = std::move(created);
        return CUDA_SUCCESS;
    });
}

CUresult cuUserObjectRetain(CUuserObject object, unsigned int count) {
    return with_driver([&](Driver& state) {
        if (!state.graphs.user_objects.contains(object)) return CUDA_ERROR_INVALID_VALUE;
        object->reference_count += count;
        return CUDA_SUCCESS;
    });
}

CUresult cuUserObjectRelease(CUuserObject object, unsigned int count) {
    return with_calls([&](Driver& state, std::vector<HostCall>& calls) {
        if (!state.graphs.user_objects.contains(object)) return CUDA_ERROR_INVALID_VALUE;
        state.graphs.release_user_object(object, count, calls);
        return CUDA_SUCCESS;
    });
}

CUresult cuGraphRetainUserObject(CUgraph graph, CUuserObject object, unsigned int count, unsigned int flags) {
    return with_graph(graph, [&](Driver& state, CUgraph_st& found) {
        if (!state.graphs.user_objects.contains(object)) return CUDA_ERROR_INVALID_VALUE;
        if ((flags & CU_GRAPH_USER_OBJECT_MOVE) == 0) object->reference_count += count;
        found.user_objects[object] += count;
        return CUDA_SUCCESS;
    });
}

CUresult cuGraphReleaseUserObject(CUgraph graph, CUuserObject object, unsigned int count) {
    return with_calls([&](Driver& state, std::vector<HostCall>& calls) {
        if (!state.graphs.graphs.contains(graph)) return CUDA_ERROR_INVALID_VALUE;
        const auto found = graph->user_objects.find(object);
        if (found == graph->user_objects.end() || found->second < count) return CUDA_ERROR_INVALID_VALUE;
        found->second -= count;
        if (found->second == 0) graph->user_objects.erase(found);
        state.graphs.release_user_object(object, count, calls);
        return CUDA_SUCCESS;
    });
}

CUresult cuDeviceGraphMemTrim(CUdevice device) {
    return with_driver([&](Driver& state) {
        if (!is_device(state, device)) return CUDA_ERROR_INVALID_DEVICE;
        state.graphs.trim(state, device);
        return CUDA_SUCCESS;
    });
}

CUresult cuDeviceGetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attribute, void* value) {
    if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return with_driver([&](Driver& state) {
        if (!is_device(state, device)) return CUDA_ERROR_INVALID_DEVICE;
        auto* const bytes = static_cast<cuuint64_t*>(value);
        switch (attribute) {
            case CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT:
                *bytes = state.graphs.used_bytes(device);
                return CUDA_SUCCESS;
            case CU_GRAPH_MEM_ATTR_USED_MEM_HIGH:
                *bytes = state.graphs.high_marks[device].first;
                return CUDA_SUCCESS;
            case CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT:
                *bytes = state.graphs.reserved_bytes(device);
                return CUDA_SUCCESS;
            case CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH:
                *bytes = state.graphs.high_marks[device].second;
                return CUDA_SUCCESS;
        }
        return CUDA_ERROR_INVALID_VALUE;
    });
}

CUresult cuDeviceSetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attribute, void* value) {
    if (value == nullptr || *static_cast<cuuint64_t*>(value) != 0) return CUDA_ERROR_INVALID_VALUE;
    return with_driver([&](Driver& state) {
        if (!is_device(state, device)) return CUDA_ERROR_INVALID_DEVICE;
        auto& [used_high, reserved_high] = state.graphs.high_marks[device];
        if (attribute == CU_GRAPH_MEM_ATTR_USED_MEM_HIGH) used_high = state.graphs.used_bytes(device);
        if (attribute == CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH)
            reserved_high = state.graphs.reserved_bytes(device);
        return CUDA_SUCCESS;
    });
}

}  // extern "C"
