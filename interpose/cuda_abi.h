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
using Context = void*;

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

struct GraphNodeParameters {  // the start of CUgraphNodeParams
    int type;
    int reserved[3];
    union {
        GraphAllocation allocation;
        void* freed;
    };
};
static_assert(offsetof(GraphNodeParameters, allocation) == 16);
inline constexpr int kNodeAllocation = 10;
inline constexpr int kNodeFree = 11;

struct ArrayShape {  // CUDA_ARRAY_DESCRIPTOR
    size_t width, height;
    int format;
    unsigned channel_count;
};
struct ArrayShape3D {  // CUDA_ARRAY3D_DESCRIPTOR
    size_t width, height, depth;
    int format;
    unsigned channel_count;
    unsigned flags;
};
inline constexpr unsigned kArrayLayered = 0x01;  // the runtime's flags have the same values
inline constexpr unsigned kArrayCubemap = 0x04;
inline constexpr unsigned kArraySparse = 0x40;  // memory comes by cuMemMapArrayAsync
inline constexpr unsigned kArrayDeferred = 0x80;

struct MulticastProperties {  // the start of CUmulticastObjectProp
    unsigned device_count;
    size_t size;
};

}  // namespace memsnap::recorder::cuda
