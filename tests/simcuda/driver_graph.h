// SPDX-License-Identifier: Apache-2.0
// Graphs: nodes with dependencies, and what launching them does to memory.
// Rule: kernels do nothing, copies and fills are real, allocation nodes take device memory at launch and keep
// it for the next launch until trimmed (CUDA programming guide, "Graph Memory Nodes").
#pragma once

#include <cuda.h>

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <vector>

namespace simcuda {

struct Driver;

// Bytes moved (source) or filled (no source).
struct Transfer {
    uint64_t destination = 0;
    uint64_t source = 0;
    uint64_t bytes = 0;
    uint32_t pattern = 0;
    uint32_t pattern_bytes = 0;  // 0: a copy
};

struct GraphNodeContent {
    CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
    Transfer transfer = {};
    CUhostFn host_function = nullptr;
    void* user_data = nullptr;
    uint64_t address = 0;  // allocated or freed
};

// A call into the user's program, to be made after the driver's lock is released.
struct HostCall {
    CUhostFn function;
    void* user_data;
};

struct GraphMemory {
    uint64_t bytes = 0;
    int device = 0;
    int owner_count = 0;      // graphs and executable graphs with its allocation node
    bool is_charged = false;  // takes device memory
    bool is_live = false;     // allocated by a launch, not freed since
};

}  // namespace simcuda

struct CUgraphNode_st {
    CUgraph graph = nullptr;
    simcuda::GraphNodeContent content;
    std::vector<CUgraphNode> dependencies;
};

struct CUuserObject_st {
    simcuda::HostCall destroy;
    unsigned reference_count = 0;
};

struct CUgraph_st {
    std::vector<std::unique_ptr<CUgraphNode_st>> nodes;  // in an order that respects the dependencies
    std::map<CUuserObject, unsigned> user_objects;
};

struct CUgraphExec_st {
    std::vector<simcuda::GraphNodeContent> steps;
    std::map<CUuserObject, unsigned> user_objects;
    unsigned long long flags = 0;
};

namespace simcuda {

struct GraphTable {
    std::map<CUgraph, std::unique_ptr<CUgraph_st>> graphs;
    std::map<CUgraphExec, std::unique_ptr<CUgraphExec_st>> executables;
    std::map<CUuserObject, std::unique_ptr<CUuserObject_st>> user_objects;
    std::map<uint64_t, GraphMemory> memory;                   // by address
    std::map<int, std::pair<uint64_t, uint64_t>> high_marks;  // by device: used, reserved

    CUgraph create();
    static CUgraphNode add_node(CUgraph graph, GraphNodeContent content,
                                std::vector<CUgraphNode> dependencies);
    void destroy(Driver& state, CUgraph graph, std::vector<HostCall>& calls);
    void destroy(Driver& state, CUgraphExec executable, std::vector<HostCall>& calls);
    CUgraphExec instantiate(CUgraph graph, unsigned long long flags);

    // Address space for an allocation node; 0 when the host refuses.
    uint64_t add_memory(Driver& state, int device, uint64_t bytes);
    bool end_allocation(uint64_t address);  // false: it was not live
    CUresult launch(Driver& state, CUgraphExec_st& executable, std::vector<HostCall>& calls);
    void trim(Driver& state, int device);
    uint64_t reserved_bytes(int device) const;
    uint64_t used_bytes(int device) const;

    void release_user_object(CUuserObject object, unsigned count, std::vector<HostCall>& calls);

  private:
    void own(const GraphNodeContent& content);
    void disown(Driver& state, const GraphNodeContent& content);
    CUresult charge_allocations(Driver& state, const CUgraphExec_st& executable);
};

void perform(const Transfer& transfer);

}  // namespace simcuda
