// SPDX-License-Identifier: Apache-2.0
// libnvidia-ml.so.1: what the session knows, in NVML's words (NVML API reference, "Device Queries").
// Rule: it reads the session's file and nothing else, works without CUDA being initialised, and answers "not
// supported" where a number would be a guess. Structures are restated from the public reference.
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "shared_state.h"

using namespace simcuda;

namespace {

constexpr int kSuccess = 0;
constexpr int kUninitialised = 1;
constexpr int kInvalidArgument = 2;
constexpr int kNotSupportedByNvml = 3;
constexpr int kNotFound = 6;
constexpr int kInsufficientSize = 7;
constexpr int kDriverNotLoaded = 9;
constexpr unsigned kNoInstance = 0xffffffff;
// Who holds the external bytes: a process outside the session, with a number that Linux gives to none.
constexpr int kOutsidePid = 4'194'305;

struct Memory {
    unsigned long long total, free, used;
};

struct MemoryV2 {
    unsigned version;
    unsigned long long total, reserved, free, used;
};

struct ProcessV1 {
    unsigned pid;
    unsigned long long used_bytes;
};

struct ProcessV2 {
    unsigned pid;
    unsigned long long used_bytes;
    unsigned gpu_instance, compute_instance;
};

struct PciInfo {
    char legacy_bus_id[16];
    unsigned domain, bus, device, pci_device_id, pci_subsystem_id;
    char bus_id[32];
};

struct FabricInfo {
    unsigned version;
    unsigned char cluster_uuid[16];
    int status;
    unsigned clique_id;
    unsigned char state;
    unsigned health_mask;
};

// A device handle is the device's number plus one, so that it is never null.
using Device = void*;

Device to_handle(int device) {
    return reinterpret_cast<Device>(static_cast<intptr_t>(device) + 1);
}

// Runs body(SharedState&, device) for a valid handle.
template <typename Body>
int with_device(Device handle, Body body) {
    SharedState* session = SharedState::get();
    if (session == nullptr) return kUninitialised;
    const auto device = static_cast<int>(reinterpret_cast<intptr_t>(handle)) - 1;
    if (device < 0 || device >= session->device_count()) return kInvalidArgument;
    return body(*session, device);
}

int write_text(char* to, unsigned length, const char* text) {
    if (to == nullptr) return kInvalidArgument;
    if (length <= std::strlen(text)) return kInsufficientSize;
    std::snprintf(to, length, "%s", text);
    return kSuccess;
}

// "GPU-" and the bytes of cuDeviceGetUuid.
void format_uuid(int device, char (&text)[64]) {
    const char bytes[15] = "simcuda-device";
    int at = std::snprintf(text, sizeof text, "GPU-");
    for (int index = 0; index < 16; ++index) {
        const bool dash = index == 4 || index == 6 || index == 8 || index == 10;
        const int value = index < 14 ? bytes[index] : index == 15 ? device : 0;
        at += std::snprintf(text + at, sizeof text - static_cast<size_t>(at), dash ? "-%02x" : "%02x",
                            static_cast<unsigned>(value));
    }
}

void set_instances(ProcessV1&) {}
void set_instances(ProcessV2& process) {
    process.gpu_instance = process.compute_instance = kNoInstance;
}

// The NVML way of returning a list: too small a buffer gets the count and "insufficient size".
template <typename Process>
int running_processes(Device handle, unsigned* count, Process* processes) {
    if (count == nullptr) return kInvalidArgument;
    return with_device(handle, [&](SharedState& session, int device) {
        DeviceUsage usage = session.usage(device);
        if (usage.external_bytes != 0) usage.processes.push_back({kOutsidePid, usage.external_bytes});
        const unsigned room = *count;
        *count = static_cast<unsigned>(usage.processes.size());
        if (room < *count || (processes == nullptr && *count > 0)) return kInsufficientSize;
        for (unsigned index = 0; index < *count; ++index) {
            processes[index].pid = static_cast<unsigned>(usage.processes[index].pid);
            processes[index].used_bytes = usage.processes[index].used_bytes;
            set_instances(processes[index]);
        }
        return kSuccess;
    });
}

int no_processes(unsigned* count) {
    if (count == nullptr) return kInvalidArgument;
    *count = 0;
    return kSuccess;
}

}  // namespace

