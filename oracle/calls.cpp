// SPDX-License-Identifier: Apache-2.0
//
// The table of calls. Rule: one row a call, as WIRE.md §4 lists them, with the class that its name tells.
#include "calls.h"

#include <array>

namespace oracle {
namespace {

struct Call {
    u8 number;
    std::string_view name;
    Class allocated = kNoClass;
    Class freed = kNoClass;
};

constexpr auto kCalls = std::to_array<Call>({
    {0, "none"},
    {1, "cudaMalloc", kDevice},
    {2, "cudaMallocPitch", kDevice},
    {3, "cudaMalloc3D", kDevice},
    {4, "cudaMallocArray", kArray},
    {5, "cudaMalloc3DArray", kArray},
    {6, "cudaMallocMipmappedArray", kArray},
    {7, "cudaMallocManaged", kManaged},
    {8, "cudaMallocHost", kHost},
    {9, "cudaHostAlloc", kHost},
    {10, "cudaHostRegister", kHost},
    {11, "cudaMallocAsync", kAsync},
    {12, "cudaMallocFromPoolAsync", kAsync},
    {13, "cudaIpcOpenMemHandle", kImport},
    {14, "cudaImportExternalMemory", kImport},
    {15, "cudaExternalMemoryGetMappedBuffer", kImport},
    {16, "cudaExternalMemoryGetMappedMipmappedArray", kArray},
    {17, "cudaMemPoolCreate", kPool},
    {18, "cudaMemPoolImportFromShareableHandle", kPool},
    {19, "cudaMemPoolImportPointer", kImport},
    {20, "cudaGraphAddMemAllocNode", kGraphNode},
    {32, "cudaFree", kNoClass, kDevice},
    {33, "cudaFreeAsync", kNoClass, kAsync},
    {34, "cudaFreeHost", kNoClass, kHost},
    {35, "cudaHostUnregister", kNoClass, kHost},
    {36, "cudaFreeArray", kNoClass, kArray},
    {37, "cudaFreeMipmappedArray", kNoClass, kArray},
    {38, "cudaIpcCloseMemHandle", kNoClass, kImport},
    {39, "cudaDestroyExternalMemory", kNoClass, kImport},
    {40, "cudaMemPoolDestroy", kNoClass, kPool},
    {41, "cudaMemPoolTrimTo"},
    {42, "cudaGraphAddMemFreeNode", kNoClass, kGraphNode},
    {43, "cudaDeviceGraphMemTrim"},
    {44, "cudaDeviceReset", kNoClass, kContext},
    {48, "cudaIpcGetMemHandle"},
    {49, "cudaMemPoolSetAttribute"},
    {50, "cudaMemPoolExportToShareableHandle"},
    {51, "cudaMemPoolExportPointer"},
    {52, "cudaDeviceSetMemPool"},
    {53, "cudaMemGetInfo"},
    {96, "cuMemAlloc", kDevice},
    {97, "cuMemAllocPitch", kDevice},
    {98, "cuMemAllocManaged", kManaged},
    {99, "cuMemAllocAsync", kAsync},
    {100, "cuMemAllocFromPoolAsync", kAsync},
    {101, "cuMemAllocHost", kHost},
    {102, "cuMemHostAlloc", kHost},
    {103, "cuMemHostRegister", kHost},
    {104, "cuArrayCreate", kArray},
    {105, "cuArray3DCreate", kArray},
    {106, "cuMipmappedArrayCreate", kArray},
    {107, "cuMemAddressReserve", kReservation},
    {kCallMemCreate, "cuMemCreate", kHandle},
    {kCallMemMap, "cuMemMap", kMapping},
    {110, "cuMemRetainAllocationHandle", kHandle},
    {kCallMemImport, "cuMemImportFromShareableHandle", kHandle},
    {112, "cuIpcOpenMemHandle", kImport},
    {113, "cuImportExternalMemory", kImport},
    {114, "cuExternalMemoryGetMappedBuffer", kImport},
    {115, "cuExternalMemoryGetMappedMipmappedArray", kArray},
    {116, "cuMemPoolCreate", kPool},
    {117, "cuMemPoolImportFromShareableHandle", kPool},
    {118, "cuMemPoolImportPointer", kImport},
    {119, "cuMulticastCreate", kMulticast},
    {120, "cuMulticastBindMem"},
    {121, "cuMulticastBindAddr"},
    {122, "cuGraphAddMemAllocNode", kGraphNode},
    {123, "cuCtxCreate", kContext},
    {124, "cuDevicePrimaryCtxRetain", kContext},
    {125, "cuGreenCtxCreate", kContext},
    {126, "cuMemMapArrayAsync"},
    {160, "cuMemFree", kNoClass, kDevice},
    {161, "cuMemFreeAsync", kNoClass, kAsync},
    {162, "cuMemFreeHost", kNoClass, kHost},
    {163, "cuMemHostUnregister", kNoClass, kHost},
    {164, "cuArrayDestroy", kNoClass, kArray},
    {165, "cuMipmappedArrayDestroy", kNoClass, kArray},
    {166, "cuMemAddressFree", kNoClass, kReservation},
    {167, "cuMemRelease", kNoClass, kHandle},
    {168, "cuMemUnmap", kNoClass, kMapping},
    {169, "cuIpcCloseMemHandle", kNoClass, kImport},
    {170, "cuDestroyExternalMemory", kNoClass, kImport},
    {171, "cuMemPoolDestroy", kNoClass, kPool},
    {172, "cuMemPoolTrimTo"},
    {173, "cuMulticastUnbind"},
    {174, "cuGraphAddMemFreeNode", kNoClass, kGraphNode},
    {175, "cuDeviceGraphMemTrim"},
    {176, "cuCtxDestroy", kNoClass, kContext},
    {177, "cuDevicePrimaryCtxRelease", kNoClass, kContext},
    {178, "cuDevicePrimaryCtxReset", kNoClass, kContext},
    {179, "cuGreenCtxDestroy", kNoClass, kContext},
    {192, "cuMemSetAccess"},
    {193, "cuIpcGetMemHandle"},
    {194, "cuMemExportToShareableHandle"},
    {195, "cuMemPoolSetAttribute"},
    {196, "cuMemPoolExportToShareableHandle"},
    {197, "cuMemPoolExportPointer"},
    {198, "cuDeviceSetMemPool"},
    {199, "cuMemGetInfo"},
    {200, "cuGraphLaunch"},
});

// Row of a call by its number, plus one; 0 where there is none.
constexpr std::array<u8, 256> make_index() {
    std::array<u8, 256> index{};
    for (std::size_t row = 0; row < kCalls.size(); ++row)
        index[kCalls[row].number] = static_cast<u8>(row + 1);
    return index;
}
constexpr auto kIndex = make_index();

const Call* find(u8 call) {
    return kIndex[call] == 0 ? nullptr : &kCalls[kIndex[call] - 1U];
}

bool lives_in_context(Class object) {
    return object == kDevice || object == kManaged || object == kHost || object == kArray ||
           object == kImport;
}

}  // namespace

bool kind_is_known(u8 kind) {
    return (kind >= 1 && kind <= 4) || (kind >= 16 && kind <= 23) || (kind >= 32 && kind <= 34) ||
           (kind >= 48 && kind <= 54) || (kind >= 64 && kind <= 71) || (kind >= 80 && kind <= 83);
}

std::optional<std::string_view> call_name(u8 call) {
    const auto* row = find(call);
    return row != nullptr ? std::optional(row->name) : std::nullopt;
}

Class allocates(u8 call) {
    const auto* row = find(call);
    return row != nullptr ? row->allocated : kNoClass;
}

Class frees(u8 call) {
    const auto* row = find(call);
    return row != nullptr ? row->freed : kNoClass;
}

bool may_free(u8 call, Class object) {
    auto own = frees(call);
    if (own == kDevice)
        return object == kDevice || object == kManaged || object == kAsync || object == kImport;
    if (own == kHandle) return object == kHandle || object == kMulticast;
    if (own == kContext) return lives_in_context(object) || object == kContext;
    return own != kNoClass && own == object;
}

bool takes_device_memory(Class object) {
    return object == kDevice || object == kArray || object == kAsync || object == kHandle;
}

}  // namespace oracle
