// SPDX-License-Identifier: Apache-2.0
//
// Rows of the driver: the memory nodes of graphs, and the captures that make such nodes of stream-ordered
// calls.
#include "call_builders.h"
#include "captures.h"
#include "driver_entries.h"

namespace memsnap::recorder {
namespace {

using wire::Object;
using wire::Op;

constexpr int kCaptureInvalidated = 901;  // CUDA_ERROR_STREAM_CAPTURE_INVALIDATED

// Nodes of other types are no memory.
Call add_node(const cuda::GraphNodeParameters* parameters) {
    if (parameters == nullptr) return Call{};
    if (parameters->type == cuda::kNodeAllocation)
        return allocate_graph_node(Op::cuGraphAddMemAllocNode, &parameters->allocation);
    if (parameters->type == cuda::kNodeFree)
        return release(Op::cuGraphAddMemFreeNode, word(parameters->freed), Object::graph_node);
    return Call{};
}

int begun(int result) {
    if (result == 0) g_capture_count.fetch_add(1, std::memory_order_release);
    return result;
}

// Refused for any other reason the capture goes on.
int ended(int result) {
    if (result != 0 && result != kCaptureInvalidated) return result;
    // Never below 0: the capture may have begun past the hooks, and the next one would not be seen.
    int32_t count = g_capture_count.load(std::memory_order_relaxed);
    while (count > 0 && !g_capture_count.compare_exchange_weak(count, count - 1, std::memory_order_release)) {
    }
    return result;
}

}  // namespace

MEMSNAP_DRIVER_ROW(cuGraphAddMemAllocNode,
                   (cuda::GraphNode * node, cuda::Graph graph, const cuda::GraphNode* needs, size_t count,
                    cuda::GraphAllocation* allocation),
                   (node, graph, needs, count, allocation),
                   allocate_graph_node(Op::cuGraphAddMemAllocNode, allocation))
MEMSNAP_DRIVER_ROW(cuGraphAddMemFreeNode,
                   (cuda::GraphNode * node, cuda::Graph graph, const cuda::GraphNode* needs, size_t count,
                    uint64_t address),
                   (node, graph, needs, count, address),
                   release(Op::cuGraphAddMemFreeNode, address, Object::graph_node))
MEMSNAP_DRIVER_ROW(cuGraphAddNode,
                   (cuda::GraphNode * node, cuda::Graph graph, const cuda::GraphNode* needs, size_t count,
                    cuda::GraphNodeParameters* parameters),
                   (node, graph, needs, count, parameters), add_node(parameters))
MEMSNAP_DRIVER_ROW(cuGraphAddNode_v2,
                   (cuda::GraphNode * node, cuda::Graph graph, const cuda::GraphNode* needs,
                    const void* edges, size_t count, cuda::GraphNodeParameters* parameters),
                   (node, graph, needs, edges, count, parameters), add_node(parameters))
MEMSNAP_DRIVER_ROW(cuDeviceGraphMemTrim, (int device), (device),
                   change_on_device(Op::cuDeviceGraphMemTrim, device))

// ---- captures: counted, not recorded

#define MEMSNAP_CAPTURE_ROW(name, parameters, arguments, outcome)            \
    MEMSNAP_DRIVER_WRAPPER(name, parameters) {                               \
        return outcome((original<Entry::name, int parameters>() arguments)); \
    }

MEMSNAP_CAPTURE_ROW(cuStreamBeginCapture, (cuda::Stream stream), (stream), begun)
MEMSNAP_CAPTURE_ROW(cuStreamBeginCapture_ptsz, (cuda::Stream stream), (stream), begun)
MEMSNAP_CAPTURE_ROW(cuStreamBeginCapture_v2, (cuda::Stream stream, int mode), (stream, mode), begun)
MEMSNAP_CAPTURE_ROW(cuStreamBeginCapture_v2_ptsz, (cuda::Stream stream, int mode), (stream, mode), begun)
MEMSNAP_CAPTURE_ROW(cuStreamBeginCaptureToGraph,
                    (cuda::Stream stream, cuda::Graph graph, const cuda::GraphNode* needs, const void* edges,
                     size_t count, int mode),
                    (stream, graph, needs, edges, count, mode), begun)
MEMSNAP_CAPTURE_ROW(cuStreamBeginCaptureToGraph_ptsz,
                    (cuda::Stream stream, cuda::Graph graph, const cuda::GraphNode* needs, const void* edges,
                     size_t count, int mode),
                    (stream, graph, needs, edges, count, mode), begun)
MEMSNAP_CAPTURE_ROW(cuStreamEndCapture, (cuda::Stream stream, cuda::Graph* graph), (stream, graph), ended)
MEMSNAP_CAPTURE_ROW(cuStreamEndCapture_ptsz, (cuda::Stream stream, cuda::Graph* graph), (stream, graph),
                    ended)

}  // namespace memsnap::recorder
