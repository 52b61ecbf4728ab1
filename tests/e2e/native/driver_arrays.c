// SPDX-License-Identifier: Apache-2.0
//
// Arrays, whose sizes follow from their shapes, and memory of another API.
#include <unistd.h>

#include "driver.h"

int main(void) {
    start_on(0);
    CUarray flat = NULL;
    CUarray deep = NULL;
    CUarray planar = NULL;
    CUmipmappedArray levels = NULL;
    CUmipmappedArray foreign = NULL;
    CUdeviceptr pitched = 0;
    CUdeviceptr buffer = 0;
    CUexternalMemory external = NULL;
    size_t pitch = 0;
    const CUDA_ARRAY_DESCRIPTOR_v2 flat_shape = {1000, 1000, CU_AD_FORMAT_HALF, 4};
    const CUDA_ARRAY3D_DESCRIPTOR_v2 deep_shape = {64, 64, 64, CU_AD_FORMAT_UNSIGNED_INT8, 1, 0};
    const CUDA_ARRAY3D_DESCRIPTOR_v2 level_shape = {64, 32, 0, CU_AD_FORMAT_FLOAT, 2, 0};
    OK(DRIVER(cuMemAllocPitch_v2)(&pitched, &pitch, 1000, 7, 4));
    OK(DRIVER(cuArrayCreate_v2)(&flat, &flat_shape));
    OK(DRIVER(cuArray3DCreate_v2)(&deep, &deep_shape));
    OK(DRIVER(cuMipmappedArrayCreate)(&levels, &level_shape, 3));
    const CUDA_ARRAY3D_DESCRIPTOR_v2 planar_shape = {64, 64, 0, CU_AD_FORMAT_NV12, 3, 0};
    EXPECT(CUDA_ERROR_INVALID_VALUE, DRIVER(cuArray3DCreate_v2)(&planar, &planar_shape));
    EXPECT(CUDA_ERROR_NOT_SUPPORTED, DRIVER(cuMemMapArrayAsync)(NULL, 0, NULL));
    EXPECT(CUDA_ERROR_NOT_SUPPORTED, DRIVER(cuMemMapArrayAsync_ptsz)(NULL, 0, NULL));
    free_bytes();
    OK(DRIVER(cuArrayDestroy)(deep));
    OK(DRIVER(cuMipmappedArrayDestroy)(levels));

    CUDA_EXTERNAL_MEMORY_HANDLE_DESC file = {.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD,
                                             .size = kMebibyte};
    const CUDA_EXTERNAL_MEMORY_BUFFER_DESC part = {.offset = 0, .size = 4096};
    const CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC shape = {.arrayDesc = level_shape, .numLevels = 3};
    file.handle.fd = dup(2);
    OK(DRIVER(cuImportExternalMemory)(&external, &file));
    OK(DRIVER(cuExternalMemoryGetMappedBuffer)(&buffer, external, &part));
    OK(DRIVER(cuExternalMemoryGetMappedMipmappedArray)(&foreign, external, &shape));
    OK(DRIVER(cuMemFree_v2)(buffer));
    OK(DRIVER(cuMipmappedArrayDestroy)(foreign));
    OK(DRIVER(cuDestroyExternalMemory)(external));
    free_bytes();
    return 0;  // the pitched memory and the flat array stay
}
