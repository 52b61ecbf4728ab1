// SPDX-License-Identifier: Apache-2.0
//
// The CUDA runtime's allocation family: one row a function, naming its parameters and what the call means.
// The rules: a row says facts and decides nothing; a hook exists under the version names of each CUDA runtime
// only, so that a program without one does not find CUDA functions in us.
#include "calls.h"
#include "cuda_abi.h"
#include "visibility.h"

namespace memsnap::recorder {
namespace {

using wire::Object;
using wire::Op;

uint64_t word(const void* pointer) {
    return reinterpret_cast<uint64_t>(pointer);
}

Call allocate(Op op, Object object, const void* out, uint64_t size) {
    Call call;
    call.op = op;
    call.act = Act::allocate;
    call.objects[0] = object;
    call.out = out;
    call.size = size;
    return call;
}

Call allocate_host(Op op, const void* out, uint64_t size) {
    Call call = allocate(op, Object::host, out, size);
    call.device_source = DeviceSource::no_device;
    return call;
}

Call allocate_pitched(Op op, const void* out, const size_t* pitch, uint64_t row_bytes, uint64_t rows) {
    Call call = allocate(op, Object::device, out, row_bytes * rows);
    call.pitch = pitch;
    call.rows = rows;
    return call;
}

Call allocate_stream_ordered(Op op, const void* out, uint64_t size, cuda::Stream stream) {
    Call call = allocate(op, Object::async, out, size);
    call.extra = word(stream);
    return call;
}

// Memory from a pool is on the pool's device, whatever the current one is.
void take_device_of_pool(Call& call, cuda::Pool pool) {
    Recorder* recorder = current_recorder();
    wire::LiveEntry entry;
    if (recorder == nullptr || !recorder->table.peek(Object::pool, word(pool), entry)) return;
    call.device_source = DeviceSource::given;
    call.device = entry.device;
}

Call allocate_from_pool(Op op, const void* out, uint64_t size, cuda::Pool pool, cuda::Stream stream) {
    Call call = allocate_stream_ordered(op, out, size, stream);
    take_device_of_pool(call, pool);
    return call;
}

void take_device_of_location(Call& call, const cuda::Location& location) {
    bool on_device = location.type == cuda::kLocationDevice && location.id >= 0 && location.id <= INT8_MAX;
    call.device_source = on_device ? DeviceSource::given : DeviceSource::no_device;
    call.device = on_device ? static_cast<int8_t>(location.id) : kDeviceUnknown;
}

Call create_pool(Op op, const void* out, const cuda::PoolProperties* properties) {
    Call call = allocate(op, Object::pool, out, 0);
    if (properties != nullptr) take_device_of_location(call, properties->location);
    return call;
}

Call import(Op op, Object object, const void* out, uint64_t size, uint64_t extra) {
    Call call = allocate(op, object, out, size);
    call.flags = wire::kFlagImported;
    call.extra = extra;
    return call;
}

uint64_t array_bytes(const cuda::ChannelFormat* format, size_t width, size_t height, size_t depth) {
    if (format == nullptr) return 0;
    auto bits = static_cast<uint64_t>(format->x_bits + format->y_bits + format->z_bits + format->w_bits);
    return bits / 8 * width * (height == 0 ? 1 : height) * (depth == 0 ? 1 : depth);
}

Call allocate_array(Op op, const void* out, uint64_t size) {
    return allocate(op, Object::array, out, size);
}

Call release(Op op, const void* address, Object first, Object second = Object::none,
             Object third = Object::none, Object fourth = Object::none) {
    Call call;
    call.op = op;
    call.act = Act::release;
    call.address = word(address);
    call.objects[0] = first;
    call.objects[1] = second;
    call.objects[2] = third;
    call.objects[3] = fourth;
    call.device_source = DeviceSource::no_device;  // the entry knows
    return call;
}

Call change(Op op, const void* address, uint64_t size = 0, uint64_t extra = 0) {
    Call call;
    call.op = op;
    call.address = word(address);
    call.size = size;
    call.extra = extra;
    return call;
}

Call change_on_device(Op op, int device, uint64_t extra = 0) {
    Call call;
    call.op = op;
    call.extra = extra;
    call.device_source = DeviceSource::given;
    call.device = device >= 0 && device <= INT8_MAX ? static_cast<int8_t>(device) : kDeviceUnknown;
    return call;
}

Call register_host(Op op, const void* address, uint64_t size) {
    Call call = allocate_host(op, nullptr, size);
    call.address = word(address);
    return call;
}

// The memory of a graph node exists when the graph runs, at an address fixed now.
Call allocate_graph_node(Op op, const cuda::GraphAllocation* allocation) {
    if (allocation == nullptr) return change(op, nullptr);
    Call call = allocate(op, Object::graph_node, &allocation->pointer, allocation->bytes);
    call.flags = wire::kFlagCapturing;
    take_device_of_location(call, allocation->pool_properties.location);
    return call;
}

Call observe(Op op, const void* free_bytes, const void* total_bytes) {
    Call call;
    call.op = op;
    call.act = Act::observe;
    call.out = total_bytes;
    call.pitch = static_cast<const size_t*>(free_bytes);
    return call;
}

}  // namespace

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
            allocate_array(Op::cudaMallocArray, out, array_bytes(format, width, height, 1)))
