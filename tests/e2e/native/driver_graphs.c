// SPDX-License-Identifier: Apache-2.0
//
// Allocation nodes of a graph hold no memory; the graph takes it when it runs and keeps it until it is
// trimmed.
#include "driver.h"

int main(void) {
    start_on(0);
    const size_t bytes = 6 * kMebibyte;
    CUgraph graph = NULL;
    CUgraphNode nodes[6] = {NULL};
    CUDA_MEM_ALLOC_NODE_PARAMS allocation = {.bytesize = bytes};
    CUgraphNodeParams parameters = {.type = CU_GRAPH_NODE_TYPE_MEM_ALLOC};
    CUgraphNodeParams freeing = {.type = CU_GRAPH_NODE_TYPE_MEM_FREE};
    CUgraphNodeParams nothing = {.type = CU_GRAPH_NODE_TYPE_EMPTY};
    allocation.poolProps = pool_on(0);
    allocation.poolProps.handleTypes = CU_MEM_HANDLE_TYPE_NONE;
    parameters.alloc.poolProps = allocation.poolProps;
    parameters.alloc.bytesize = 2 * bytes;
    const size_t before = free_bytes();
    OK(DRIVER(cuGraphCreate)(&graph, 0));
    OK(DRIVER(cuGraphAddMemAllocNode)(&nodes[0], graph, NULL, 0, &allocation));
    OK(DRIVER(cuGraphAddNode_v2)(&nodes[1], graph, &nodes[0], NULL, 1, &parameters));
    OK(DRIVER(cuGraphAddNode)(&nodes[2], graph, &nodes[1], 1, &nothing));
    OK(DRIVER(cuGraphAddMemFreeNode)(&nodes[3], graph, &nodes[2], 1, allocation.dptr));
    freeing.free.dptr = parameters.alloc.dptr;
    OK(DRIVER(cuGraphAddNode)(&nodes[4], graph, &nodes[3], 1, &freeing));
    OK(DRIVER(cuGraphAddMemAllocNode)(&nodes[5], graph, &nodes[4], 1, &allocation));
    if (free_bytes() != before) return 1;
    OK(DRIVER(cuDeviceGraphMemTrim)(0));
    return 0;  // one node's address stays
}
