// SPDX-License-Identifier: Apache-2.0
// What the simulated card says about itself. Rule: one invented model; numbers programs size things by (SM
// count, limits, capabilities) are those of a compute capability 9.0 card, so that PyTorch takes its usual
// paths.
#include <cstdio>
#include <cstring>

#include "driver_state.h"

using namespace simcuda;

namespace {

constexpr char kDeviceName[] = "Simulated GPU";

struct AttributeValue {
    CUdevice_attribute attribute;
    int value;
};

// What is not listed is 0: absent, or not supported.
constexpr AttributeValue kAttributes[] = {
    {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 9},
    {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 16},
    {CU_DEVICE_ATTRIBUTE_WARP_SIZE, 32},
    {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, 1024},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, 1024},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, 64},
    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, 2147483647},
    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, 65535},
    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, 65535},
    {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, 49152},
    {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 232448},
    {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, 233472},
    {CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK, 1024},
    {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, 65536},
    {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, 65536},
    {CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY, 65536},
    {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 2048},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, 32},
    {CU_DEVICE_ATTRIBUTE_MAX_PITCH, 2147483647},
    {CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT, 512},
    {CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT, 32},
    {CU_DEVICE_ATTRIBUTE_CLOCK_RATE, 1'500'000},
    {CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, 2'000'000},
    {CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, 5120},
    {CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 32 << 20},
    {CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT, 3},
    {CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS, 1},
    {CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 1},
    {CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY, 1},
    {CU_DEVICE_ATTRIBUTE_GPU_OVERLAP, 1},
    {CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY, 1},
    {CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, 1},
    {CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM, 1},
    {CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED, 1},
};

int device_attribute(CUdevice_attribute attribute, int device) {
    if (attribute == CU_DEVICE_ATTRIBUTE_PCI_BUS_ID) return device + 1;
    for (const AttributeValue& known : kAttributes) {
        if (known.attribute == attribute) return known.value;
    }
    return 0;
}

// Invented but stable: the same on every run, different for each device of the session.
CUuuid device_uuid(int device) {
    CUuuid uuid{};
    std::memcpy(uuid.bytes, "simcuda-device", 14);
    uuid.bytes[15] = static_cast<char>(device);
    return uuid;
}

// Runs body(int session_device) for a valid ordinal.
template <typename Body>
CUresult with_device(CUdevice ordinal, Body body) {
    return with_driver([&](Driver& state) {
        return is_device(state, ordinal) ? body(session_device(state, ordinal)) : CUDA_ERROR_INVALID_DEVICE;
    });
}

}  // namespace

extern "C" {

CUresult cuDeviceGetCount(int* count) {
    if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return with_driver([&](Driver& state) {
        *count = static_cast<int>(state.visible_devices.size());
        return CUDA_SUCCESS;
    });
}

CUresult cuDeviceGet(CUdevice* device, int ordinal) {
    if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return with_device(ordinal, [&](int) {
        *device = ordinal;
        return CUDA_SUCCESS;
    });
}

CUresult cuDeviceGetName(char* name, int length, CUdevice ordinal) {
    if (name == nullptr || length < 1) return CUDA_ERROR_INVALID_VALUE;
    return with_device(ordinal, [&](int) {
        std::snprintf(name, static_cast<size_t>(length), "%s", kDeviceName);
        return CUDA_SUCCESS;
    });
}

CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice ordinal) {
    if (uuid == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return with_device(ordinal, [&](int device) {
        *uuid = device_uuid(device);
        return CUDA_SUCCESS;
    });
}

CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice ordinal) {
    return cuDeviceGetUuid(uuid, ordinal);
}

CUresult cuDeviceTotalMem_v2(size_t* bytes, CUdevice ordinal) {
    if (bytes == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return with_device(ordinal, [&](int) {
        *bytes = driver().session->total_bytes();
        return CUDA_SUCCESS;
    });
}

CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice ordinal) {
    if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return with_device(ordinal, [&](int device) {
        *value = device_attribute(attribute, device);
        return CUDA_SUCCESS;
    });
}

CUresult cuDeviceComputeCapability(int* major, int* minor, CUdevice ordinal) {
    if (major == nullptr || minor == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return with_device(ordinal, [&](int device) {
        *major = device_attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
        *minor = device_attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
        return CUDA_SUCCESS;
    });
}

CUresult cuDeviceGetPCIBusId(char* text, int length, CUdevice ordinal) {
    if (text == nullptr || length < 13) return CUDA_ERROR_INVALID_VALUE;
    return with_device(ordinal, [&](int device) {
        std::snprintf(text, static_cast<size_t>(length), "0000:%02X:00.0", device + 1);
        return CUDA_SUCCESS;
    });
}

CUresult cuDeviceGetByPCIBusId(CUdevice* ordinal, const char* text) {
    unsigned domain = 0;
    unsigned bus = 0;
    if (ordinal == nullptr || text == nullptr || std::sscanf(text, "%x:%x", &domain, &bus) != 2) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    return with_driver([&](Driver& state) {
        for (CUdevice candidate = 0; is_device(state, candidate); ++candidate) {
            *ordinal = candidate;
            if (static_cast<unsigned>(session_device(state, candidate)) + 1 == bus) return CUDA_SUCCESS;
        }
        return CUDA_ERROR_INVALID_DEVICE;
    });
}

CUresult cuDeviceCanAccessPeer(int* can_access, CUdevice device, CUdevice peer) {
    if (can_access == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return with_driver([&](Driver& state) {
        if (!is_device(state, device) || !is_device(state, peer)) return CUDA_ERROR_INVALID_DEVICE;
        *can_access = device == peer ? 0 : 1;
        return CUDA_SUCCESS;
    });
}

CUresult cuDeviceGetP2PAttribute(int* value, CUdevice_P2PAttribute, CUdevice device, CUdevice peer) {
    return cuDeviceCanAccessPeer(value, device, peer);
}

CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned int flags) {
    if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
    return with_context([&](Driver& state, CUctx_st& context) {
        if (!state.contexts.contains(peer)) return CUDA_ERROR_INVALID_CONTEXT;
        if (peer->device == context.device) return CUDA_ERROR_INVALID_DEVICE;
        return context.peers.insert(peer).second ? CUDA_SUCCESS : CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
    });
}

CUresult cuCtxDisablePeerAccess(CUcontext peer) {
    return with_context([&](Driver&, CUctx_st& context) {
        return context.peers.erase(peer) != 0 ? CUDA_SUCCESS : CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
    });
}

}  // extern "C"