MEMSNAP_ROW(cudaMalloc3DArray,
            (cuda::Array * out, const cuda::ChannelFormat* format, cuda::Extent extent, unsigned flags),
            (out, format, extent, flags),
            allocate_array(Op::cudaMalloc3DArray, out,
                           array_bytes(format, extent.width, extent.height, extent.depth)))
MEMSNAP_ROW(cudaMallocMipmappedArray,
            (cuda::Array * out, const cuda::ChannelFormat* format, cuda::Extent extent, unsigned levels,
             unsigned flags),
            (out, format, extent, levels, flags), allocate_array(Op::cudaMallocMipmappedArray, out, 0))
MEMSNAP_ROW(cudaMallocManaged, (void** out, size_t size, unsigned flags), (out, size, flags),
            allocate(Op::cudaMallocManaged, Object::managed, out, size))
MEMSNAP_ROW(cudaMallocHost, (void** out, size_t size), (out, size),
            allocate_host(Op::cudaMallocHost, out, size))
MEMSNAP_ROW(cudaHostAlloc, (void** out, size_t size, unsigned flags), (out, size, flags),
            allocate_host(Op::cudaHostAlloc, out, size))
MEMSNAP_ROW(cudaHostRegister, (void* address, size_t size, unsigned flags), (address, size, flags),
            register_host(Op::cudaHostRegister, address, size))
MEMSNAP_ROW(cudaMallocAsync, (void** out, size_t size, cuda::Stream stream), (out, size, stream),
            allocate_stream_ordered(Op::cudaMallocAsync, out, size, stream))
MEMSNAP_HOOK(cudaMallocAsync_ptsz, Op::cudaMallocAsync, (void** out, size_t size, cuda::Stream stream),
             (out, size, stream), allocate_stream_ordered(Op::cudaMallocAsync, out, size, stream))
MEMSNAP_ROW(cudaMallocFromPoolAsync, (void** out, size_t size, cuda::Pool pool, cuda::Stream stream),
            (out, size, pool, stream),
            allocate_from_pool(Op::cudaMallocFromPoolAsync, out, size, pool, stream))
MEMSNAP_HOOK(cudaMallocFromPoolAsync_ptsz, Op::cudaMallocFromPoolAsync,
             (void** out, size_t size, cuda::Pool pool, cuda::Stream stream), (out, size, pool, stream),
             allocate_from_pool(Op::cudaMallocFromPoolAsync, out, size, pool, stream))
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

