// SPDX-License-Identifier: Apache-2.0
// CUDA arrays: opaque memory of a device. Rule: an array takes its texels' bytes, in whole granules, and can
// only be made and destroyed here; copies to and from it are not simulated.
#include <algorithm>

#include "driver_state.h"

using namespace simcuda;

namespace {

uint64_t format_bytes(CUarray_format format) {
    switch (static_cast<int>(format)) {
        case CU_AD_FORMAT_UNSIGNED_INT8:
        case CU_AD_FORMAT_SIGNED_INT8:
            return 1;
        case CU_AD_FORMAT_UNSIGNED_INT16:
        case CU_AD_FORMAT_SIGNED_INT16:
        case CU_AD_FORMAT_HALF:
            return 2;
        case CU_AD_FORMAT_UNSIGNED_INT32:
        case CU_AD_FORMAT_SIGNED_INT32:
        case CU_AD_FORMAT_FLOAT:
            return 4;
        default:
            return 0;
    }
}

uint64_t level_bytes(const CUDA_ARRAY3D_DESCRIPTOR& shape, unsigned level) {
    const auto extent = [&](size_t full) { return std::max<uint64_t>(full >> level, 1); };
    return extent(shape.Width) * extent(shape.Height) * extent(shape.Depth) * format_bytes(shape.Format) *
           shape.NumChannels;
}

// Arrays and mipmapped arrays alike: a handle that owns bytes of a device.
template <typename Handle>
CUresult create(Handle* handle, const CUDA_ARRAY3D_DESCRIPTOR* shape, unsigned level_count) {
    if (handle == nullptr || shape == nullptr || level_count == 0) return CUDA_ERROR_INVALID_VALUE;
    uint64_t bytes = 0;
    for (unsigned level = 0; level < level_count; ++level)
        bytes += level_bytes(*shape, level);
    const bool is_shape = shape->Width > 0 && format_bytes(shape->Format) > 0 && shape->NumChannels > 0;
    if (!is_shape) return CUDA_ERROR_INVALID_VALUE;
    return with_context([&](Driver& state, CUctx_st& context) {
        const CUresult allowed = state.captures.check_unsafe_call();
        if (allowed != CUDA_SUCCESS) return allowed;
        const uint64_t charged = round_up(bytes, kGranularityBytes);
        const Grant grant = state.session->charge(session_device(state, context.device), charged);
        if (grant != Grant::granted) return to_result(grant);
        auto array = std::make_unique<DeviceArray>(DeviceArray{&context, charged});
        *handle = reinterpret_cast<Handle>(array.get());
        state.arrays[array.get()] = std::move(array);
        return CUDA_SUCCESS;
    });
}

template <typename Handle>
CUresult destroy(Handle handle) {
    return with_context([&](Driver& state, CUctx_st&) {
        const auto found = state.arrays.find(reinterpret_cast<DeviceArray*>(handle));
        if (found == state.arrays.end()) return CUDA_ERROR_INVALID_HANDLE;
        give_back_array(state, *found->second);
        state.arrays.erase(found);
        return CUDA_SUCCESS;
    });
}

}  // namespace

namespace simcuda {

void give_back_array(Driver& state, const DeviceArray& array) {
    state.session->give_back(session_device(state, array.context->device), array.bytes);
}

void destroy_arrays_of(Driver& state, CUcontext context) {
    std::erase_if(state.arrays, [&](const auto& entry) {
        const bool is_owned = entry.second->context == context;
        if (is_owned) give_back_array(state, *entry.second);
        return is_owned;
    });
}

}  // namespace simcuda

extern "C" {

CUresult cuArray3DCreate_v2(CUarray* array, const CUDA_ARRAY3D_DESCRIPTOR* shape) {
    return create(array, shape, 1);
}

CUresult cuArrayCreate_v2(CUarray* array, const CUDA_ARRAY_DESCRIPTOR* shape) {
    if (shape == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const CUDA_ARRAY3D_DESCRIPTOR flat{shape->Width, shape->Height, 0, shape->Format, shape->NumChannels, 0};
    return create(array, &flat, 1);
}

CUresult cuArrayDestroy(CUarray array) {
    return destroy(array);
}

CUresult cuMipmappedArrayCreate(CUmipmappedArray* array, const CUDA_ARRAY3D_DESCRIPTOR* shape,
                                unsigned int levels) {
    return create(array, shape, levels);
}

CUresult cuMipmappedArrayDestroy(CUmipmappedArray array) {
    return destroy(array);
}

}  // extern "C"
