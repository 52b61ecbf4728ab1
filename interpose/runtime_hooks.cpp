// SPDX-License-Identifier: Apache-2.0
//
// The CUDA runtime's allocation family: one row a function, naming its parameters and what the call means.
// The rules: a row says facts and decides nothing; a hook exists under the version names of each CUDA runtime
// only, so that a program without one does not find CUDA functions in us.
#include "call_builders.h"
#include "endings.h"
#include "visibility.h"

namespace memsnap::recorder {

using wire::Object;
using wire::Op;

// The name under one runtime's version, and only there: "remove" keeps the helper alias out of the symbols.
#define MEMSNAP_VERSIONED(name, suffix, version)                                           \
    asm(".globl memsnap_" #name suffix "\n\t.set memsnap_" #name suffix ", memsnap_" #name \
        "\n\t.symver memsnap_" #name suffix ", " #name "@" version ", remove");

#define MEMSNAP_HOOK(name, op, parameters, arguments, description)                                     \
    extern "C" MEMSNAP_EXPORT int memsnap_##name parameters {                                          \
        const void* return_address = __builtin_return_address(0);                                      \
        uint16_t library = caller_index(return_address);                                               \
        auto* original =                                                                               \
            reinterpret_cast<int(*) parameters>(original_of(library, return_address, Function::name)); \
        if (original == nullptr) {                                                                     \
            note_missing_original(op, library);                                                        \
            return kNotSupported;                                                                      \
        }                                                                                              \
        return record_call(description, library, [&] { return original arguments; });                  \
    }                                                                                                  \
    MEMSNAP_VERSIONED(name, "_v11", "libcudart.so.11.0")                                               \
    MEMSNAP_VERSIONED(name, "_v12", "libcudart.so.12")                                                 \
    MEMSNAP_VERSIONED(name, "_v13", "libcudart.so.13")

#define MEMSNAP_ROW(name, parameters, arguments, description) \
    MEMSNAP_HOOK(name, Op::name, parameters, arguments, description)

MEMSNAP_ROW(cudaMalloc, (void** out, size_t size), (out, size),
            allocate(Op::cudaMalloc, Object::device, out, size))
MEMSNAP_ROW(cudaMallocPitch, (void** out, size_t* pitch, size_t width, size_t height),
            (out, pitch, width, height), allocate_pitched(Op::cudaMallocPitch, out, pitch, width, height))
MEMSNAP_ROW(cudaMalloc3D, (cuda::PitchedPointer * out, cuda::Extent extent), (out, extent),
            allocate_pitched(Op::cudaMalloc3D, out, out == nullptr ? nullptr : &out->pitch, extent.width,
                             extent.height* extent.depth))
MEMSNAP_ROW(cudaMallocArray,
            (cuda::Array * out, const cuda::ChannelFormat* format, size_t width, size_t height,
             unsigned flags),
            (out, format, width, height, flags),
            allocate_array(Op::cudaMallocArray, out,
                           runtime_array_bytes(format, {width, height, 1}, 1, flags)))
MEMSNAP_ROW(cudaMalloc3DArray,
            (cuda::Array * out, const cuda::ChannelFormat* format, cuda::Extent extent, unsigned flags),
            (out, format, extent, flags),
            allocate_array(Op::cudaMalloc3DArray, out, runtime_array_bytes(format, extent, 1, flags)))
MEMSNAP_ROW(cudaMallocMipmappedArray,
            (cuda::Array * out, const cuda::ChannelFormat* format, cuda::Extent extent, unsigned levels,
             unsigned flags),
            (out, format, extent, levels, flags),
            allocate_array(Op::cudaMallocMipmappedArray, out,
                           runtime_array_bytes(format, extent, levels, flags)))
MEMSNAP_ROW(cudaMallocManaged, (void** out, size_t size, unsigned flags), (out, size, flags),
            allocate(Op::cudaMallocManaged, Object::managed, out, size))
MEMSNAP_ROW(cudaMallocHost, (void** out, size_t size), (out, size),
            allocate_host(Op::cudaMallocHost, out, size))
MEMSNAP_ROW(cudaHostAlloc, (void** out, size_t size, unsigned flags), (out, size, flags),
            allocate_host(Op::cudaHostAlloc, out, size))
MEMSNAP_ROW(cudaHostRegister, (void* address, size_t size, unsigned flags), (address, size, flags),
            register_host(Op::cudaHostRegister, address, size))
MEMSNAP_ROW(cudaMallocAsync, (void** out, size_t size, cuda::Stream stream), (out, size, stream),
            allocate_stream_ordered(Op::cudaMallocAsync, out, size, stream, DefaultStream::legacy))
MEMSNAP_HOOK(cudaMallocAsync_ptsz, Op::cudaMallocAsync, (void** out, size_t size, cuda::Stream stream),
             (out, size, stream),
             allocate_stream_ordered(Op::cudaMallocAsync, out, size, stream, DefaultStream::per_thread))
MEMSNAP_ROW(cudaMallocFromPoolAsync, (void** out, size_t size, cuda::Pool pool, cuda::Stream stream),
            (out, size, pool, stream),
            allocate_from_pool(Op::cudaMallocFromPoolAsync, out, size, pool, stream, DefaultStream::legacy))
MEMSNAP_HOOK(cudaMallocFromPoolAsync_ptsz, Op::cudaMallocFromPoolAsync,
             (void** out, size_t size, cuda::Pool pool, cuda::Stream stream), (out, size, pool, stream),
             allocate_from_pool(Op::cudaMallocFromPoolAsync, out, size, pool, stream,
                                DefaultStream::per_thread))
MEMSNAP_ROW(cudaIpcOpenMemHandle, (void** out, cuda::IpcMemHandle handle, unsigned flags),
            (out, handle, flags), import(Op::cudaIpcOpenMemHandle, Object::import, out, 0, 0))
MEMSNAP_ROW(cudaImportExternalMemory,
            (cuda::ExternalMemory * out, const cuda::ExternalMemoryDescription* description),
            (out, description),
            import(Op::cudaImportExternalMemory, Object::import, out,
                   description == nullptr ? 0 : description->size, 0))
MEMSNAP_ROW(cudaExternalMemoryGetMappedBuffer,
            (void** out, cuda::ExternalMemory memory, const cuda::ExternalBuffer* buffer),
            (out, memory, buffer),
            import(Op::cudaExternalMemoryGetMappedBuffer, Object::import, out,
                   buffer == nullptr ? 0 : buffer->size, word(memory)))
MEMSNAP_ROW(cudaExternalMemoryGetMappedMipmappedArray,
            (cuda::Array * out, cuda::ExternalMemory memory, const void* description),
            (out, memory, description),
            import(Op::cudaExternalMemoryGetMappedMipmappedArray, Object::array, out, 0, word(memory)))
MEMSNAP_ROW(cudaMemPoolCreate, (cuda::Pool * out, const cuda::PoolProperties* properties), (out, properties),
            create_pool(Op::cudaMemPoolCreate, out, properties))
MEMSNAP_ROW(cudaMemPoolImportFromShareableHandle, (cuda::Pool * out, void* handle, int type, unsigned flags),
            (out, handle, type, flags),
            import(Op::cudaMemPoolImportFromShareableHandle, Object::pool, out, 0, 0))
MEMSNAP_ROW(cudaMemPoolImportPointer, (void** out, cuda::Pool pool, void* data), (out, pool, data),
            import(Op::cudaMemPoolImportPointer, Object::import, out, 0, word(pool)))
MEMSNAP_ROW(cudaGraphAddMemAllocNode,
            (cuda::GraphNode * node, cuda::Graph graph, const cuda::GraphNode* needs, size_t count,
             cuda::GraphAllocation* allocation),
            (node, graph, needs, count, allocation),
            allocate_graph_node(Op::cudaGraphAddMemAllocNode, allocation))

MEMSNAP_ROW(cudaFree, (void* address), (address), release_device(Op::cudaFree, word(address)))
MEMSNAP_ROW(cudaFreeAsync, (void* address, cuda::Stream stream), (address, stream),
            release_stream_ordered(Op::cudaFreeAsync, word(address), stream, DefaultStream::legacy))
MEMSNAP_HOOK(cudaFreeAsync_ptsz, Op::cudaFreeAsync, (void* address, cuda::Stream stream), (address, stream),
             release_stream_ordered(Op::cudaFreeAsync, word(address), stream, DefaultStream::per_thread))
MEMSNAP_ROW(cudaFreeHost, (void* address), (address), release(Op::cudaFreeHost, word(address), Object::host))
MEMSNAP_ROW(cudaHostUnregister, (void* address), (address),
            release(Op::cudaHostUnregister, word(address), Object::host))
MEMSNAP_ROW(cudaFreeArray, (cuda::Array array), (array),
            release(Op::cudaFreeArray, word(array), Object::array))
MEMSNAP_ROW(cudaFreeMipmappedArray, (cuda::Array array), (array),
            release(Op::cudaFreeMipmappedArray, word(array), Object::array))
MEMSNAP_ROW(cudaIpcCloseMemHandle, (void* address), (address),
            release(Op::cudaIpcCloseMemHandle, word(address), Object::import))
MEMSNAP_ROW(cudaDestroyExternalMemory, (cuda::ExternalMemory memory), (memory),
            release(Op::cudaDestroyExternalMemory, word(memory), Object::import))
MEMSNAP_ROW(cudaMemPoolDestroy, (cuda::Pool pool), (pool),
            release(Op::cudaMemPoolDestroy, word(pool), Object::pool))
MEMSNAP_ROW(cudaGraphAddMemFreeNode,
            (cuda::GraphNode * node, cuda::Graph graph, const cuda::GraphNode* needs, size_t count,
             void* address),
            (node, graph, needs, count, address),
            release(Op::cudaGraphAddMemFreeNode, word(address), Object::graph_node))

MEMSNAP_ROW(cudaMemPoolTrimTo, (cuda::Pool pool, size_t keep), (pool, keep),
            change_pool(Op::cudaMemPoolTrimTo, pool, keep))
MEMSNAP_ROW(cudaDeviceGraphMemTrim, (int device), (device),
            change_on_device(Op::cudaDeviceGraphMemTrim, device))
MEMSNAP_ROW(cudaDeviceReset, (), (), end_primary_of_current_device(Op::cudaDeviceReset))
MEMSNAP_ROW(cudaIpcGetMemHandle, (cuda::IpcMemHandle * handle, void* address), (handle, address),
            change(Op::cudaIpcGetMemHandle, word(address)))
MEMSNAP_ROW(cudaMemPoolSetAttribute, (cuda::Pool pool, int attribute, void* value), (pool, attribute, value),
            change_pool(Op::cudaMemPoolSetAttribute, pool))
MEMSNAP_ROW(cudaMemPoolExportToShareableHandle, (void* handle, cuda::Pool pool, int type, unsigned flags),
            (handle, pool, type, flags), change_pool(Op::cudaMemPoolExportToShareableHandle, pool))
MEMSNAP_ROW(cudaMemPoolExportPointer, (void* data, void* address), (data, address),
            change(Op::cudaMemPoolExportPointer, word(address)))
MEMSNAP_ROW(cudaDeviceSetMemPool, (int device, cuda::Pool pool), (device, pool),
            change_on_device(Op::cudaDeviceSetMemPool, device, word(pool)))
MEMSNAP_ROW(cudaMemGetInfo, (size_t * free_bytes, size_t* total_bytes), (free_bytes, total_bytes),
            observe(Op::cudaMemGetInfo, free_bytes, total_bytes))

}  // namespace memsnap::recorder