MEMSNAP_ROW(cudaFree, (void* address), (address),
            release(Op::cudaFree, address, Object::device, Object::managed, Object::async, Object::import))
MEMSNAP_ROW(cudaFreeAsync, (void* address, cuda::Stream stream), (address, stream),
            release(Op::cudaFreeAsync, address, Object::async, Object::import, Object::device))
MEMSNAP_HOOK(cudaFreeAsync_ptsz, Op::cudaFreeAsync, (void* address, cuda::Stream stream), (address, stream),
             release(Op::cudaFreeAsync, address, Object::async, Object::import, Object::device))
MEMSNAP_ROW(cudaFreeHost, (void* address), (address), release(Op::cudaFreeHost, address, Object::host))
MEMSNAP_ROW(cudaHostUnregister, (void* address), (address),
            release(Op::cudaHostUnregister, address, Object::host))
MEMSNAP_ROW(cudaFreeArray, (cuda::Array array), (array), release(Op::cudaFreeArray, array, Object::array))
MEMSNAP_ROW(cudaFreeMipmappedArray, (cuda::Array array), (array),
            release(Op::cudaFreeMipmappedArray, array, Object::array))
MEMSNAP_ROW(cudaIpcCloseMemHandle, (void* address), (address),
            release(Op::cudaIpcCloseMemHandle, address, Object::import))
MEMSNAP_ROW(cudaDestroyExternalMemory, (cuda::ExternalMemory memory), (memory),
            release(Op::cudaDestroyExternalMemory, memory, Object::import))
MEMSNAP_ROW(cudaMemPoolDestroy, (cuda::Pool pool), (pool),
            release(Op::cudaMemPoolDestroy, pool, Object::pool))
MEMSNAP_ROW(cudaGraphAddMemFreeNode,
            (cuda::GraphNode * node, cuda::Graph graph, const cuda::GraphNode* needs, size_t count,
             void* address),
            (node, graph, needs, count, address),
            release(Op::cudaGraphAddMemFreeNode, address, Object::graph_node))

MEMSNAP_ROW(cudaMemPoolTrimTo, (cuda::Pool pool, size_t keep), (pool, keep),
            change(Op::cudaMemPoolTrimTo, pool, keep, word(pool)))
MEMSNAP_ROW(cudaDeviceGraphMemTrim, (int device), (device),
            change_on_device(Op::cudaDeviceGraphMemTrim, device))
MEMSNAP_ROW(cudaDeviceReset, (), (), change(Op::cudaDeviceReset, nullptr))
MEMSNAP_ROW(cudaIpcGetMemHandle, (cuda::IpcMemHandle * handle, void* address), (handle, address),
            change(Op::cudaIpcGetMemHandle, address))
MEMSNAP_ROW(cudaMemPoolSetAttribute, (cuda::Pool pool, int attribute, void* value), (pool, attribute, value),
            change(Op::cudaMemPoolSetAttribute, pool, 0, word(pool)))
MEMSNAP_ROW(cudaMemPoolExportToShareableHandle, (void* handle, cuda::Pool pool, int type, unsigned flags),
            (handle, pool, type, flags), change(Op::cudaMemPoolExportToShareableHandle, pool, 0, word(pool)))
MEMSNAP_ROW(cudaMemPoolExportPointer, (void* data, void* address), (data, address),
            change(Op::cudaMemPoolExportPointer, address))
MEMSNAP_ROW(cudaDeviceSetMemPool, (int device, cuda::Pool pool), (device, pool),
            change_on_device(Op::cudaDeviceSetMemPool, device, word(pool)))
MEMSNAP_ROW(cudaMemGetInfo, (size_t * free_bytes, size_t* total_bytes), (free_bytes, total_bytes),
            observe(Op::cudaMemGetInfo, free_bytes, total_bytes))

}  // namespace memsnap::recorder
