// SPDX-License-Identifier: Apache-2.0
// CUDA arrays of the runtime. Rule: descriptions are translated; everything else is the driver's
// (driver_array.cpp).
#include "runtime.h"

using namespace simcuda;

namespace {

CUarray_format format_of(const cudaChannelFormatDesc& channels) {
    const bool is_signed = channels.f == cudaChannelFormatKindSigned;
    if (channels.x == 8) return is_signed ? CU_AD_FORMAT_SIGNED_INT8 : CU_AD_FORMAT_UNSIGNED_INT8;
    if (channels.f == cudaChannelFormatKindFloat)
        return channels.x == 16 ? CU_AD_FORMAT_HALF : CU_AD_FORMAT_FLOAT;
    if (channels.x == 16) return is_signed ? CU_AD_FORMAT_SIGNED_INT16 : CU_AD_FORMAT_UNSIGNED_INT16;
    return is_signed ? CU_AD_FORMAT_SIGNED_INT32 : CU_AD_FORMAT_UNSIGNED_INT32;
}

CUDA_ARRAY3D_DESCRIPTOR describe(const cudaChannelFormatDesc& channels, cudaExtent extent, unsigned flags) {
    const int count = (channels.x > 0) + (channels.y > 0) + (channels.z > 0) + (channels.w > 0);
    return {extent.width, extent.height, extent.depth, format_of(channels), static_cast<unsigned>(count),
            flags};
}

}  // namespace

extern "C" {

cudaError_t cudaMalloc3DArray(cudaArray_t* array, const cudaChannelFormatDesc* channels, cudaExtent extent,
                              unsigned int flags) {
    if (array == nullptr || channels == nullptr) return finish(cudaErrorInvalidValue);
    const CUDA_ARRAY3D_DESCRIPTOR shape = describe(*channels, extent, flags);
    return forward<&DriverTable::cuArray3DCreate_v2>(reinterpret_cast<CUarray*>(array), &shape);
}

cudaError_t cudaMallocArray(cudaArray_t* array, const cudaChannelFormatDesc* channels, size_t width,
                            size_t height, unsigned int flags) {
    return cudaMalloc3DArray(array, channels, {width, height, 0}, flags);
}

cudaError_t cudaFreeArray(cudaArray_t array) {
    if (array == nullptr) return cudaSuccess;
    return forward<&DriverTable::cuArrayDestroy>(reinterpret_cast<CUarray>(array));
}

cudaError_t cudaMallocMipmappedArray(cudaMipmappedArray_t* array, const cudaChannelFormatDesc* channels,
                                     cudaExtent extent, unsigned int levels, unsigned int flags) {
    if (array == nullptr || channels == nullptr) return finish(cudaErrorInvalidValue);
    const CUDA_ARRAY3D_DESCRIPTOR shape = describe(*channels, extent, flags);
    return forward<&DriverTable::cuMipmappedArrayCreate>(reinterpret_cast<CUmipmappedArray*>(array), &shape,
                                                         levels);
}

cudaError_t cudaFreeMipmappedArray(cudaMipmappedArray_t array) {
    if (array == nullptr) return cudaSuccess;
    return forward<&DriverTable::cuMipmappedArrayDestroy>(reinterpret_cast<CUmipmappedArray>(array));
}

}  // extern "C"