extern "C" {

int nvmlInit_v2() {
    return SharedState::get() != nullptr ? kSuccess : kDriverNotLoaded;
}
int nvmlInit() {
    return nvmlInit_v2();
}
int nvmlInitWithFlags(unsigned) {
    return nvmlInit_v2();
}
int nvmlShutdown() {
    return kSuccess;
}

const char* nvmlErrorString(int error) {
    switch (error) {
        case kSuccess:
            return "Success";
        case kUninitialised:
            return "Uninitialized";
        case kInvalidArgument:
            return "Invalid Argument";
        case kNotSupportedByNvml:
            return "Not Supported";
        case kNotFound:
            return "Not Found";
        case kInsufficientSize:
            return "Insufficient Size";
        case kDriverNotLoaded:
            return "Driver Not Loaded";
        default:
            return "Unknown Error";
    }
}

int nvmlSystemGetDriverVersion(char* text, unsigned length) {
    return write_text(text, length, "580.00");
}
int nvmlSystemGetNVMLVersion(char* text, unsigned length) {
    return write_text(text, length, "13.580.00");
}

int nvmlSystemGetCudaDriverVersion_v2(int* version) {
    if (version == nullptr) return kInvalidArgument;
    *version = 13000;
    return kSuccess;
}

int nvmlSystemGetCudaDriverVersion(int* version) {
    return nvmlSystemGetCudaDriverVersion_v2(version);
}

int nvmlDeviceGetCount_v2(unsigned* count) {
    SharedState* session = SharedState::get();
    if (session == nullptr) return kUninitialised;
    if (count == nullptr) return kInvalidArgument;
    *count = static_cast<unsigned>(session->device_count());
    return kSuccess;
}

int nvmlDeviceGetCount(unsigned* count) {
    return nvmlDeviceGetCount_v2(count);
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, Device* handle) {
    if (handle == nullptr) return kInvalidArgument;
    *handle = to_handle(static_cast<int>(index));
    return with_device(*handle, [](SharedState&, int) { return kSuccess; });
}

int nvmlDeviceGetHandleByIndex(unsigned index, Device* handle) {
    return nvmlDeviceGetHandleByIndex_v2(index, handle);
}

int nvmlDeviceGetHandleByPciBusId_v2(const char* text, Device* handle) {
    unsigned domain = 0;
    unsigned bus = 0;
    if (text == nullptr || std::sscanf(text, "%x:%x", &domain, &bus) != 2 || bus == 0)
        return kInvalidArgument;
    return nvmlDeviceGetHandleByIndex_v2(bus - 1, handle) == kSuccess ? kSuccess : kNotFound;
}

int nvmlDeviceGetHandleByPciBusId(const char* text, Device* handle) {
    return nvmlDeviceGetHandleByPciBusId_v2(text, handle);
}

int nvmlDeviceGetHandleByUUID(const char* uuid, Device* handle) {
    SharedState* session = SharedState::get();
    if (session == nullptr) return kUninitialised;
    if (uuid == nullptr || handle == nullptr) return kInvalidArgument;
    for (int device = 0; device < session->device_count(); ++device) {
        char text[64];
        format_uuid(device, text);
        *handle = to_handle(device);
        if (std::strcmp(text, uuid) == 0) return kSuccess;
    }
    return kNotFound;
}

int nvmlDeviceGetIndex(Device handle, unsigned* index) {
    if (index == nullptr) return kInvalidArgument;
    return with_device(handle, [&](SharedState&, int device) {
        *index = static_cast<unsigned>(device);
        return kSuccess;
    });
}

int nvmlDeviceGetMinorNumber(Device handle, unsigned* minor) {
    return nvmlDeviceGetIndex(handle, minor);
}

int nvmlDeviceGetName(Device handle, char* text, unsigned length) {
    return with_device(handle, [&](SharedState&, int) { return write_text(text, length, "Simulated GPU"); });
}

int nvmlDeviceGetUUID(Device handle, char* text, unsigned length) {
    return with_device(handle, [&](SharedState&, int device) {
        char uuid[64];
        format_uuid(device, uuid);
        return write_text(text, length, uuid);
    });
}

int nvmlDeviceGetPciInfo_v3(Device handle, PciInfo* info) {
    if (info == nullptr) return kInvalidArgument;
    return with_device(handle, [&](SharedState&, int device) {
        *info = PciInfo{};
        info->bus = static_cast<unsigned>(device) + 1;
        std::snprintf(info->legacy_bus_id, sizeof info->legacy_bus_id, "0000:%02X:00.0", info->bus);
        std::snprintf(info->bus_id, sizeof info->bus_id, "00000000:%02X:00.0", info->bus);
        return kSuccess;
    });
}

int nvmlDeviceGetCudaComputeCapability(Device handle, int* major, int* minor) {
    if (major == nullptr || minor == nullptr) return kInvalidArgument;
    *major = 9;
    *minor = 0;
    return with_device(handle, [](SharedState&, int) { return kSuccess; });
}

int nvmlDeviceGetMemoryInfo(Device handle, Memory* memory) {
    if (memory == nullptr) return kInvalidArgument;
    return with_device(handle, [&](SharedState& session, int device) {
        const DeviceUsage usage = session.usage(device);
        *memory = {usage.total_bytes, usage.free_bytes, usage.total_bytes - usage.free_bytes};
        return kSuccess;
    });
}

int nvmlDeviceGetMemoryInfo_v2(Device handle, MemoryV2* memory) {
    if (memory == nullptr) return kInvalidArgument;
    Memory plain{};
    const int result = nvmlDeviceGetMemoryInfo(handle, &plain);
    if (result == kSuccess) *memory = {memory->version, plain.total, 0, plain.free, plain.used};
    return result;
}

int nvmlDeviceGetComputeRunningProcesses(Device handle, unsigned* count, ProcessV1* processes) {
    return running_processes(handle, count, processes);
}

int nvmlDeviceGetComputeRunningProcesses_v2(Device handle, unsigned* count, ProcessV2* processes) {
    return running_processes(handle, count, processes);
}

int nvmlDeviceGetComputeRunningProcesses_v3(Device handle, unsigned* count, ProcessV2* processes) {
    return running_processes(handle, count, processes);
}

int nvmlDeviceGetGraphicsRunningProcesses(Device, unsigned* count, ProcessV1*) {
    return no_processes(count);
}
int nvmlDeviceGetGraphicsRunningProcesses_v3(Device, unsigned* count, ProcessV2*) {
    return no_processes(count);
}

// No fabric: state 0 is NVML_GPU_FABRIC_STATE_NOT_SUPPORTED.
int nvmlDeviceGetGpuFabricInfoV(Device handle, FabricInfo* info) {
    if (info == nullptr) return kInvalidArgument;
    const unsigned version = info->version;
    *info = FabricInfo{};
    info->version = version;
    return with_device(handle, [](SharedState&, int) { return kSuccess; });
}

// Not known here: links and sensors.
int nvmlDeviceGetNvLinkRemoteDeviceType() {
    return kNotSupportedByNvml;
}
int nvmlDeviceGetNvLinkRemotePciInfo_v2() {
    return kNotSupportedByNvml;
}
int nvmlDeviceGetUtilizationRates() {
    return kNotSupportedByNvml;
}
int nvmlDeviceGetTemperature() {
    return kNotSupportedByNvml;
}
int nvmlDeviceGetPowerUsage() {
    return kNotSupportedByNvml;
}
int nvmlDeviceGetClockInfo() {
    return kNotSupportedByNvml;
}

}  // extern "C"
