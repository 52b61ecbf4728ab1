// SPDX-License-Identifier: Apache-2.0
// The driver's state in one process, and the guards every entry point passes through.
// Rule: one mutex guards everything here; an entry point takes it once, in `with_driver` or `with_context`,
// and calls nothing of the user's program while it holds it.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "driver_capture.h"
#include "driver_graph.h"
#include "driver_memory.h"
#include "driver_pool.h"
#include "driver_vmm.h"
#include "shared_state.h"
#include "stream_model.h"

// The opaque types of cuda.h, completed.
struct CUctx_st {
    int device = 0;
    bool is_primary = false;
    bool is_active = false;
    int retain_count = 0;
    unsigned flags = 0;
    uint64_t id = 0;
    CUresult poison = CUDA_SUCCESS;  // an error after which the context is unusable
    CUstream legacy_stream = nullptr;
    std::map<std::thread::id, CUstream> per_thread_streams;
    std::map<CUlimit, size_t> limits;
    std::set<CUcontext> peers;
};

struct CUstream_st {
    CUcontext context = nullptr;
    uint64_t id = 0;
    unsigned flags = 0;
    int priority = 0;
    bool is_legacy = false;
    simcuda::Capture* capture = nullptr;
    std::vector<CUgraphNode> capture_tail;  // nodes the next captured operation depends on
};

struct CUevent_st {
    CUcontext context = nullptr;
    unsigned flags = 0;
    simcuda::Position position;
    uint64_t recorded_ns = 0;
    bool is_recorded = false;
    uint64_t capture_id = 0;  // recorded inside this capture; 0: not
    std::vector<CUgraphNode> captured_nodes;
};

namespace simcuda {

// Memory of another process opened here.
struct IpcImport {
    int32_t pid;
    uint64_t serial;
    unsigned open_count;
};

// Memory of another API known here.
struct ExternalMemory {
    CUcontext context;
    uint64_t bytes;
};

struct DeviceArray {
    CUcontext context;
    uint64_t bytes;
};

struct Driver {
    std::mutex mutex;
    bool is_initialised = false;
    bool is_forked_child = false;  // CUDA cannot be used in a process forked after cuInit
    SharedState* session = nullptr;
    std::vector<int> visible_devices;  // ordinal -> device of the session (CUDA_VISIBLE_DEVICES)
    std::vector<std::unique_ptr<CUctx_st>> primary_contexts;
    std::set<CUcontext> contexts;  // alive, primary ones included
    std::map<CUstream, std::unique_ptr<CUstream_st>> streams;
    std::map<CUevent, std::unique_ptr<CUevent_st>> events;
    uint64_t next_context_id = 1;
    std::map<CUgreenCtx, CUdevice> green_contexts;
    uintptr_t next_green_context = 0x9ee0000;
    StreamModel stream_model;
    MemoryTable memory;
    PoolTable pools;
    VmmTable vmm;
    std::map<uint64_t, IpcImport> ipc_imports;  // by local address
    std::map<DeviceArray*, std::unique_ptr<DeviceArray>> arrays;
    std::map<CUexternalMemory, ExternalMemory> external_memory;
    uintptr_t next_external_memory = 0xe870000;
    CaptureTable captures;
    GraphTable graphs;
};

Driver& driver();

// Contexts of one thread, the current one on top. It needs no destruction: programs call CUDA while they end.
class ContextStack {
  public:
    CUcontext top() const { return depth_ == 0 ? nullptr : entries_[depth_ - 1]; }
    bool push(CUcontext context) {
        if (depth_ == kCapacity) return false;
        entries_[depth_++] = context;
        return true;
    }
    void pop() { depth_ -= depth_ == 0 ? 0 : 1; }

  private:
    static constexpr size_t kCapacity = 64;
    CUcontext entries_[kCapacity] = {};
    size_t depth_ = 0;
};

ContextStack& context_stack();  // of the calling thread
inline CUcontext current_context() {
    return context_stack().top();
}

CUresult check_driver(const Driver& state);
CUresult check_context(Driver& state, CUcontext* context);

// Runs body(Driver&) under the lock in an initialised process.
template <typename Body>
CUresult with_driver(Body body) {
    Driver& state = driver();
    if (state.is_forked_child) return CUDA_ERROR_NOT_INITIALIZED;
    const std::lock_guard lock(state.mutex);
    const CUresult ready = check_driver(state);
    return ready == CUDA_SUCCESS ? body(state) : ready;
}

// Runs body(Driver&, CUctx_st&) under the lock with the calling thread's current context.
template <typename Body>
CUresult with_context(Body body) {
    return with_driver([&](Driver& state) {
        CUcontext context = nullptr;
        const CUresult ready = check_context(state, &context);
        return ready == CUDA_SUCCESS ? body(state, *context) : ready;
    });
}

int session_device(const Driver& state, CUdevice ordinal);
bool is_device(const Driver& state, CUdevice ordinal);

// driver_injection.cpp
void load_injection();

// driver_context.cpp
CUresult retain_primary(Driver& state, CUdevice device, CUcontext* context);

// driver_array.cpp
void give_back_array(Driver& state, const DeviceArray& array);
void destroy_arrays_of(Driver& state, CUcontext context);

// driver_external.cpp
void destroy_external_memory_of(Driver& state, CUcontext context);

// driver_stream.cpp. The stream behind a handle (0, legacy and per-thread handles included), null when there
// is none.
CUstream find_stream(Driver& state, CUctx_st& context, CUstream handle);
void destroy_streams_of(Driver& state, CUcontext context);
void synchronise_context(Driver& state, CUcontext context);

// One piece of work on a stream: submitted, or added to the graph the stream captures into. `node` may be
// null.
CUresult enqueue(Driver& state, CUctx_st& context, CUstream handle, GraphNodeContent content,
                 CUgraphNode* node = nullptr);
CUresult enqueue_plain(Driver& state, CUctx_st& context, CUstream handle, CUgraphNodeType type);

}  // namespace simcuda
