// SPDX-License-Identifier: Apache-2.0
//
// What the rows of the runtime and of the driver say about a call, from its arguments alone. The rule: a fact
// that neither the arguments nor the live table hold is left out: device unknown, size 0.
#pragma once

#include "calls.h"
#include "cuda_abi.h"

namespace memsnap::recorder {

inline uint64_t word(const void* pointer) {
    return reinterpret_cast<uint64_t>(pointer);
}

// ---- allocations. `out` is where the call leaves the address or handle.

Call allocate(wire::Op op, wire::Object object, const void* out, uint64_t size);
Call allocate_pitched(wire::Op op, const void* out, const size_t* pitch, uint64_t row_bytes, uint64_t rows);
Call allocate_host(wire::Op op, const void* out, uint64_t size);
Call register_host(wire::Op op, const void* address, uint64_t size);
Call reserve_addresses(wire::Op op, const void* out, uint64_t size);
Call allocate_on_device(wire::Op op, wire::Object object, const void* out, int device);
Call import(wire::Op op, wire::Object object, const void* out, uint64_t size, uint64_t extra);

// Which stream a 0 means.
enum class DefaultStream : uint8_t {
    legacy,
    per_thread
};
Call allocate_stream_ordered(wire::Op op, const void* out, uint64_t size, cuda::Stream stream,
                             DefaultStream zero);
Call allocate_from_pool(wire::Op op, const void* out, uint64_t size, cuda::Pool pool, cuda::Stream stream,
                        DefaultStream zero);
Call create_pool(wire::Op op, const void* out, const cuda::PoolProperties* properties);

Call allocate_array(wire::Op op, const void* out, uint64_t size);
uint64_t runtime_array_bytes(const cuda::ChannelFormat* format, const cuda::Extent& extent,
                             unsigned level_count, unsigned flags);
uint64_t driver_array_bytes(const cuda::ArrayShape* shape);
uint64_t driver_array_bytes(const cuda::ArrayShape3D* shape, unsigned level_count);

// The memory of a graph node exists when the graph runs, at an address fixed now.
Call allocate_graph_node(wire::Op op, const cuda::GraphAllocation* allocation);

Call create_memory(wire::Op op, const void* out, uint64_t size, const cuda::AllocationProperties* properties);
Call map_memory(wire::Op op, uint64_t address, uint64_t size, uint64_t handle);
Call create_multicast(wire::Op op, const void* out, const cuda::MulticastProperties* properties);
Call retain_memory(wire::Op op, const void* out, const void* address);

// ---- ends

Call release(wire::Op op, uint64_t address, wire::Object first, wire::Object second = wire::Object::none,
             wire::Object third = wire::Object::none, wire::Object fourth = wire::Object::none);
Call release_device(wire::Op op, uint64_t address);
Call release_stream_ordered(wire::Op op, uint64_t address, cuda::Stream stream, DefaultStream zero);

// ---- neither

Call change(wire::Op op, uint64_t address, uint64_t size = 0, uint64_t extra = 0);
Call change_on_device(wire::Op op, int device, uint64_t extra = 0);
Call change_at_location(wire::Op op, const cuda::Location* location, uint64_t extra);
Call change_pool(wire::Op op, cuda::Pool pool, uint64_t size = 0);
Call change_memory(wire::Op op, uint64_t handle);
Call bind_memory(wire::Op op, uint64_t multicast, uint64_t size, wire::Object object, uint64_t bound);
Call unbind_memory(wire::Op op, uint64_t multicast, int device, uint64_t size);
Call observe(wire::Op op, const size_t* free_bytes, const size_t* total_bytes);

}  // namespace memsnap::recorder
