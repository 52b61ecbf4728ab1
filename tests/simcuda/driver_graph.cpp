// SPDX-License-Identifier: Apache-2.0
// Bookkeeping of graphs. Rule: see driver_graph.h; user callbacks are collected for the caller, never called
// here.
#include "driver_graph.h"

#include <sys/mman.h>

#include <algorithm>

#include "driver_state.h"

namespace simcuda {
namespace {

bool is_allocation(const GraphNodeContent& content) {
    return content.type == CU_GRAPH_NODE_TYPE_MEM_ALLOC;
}

void uncharge(Driver& state, GraphMemory& memory) {
    if (!memory.is_charged) return;
    memory.is_charged = false;
    state.session->give_back(session_device(state, memory.device), memory.bytes);
}

// A replay may outlive the buffers it was captured with; what is no longer there is not touched.
bool is_still_valid(Driver& state, const Transfer& transfer) {
    if (state.memory.find(transfer.destination) == nullptr) return false;
    return transfer.pattern_bytes != 0 || state.memory.find(transfer.source) != nullptr;
}

}  // namespace

CUgraph GraphTable::create() {
    auto graph = std::make_unique<CUgraph_st>();
    CUgraph handle = graph.get();
    graphs[handle] = std::move(graph);
    return handle;
}

CUgraphNode GraphTable::add_node(CUgraph graph, GraphNodeContent content,
                                 std::vector<CUgraphNode> dependencies) {
    auto node = std::make_unique<CUgraphNode_st>(CUgraphNode_st{graph, content, std::move(dependencies)});
    if (is_allocation(content)) driver().graphs.own(content);
    graph->nodes.push_back(std::move(node));
    return graph->nodes.back().get();
}

void GraphTable::own(const GraphNodeContent& content) {
    ++memory.at(content.address).owner_count;
}

void GraphTable::disown(Driver& state, const GraphNodeContent& content) {
    if (!is_allocation(content)) return;
    GraphMemory& owned = memory.at(content.address);
    if (--owned.owner_count > 0 || owned.is_live) return;
    uncharge(state, owned);
    release_address_space(content.address, owned.bytes);
    state.memory.ranges.erase(content.address);
    memory.erase(content.address);
}

void GraphTable::release_user_object(CUuserObject object, unsigned count, std::vector<HostCall>& calls) {
    object->reference_count -= std::min(count, object->reference_count);
    if (object->reference_count > 0) return;
    calls.push_back(object->destroy);
    user_objects.erase(object);
}

void GraphTable::destroy(Driver& state, CUgraph graph, std::vector<HostCall>& calls) {
    for (const auto& node : graph->nodes)
        disown(state, node->content);
    for (const auto& [object, count] : graph->user_objects)
        release_user_object(object, count, calls);
    graphs.erase(graph);
}

void GraphTable::destroy(Driver& state, CUgraphExec executable, std::vector<HostCall>& calls) {
    for (const GraphNodeContent& step : executable->steps)
        disown(state, step);
    for (const auto& [object, count] : executable->user_objects)
        release_user_object(object, count, calls);
    executables.erase(executable);
}

CUgraphExec GraphTable::instantiate(CUgraph graph, unsigned long long flags) {
    auto executable = std::make_unique<CUgraphExec_st>();
    executable->flags = flags;
    executable->user_objects = graph->user_objects;
    for (const auto& [object, count] : executable->user_objects)
        object->reference_count += count;
    for (const auto& node : graph->nodes) {
        executable->steps.push_back(node->content);
        if (is_allocation(node->content)) own(node->content);
    }
    CUgraphExec handle = executable.get();
    executables[handle] = std::move(executable);
    return handle;
}

uint64_t GraphTable::add_memory(Driver& state, int device, uint64_t bytes) {
    const uint64_t reserved = round_up(bytes, kGranularityBytes);
    const uint64_t base = reserve_address_space(reserved, PROT_READ | PROT_WRITE);
    if (base == 0) return 0;
    memory[base] = {.bytes = reserved, .device = device};
    state.memory.add({.base = base,
                      .bytes = bytes,
                      .reserved_bytes = reserved,
                      .kind = MemoryKind::graph,
                      .device = device,
                      .context = state.primary_contexts[static_cast<size_t>(device)].get()});
    return base;
}

bool GraphTable::end_allocation(uint64_t address) {
    GraphMemory& found = memory.at(address);
    const bool was_live = found.is_live;
    found.is_live = false;
    if (found.owner_count > 0) return was_live;
    Driver& state = driver();
    uncharge(state, found);
    release_address_space(address, found.bytes);
    state.memory.ranges.erase(address);
    memory.erase(address);
    return was_live;
}

CUresult GraphTable::charge_allocations(Driver& state, const CUgraphExec_st& executable) {
    for (const GraphNodeContent& step : executable.steps) {
        if (!is_allocation(step)) continue;
        GraphMemory& wanted = memory.at(step.address);
        if (wanted.is_charged) continue;
        const Grant grant = state.session->charge(session_device(state, wanted.device), wanted.bytes);
        if (grant != Grant::granted) return to_result(grant);
        wanted.is_charged = true;
        auto& reserved_high = high_marks[wanted.device].second;
        reserved_high = std::max(reserved_high, reserved_bytes(wanted.device));
    }
    return CUDA_SUCCESS;
}

// An allocation that is still live may not be made again, unless the graph frees it first on launch.
CUresult GraphTable::launch(Driver& state, CUgraphExec_st& executable, std::vector<HostCall>& calls) {
    const bool frees_first = (executable.flags & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH) != 0;
    for (const GraphNodeContent& step : executable.steps) {
        if (is_allocation(step) && memory.at(step.address).is_live && !frees_first)
            return CUDA_ERROR_INVALID_VALUE;
    }
    const CUresult charged = charge_allocations(state, executable);
    if (charged != CUDA_SUCCESS) return charged;
    for (const GraphNodeContent& step : executable.steps) {
        if (step.transfer.bytes != 0 && is_still_valid(state, step.transfer)) perform(step.transfer);
        if (step.host_function != nullptr) calls.push_back({step.host_function, step.user_data});
        if (is_allocation(step)) {
            GraphMemory& allocated = memory.at(step.address);
            allocated.is_live = true;
            auto& used_high = high_marks[allocated.device].first;
            used_high = std::max(used_high, used_bytes(allocated.device));
        }
        if (step.type == CU_GRAPH_NODE_TYPE_MEM_FREE && memory.contains(step.address))
            end_allocation(step.address);
    }
    return CUDA_SUCCESS;
}

void GraphTable::trim(Driver& state, int device) {
    for (auto& [address, entry] : memory) {
        if (entry.device == device && !entry.is_live) uncharge(state, entry);
    }
}

uint64_t GraphTable::reserved_bytes(int device) const {
    uint64_t sum = 0;
    for (const auto& [address, entry] : memory)
        sum += entry.device == device && entry.is_charged ? entry.bytes : 0;
    return sum;
}

uint64_t GraphTable::used_bytes(int device) const {
    uint64_t sum = 0;
    for (const auto& [address, entry] : memory)
        sum += entry.device == device && entry.is_live ? entry.bytes : 0;
    return sum;
}

}  // namespace simcuda
