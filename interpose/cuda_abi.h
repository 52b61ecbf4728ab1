// SPDX-License-Identifier: Apache-2.0
//
// The parts of CUDA's binary interface that hooks look into, restated from its public documentation, so that
// the recorder needs no CUDA headers and one build serves every CUDA version. The rule: only what has been
// stable since CUDA 11; handles are opaque pointers; structures passed by value have their exact size.
#pragma once

#include <cstddef>
#include <cstdint>

namespace memsnap::recorder::cuda {

using Stream = void*;
using Pool = void*;
using Array = void*;
using Graph = void*;
using GraphNode = void*;
using ExternalMemory = void*;

struct Extent {  // cudaExtent
    size_t width, height, depth;
};
struct PitchedPointer {  // cudaPitchedPtr
    void* pointer;
    size_t pitch, width, height;
};
struct ChannelFormat {  // cudaChannelFormatDesc
    int x_bits, y_bits, z_bits, w_bits;
    int kind;
};
struct IpcMemHandle {  // cudaIpcMemHandle_t
    unsigned char reserved[64];
};
struct Location {  // cudaMemLocation, CUmemLocation
    int type, id;
};
inline constexpr int kLocationDevice = 1;
struct PoolProperties {  // the start of cudaMemPoolProps
    int allocation_type, handle_types;
    Location location;
};
struct ExternalBuffer {  // the start of cudaExternalMemoryBufferDesc
    unsigned long long offset, size;
};
struct ExternalMemoryDescription {  // the start of cudaExternalMemoryHandleDesc
    int type;
    alignas(8) unsigned char handle[16];
    unsigned long long size;
};
struct GraphAllocation {  // cudaMemAllocNodeParams
    struct {
        int allocation_type, handle_types;
        Location location;
        void* security_attributes;
        size_t max_size;
        unsigned short usage;
        unsigned char reserved[54];
    } pool_properties;
    const void* access;
    size_t access_count;
    size_t bytes;
    void* pointer;
};
static_assert(offsetof(GraphAllocation, access) == 88 && offsetof(GraphAllocation, pointer) == 112);

struct AllocationProperties {  // the start of CUmemAllocationProp
    int type, handle_types;
    Location location;
};

}  // namespace memsnap::recorder::cuda
