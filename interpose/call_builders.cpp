// SPDX-License-Identifier: Apache-2.0
#include "call_builders.h"

#include "captures.h"
#include "pool_devices.h"

namespace memsnap::recorder {
namespace {

using wire::Object;
using wire::Op;

bool look_up(Object object, uint64_t address, wire::LiveEntry& entry) {
    Recorder* recorder = current_recorder();
    return recorder != nullptr && recorder->table.peek(object, address, entry);
}

void give_device(Call& call, int8_t device) {
    call.device_source = DeviceSource::given;
    call.device = device;
}

// The device of an object that we know; otherwise none is known.
void take_device(Call& call, Object object, uint64_t address) {
    wire::LiveEntry entry;
    give_device(call, look_up(object, address, entry) ? entry.device : kDeviceUnknown);
}

// Memory from a pool is on the pool's device, whatever the current one is.
void take_device_of_pool(Call& call, cuda::Pool pool) {
    take_device(call, Object::pool, word(pool));
    if (call.device == kDeviceUnknown) call.device = device_of_pool(pool);
}

// The id means a device only where the type says so: host locations leave it undefined.
void take_device_of_location(Call& call, const cuda::Location& location) {
    if (location.type == cuda::kLocationDevice) {
        give_device(call, narrow_device(location.id));
    } else {
        call.device_source = DeviceSource::no_device;
    }
}

void mark_if_captured(Call& call, cuda::Stream stream, DefaultStream zero) {
    if (is_captured(stream, zero == DefaultStream::per_thread)) call.flags |= wire::kFlagCapturing;
}

uint64_t at_least_one(uint64_t extent) {
    return extent == 0 ? 1 : extent;
}

// Of all levels: each halves every extent, but layers and the faces of a cube are no extent. 0 for an array
// whose memory comes later, by cuMemMapArrayAsync.
uint64_t texels_of(const cuda::Extent& extent, unsigned level_count, unsigned flags) {
    if ((flags & (cuda::kArraySparse | cuda::kArrayDeferred)) != 0) return 0;
    bool depth_is_extent = (flags & (cuda::kArrayLayered | cuda::kArrayCubemap)) == 0;
    uint64_t texels = 0;
    for (unsigned level = 0; level < level_count && level < 64; ++level) {
        texels += at_least_one(extent.width >> level) * at_least_one(extent.height >> level) *
                  at_least_one(depth_is_extent ? extent.depth >> level : extent.depth);
    }
    return texels;
}

// Of a channel; 0 for formats whose channels have no whole bytes of their own (planar and compressed ones).
uint64_t channel_bytes(int format) {
    switch (format) {
        case 0x01:  // CU_AD_FORMAT_UNSIGNED_INT8
        case 0x08:  // CU_AD_FORMAT_SIGNED_INT8
            return 1;
        case 0x02:  // CU_AD_FORMAT_UNSIGNED_INT16
        case 0x09:  // CU_AD_FORMAT_SIGNED_INT16
        case 0x10:  // CU_AD_FORMAT_HALF
            return 2;
        case 0x03:  // CU_AD_FORMAT_UNSIGNED_INT32
        case 0x0a:  // CU_AD_FORMAT_SIGNED_INT32
        case 0x20:  // CU_AD_FORMAT_FLOAT
            return 4;
        default:
            return 0;
    }
}

}  // namespace

Call allocate(Op op, Object object, const void* out, uint64_t size) {
    Call call;
    call.op = op;
    call.act = Act::allocate;
    call.objects[0] = object;
    call.out = out;
    call.size = size;
    return call;
}

Call allocate_pitched(Op op, const void* out, const size_t* pitch, uint64_t row_bytes, uint64_t rows) {
    Call call = allocate(op, Object::device, out, row_bytes * rows);
    call.pitch = pitch;
    call.rows = rows;
    return call;
}

Call allocate_host(Op op, const void* out, uint64_t size) {
    Call call = allocate(op, Object::host, out, size);
    call.device_source = DeviceSource::no_device;
    return call;
}

Call register_host(Op op, const void* address, uint64_t size) {
    Call call = allocate_host(op, nullptr, size);
    call.address = word(address);
    return call;
}

Call reserve_addresses(Op op, const void* out, uint64_t size) {
    Call call = allocate(op, Object::reservation, out, size);
    call.device_source = DeviceSource::no_device;
    return call;
}

Call allocate_on_device(Op op, Object object, const void* out, int device) {
    Call call = allocate(op, object, out, 0);
    give_device(call, narrow_device(device));
    return call;
}

Call import(Op op, Object object, const void* out, uint64_t size, uint64_t extra) {
    Call call = allocate(op, object, out, size);
    call.flags = wire::kFlagImported;
    call.extra = extra;
    return call;
}

Call allocate_stream_ordered(Op op, const void* out, uint64_t size, cuda::Stream stream, DefaultStream zero) {
    Call call = allocate(op, Object::async, out, size);
    call.extra = word(stream);
    mark_if_captured(call, stream, zero);
    return call;
}

Call allocate_from_pool(Op op, const void* out, uint64_t size, cuda::Pool pool, cuda::Stream stream,
                        DefaultStream zero) {
    Call call = allocate_stream_ordered(op, out, size, stream, zero);
    take_device_of_pool(call, pool);
    return call;
}

Call create_pool(Op op, const void* out, const cuda::PoolProperties* properties) {
    Call call = allocate(op, Object::pool, out, 0);
    if (properties != nullptr) take_device_of_location(call, properties->location);
    return call;
}

Call allocate_array(Op op, const void* out, uint64_t size) {
    return allocate(op, Object::array, out, size);
}

uint64_t runtime_array_bytes(const cuda::ChannelFormat* format, const cuda::Extent& extent,
                             unsigned level_count, unsigned flags) {
    if (format == nullptr) return 0;
    auto bits = static_cast<uint64_t>(format->x_bits + format->y_bits + format->z_bits + format->w_bits);
    return bits / 8 * texels_of(extent, level_count, flags);
}

uint64_t driver_array_bytes(const cuda::ArrayShape* shape) {
    if (shape == nullptr) return 0;
    return channel_bytes(shape->format) * shape->channel_count *
           texels_of({shape->width, shape->height, 1}, 1, 0);
}

uint64_t driver_array_bytes(const cuda::ArrayShape3D* shape, unsigned level_count) {
    if (shape == nullptr) return 0;
    return channel_bytes(shape->format) * shape->channel_count *
           texels_of({shape->width, shape->height, shape->depth}, level_count, shape->flags);
}

Call allocate_graph_node(Op op, const cuda::GraphAllocation* allocation) {
    if (allocation == nullptr) return change(op, 0);
    Call call = allocate(op, Object::graph_node, &allocation->pointer, allocation->bytes);
    take_device_of_location(call, allocation->pool_properties.location);
    return call;
}

Call create_memory(Op op, const void* out, uint64_t size, const cuda::AllocationProperties* properties) {
    Call call = allocate(op, Object::vmm_handle, out, size);
    call.device_source = DeviceSource::no_device;
    if (properties != nullptr) take_device_of_location(call, properties->location);
    return call;
}

Call map_memory(Op op, uint64_t address, uint64_t size, uint64_t handle) {
    Call call = allocate(op, Object::mapping, nullptr, size);
    call.address = address;
    call.extra = handle;
    take_device(call, Object::vmm_handle, handle);
    return call;
}

Call create_multicast(Op op, const void* out, const cuda::MulticastProperties* properties) {
    Call call = allocate(op, Object::multicast, out, properties == nullptr ? 0 : properties->size);
    call.device_source = DeviceSource::no_device;
    return call;
}

Call retain_memory(Op op, const void* out, const void* address) {
    Call call = allocate(op, Object::vmm_handle, out, 0);
    wire::LiveEntry mapping;
    give_device(call, kDeviceUnknown);
    if (look_up(Object::mapping, word(address), mapping)) {
        call.device = mapping.device;
        call.size = mapping.size;
    }
    return call;
}

Call release(Op op, uint64_t address, Object first, Object second, Object third, Object fourth) {
    Call call;
    call.op = op;
    call.act = Act::release;
    call.address = address;
    call.objects[0] = first;
    call.objects[1] = second;
    call.objects[2] = third;
    call.objects[3] = fourth;
    call.device_source = DeviceSource::no_device;  // the entry knows
    return call;
}

Call release_device(Op op, uint64_t address) {
    return release(op, address, Object::device, Object::managed, Object::async, Object::import);
}

Call release_stream_ordered(Op op, uint64_t address, cuda::Stream stream, DefaultStream zero) {
    Call call = release(op, address, Object::async, Object::import, Object::device);
    call.extra = word(stream);
    mark_if_captured(call, stream, zero);
    return call;
}

Call change(Op op, uint64_t address, uint64_t size, uint64_t extra) {
    Call call;
    call.op = op;
    call.address = address;
    call.size = size;
    call.extra = extra;
    return call;
}

Call change_on_device(Op op, int device, uint64_t extra) {
    Call call = change(op, 0, 0, extra);
    give_device(call, narrow_device(device));
    return call;
}

Call change_at_location(Op op, const cuda::Location* location, uint64_t extra) {
    Call call = change(op, 0, 0, extra);
    if (location != nullptr) take_device_of_location(call, *location);
    return call;
}

Call change_pool(Op op, cuda::Pool pool, uint64_t size) {
    Call call = change(op, word(pool), size, word(pool));
    take_device_of_pool(call, pool);
    return call;
}

Call change_memory(Op op, uint64_t handle) {
    Call call = change(op, handle);
    take_device(call, Object::vmm_handle, handle);
    return call;
}

Call bind_memory(Op op, uint64_t multicast, uint64_t size, Object object, uint64_t bound) {
    Call call = change(op, multicast, size, bound);
    take_device(call, object, bound);
    return call;
}

Call unbind_memory(Op op, uint64_t multicast, int device, uint64_t size) {
    Call call = change(op, multicast, size);
    give_device(call, narrow_device(device));
    return call;
}

Call observe(Op op, const size_t* free_bytes, const size_t* total_bytes) {
    Call call;
    call.op = op;
    call.act = Act::observe;
    call.out = total_bytes;
    call.pitch = free_bytes;
    return call;
}

}  // namespace memsnap::recorder
