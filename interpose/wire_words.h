// SPDX-License-Identifier: Apache-2.0
//
// The words of a record: its kinds, flags, calls and object classes; and the header's about who told. Part of
// wire.h, which is the only file that includes it. Numbers are never reused or changed.
#pragma once

#include <cstdint>

namespace memsnap::wire {

enum class Kind : uint8_t {
    none = 0,
    // PyTorch's caching allocator, as it reports itself. Totals: allocated and reserved of the device after
    // the event.
    block_alloc = 1,  // address, size = granted, link = site
    block_free =
        2,          // address, size, link = ticket of the block's birth (kNoTicket: the birth was never seen)
    block_oom = 3,  // size = rounded request, link = site
    birth = 4,  // the slot after a free with kFlagBirthFollows: the freed object's birth (address, size, link
                // = site, time of birth; extra = step, extra16 = phase name)
    // Calls of the CUDA runtime and driver, by op. `free` is written before the real call, the others after
    // it, `try_call` before it.
    try_call = 16,   // size, address where the caller passes one, link = site
    ok = 17,         // address or handle, size, link = site, extra = op-specific (see Op)
    fail = 18,       // size, code, link = ticket of the try
    free = 19,       // address or handle, size (0: unknown), link = birth ticket or kNoTicket
    free_fail = 20,  // the free before it did not happen: address, code, link = birth ticket
    mem_info = 21,   // cudaMemGetInfo or cuMemGetInfo answered the program: size = total, link = free. Totals
                     // as last reported
    blind = 22,      // something could not be hooked: op, library, code = Blind
    operation = 23,  // just before a block_oom, or after a failed foreign call: what the thread's failing
                     // operation did. address = size of its first failed device call, code and op of that
                     // call, link = its ticket (kNoTicket: none failed), size = bytes its last attempt asked
                     // for, extra = ticket of its last mem_info (kNoTicket: none), extra16 = failed calls
    // Device samples of the side thread
    device_sample = 32,   // size = total, link = free. Totals as last reported
    process_sample = 33,  // size = this process's bytes, link = bytes of all others, code = count of others;
                          // kFlagUnavailable
    neighbour = 34,       // one other process: address = pid, link = bytes, code = 1: of this job;
                          // kFlagUnavailable. Written before the process_sample it belongs to
    // Phases and what the user says
    phase_begin = 48,  // link = exact name << 32 | folded name, code = Family (none: a label, never a
                       // boundary)
    phase_end = 49,    // the same, address = ticket of the phase_begin (kNoTicket: lost)
    mark = 50,         // link = names
    step = 51,         // a step ends here: size = its number, from 1; code = StepFlag
    note = 52,         // link = dimension name, size = value (two's complement)
    category = 53,     // address in a live block, code = Category
    cap = 54,          // link = per-process limit in bytes (0: none), code = CapSource
    // Torch tap: the allocator's own trace, with what the plain report lacks. extra = stream, extra16 = pool
    // (0: default, kPoolUnknown)
    tap_alloc = 64,  // address, size = requested
    tap_free_requested = 65,
    tap_free_completed = 66,
    tap_segment_alloc = 67,
    tap_segment_free = 68,
    tap_segment_map = 69,
    tap_segment_unmap = 70,
    tap_oom = 71,  // size = rounded request, link = device free, address = requested bytes of all live blocks
    // The recorder about itself
    keyframe = 80,  // link = keyframe slot
    // Late start: what was live at attach: address, size, link = site if known; totals where its flag says
    // so.
    initial = 81,  // a block whose birth is unknown
    initial_segment = 82,
    cupti_memory = 83,  // what CUPTI saw: address, size, link = its timestamp in ns, extra = its memory kind,
                        // code = 1 allocation, 2 release
};

enum RecordFlag : uint8_t {
    kFlagBirthFollows = 1,  // block_free, free: the next ticket is its Kind::birth
    kFlagNested = 2,        // made inside another recorded call of the same thread: the same fact seen twice
    kFlagFromTorch = 4,     // the caller is PyTorch's allocator library: a candidate segment
    kFlagTotals = 8,        // tail holds totals (a mem_info before the first report has none)
    kFlagCapturing = 16,    // the stream was being captured: a graph node, no memory
    kFlagUnavailable = 32,  // the source did not tell
    kFlagImported = 64,     // memory that belongs to another process
};

// What an address or handle in the live table is. With the address it is the table's key: unified addressing
// makes device pointers unique across the devices of a process, so the key needs no device.
enum class Object : uint8_t {
    none = 0,
    block = 1,   // a block of PyTorch's caching allocator
    device = 2,  // cudaMalloc, cuMemAlloc and their pitched forms
    managed = 3,
    host = 4,        // pinned or registered
    array = 5,       // handle; the size may be 0 (not told)
    async = 6,       // stream-ordered, from a pool
    vmm_handle = 7,  // physical memory; one entry a reference
    mapping = 8,
    reservation = 9,
    pool = 10,
    import = 11,  // memory of another process opened here
    multicast = 12,
    context = 13,
    graph_node = 14,
};

enum class Family : uint16_t {
    none = 0,
    step = 1,
    optimizer = 2,
    range = 3,
    module = 4,
    collection = 5  // a pass of Python's cyclic garbage collector
};
enum class Category : uint16_t {
    none = 0,
    parameter = 1,
    gradient = 2,
    optimizer_state = 3,
    buffer = 4,
    input = 5,
    activation = 6,
};
// How a step's end was told.
enum StepFlag : uint16_t {
    kStepCollectionOff = 1,  // Python's cyclic garbage collection is switched off
    kStepImplied = 2,        // an optimizer step ended, and nobody told of steps so far
};
enum class CapSource : uint16_t {
    none = 0,
    memory_fraction = 1,
    user = 2
};
enum class Blind : uint16_t {
    none = 0,
    deepbind = 1,
    dlmopen = 2,
    unknown_entry_point = 3,
    resolver_bypassed = 4,
    original_missing = 5
};

inline constexpr uint16_t kPoolUnknown = 65535;  // of a tap's record
inline constexpr uint16_t kToldAgain = 1;        // code of a tap_segment record of an older segment
inline constexpr uint64_t kRequestedUnknown = ~uint64_t{0};  // address of a tap_oom

// The call. Numbers are for ever. In Kind::ok `extra` is: map: the handle mapped; async: the stream; pool
// ops: the pool.
// clang-format off
enum class Op : uint8_t {
    none = 0, cudaMalloc = 1, cudaMallocPitch = 2, cudaMalloc3D = 3, cudaMallocArray = 4,
    cudaMalloc3DArray = 5, cudaMallocMipmappedArray = 6, cudaMallocManaged = 7, cudaMallocHost = 8,
    cudaHostAlloc = 9, cudaHostRegister = 10, cudaMallocAsync = 11, cudaMallocFromPoolAsync = 12,
    cudaIpcOpenMemHandle = 13, cudaImportExternalMemory = 14, cudaExternalMemoryGetMappedBuffer = 15,
    cudaExternalMemoryGetMappedMipmappedArray = 16, cudaMemPoolCreate = 17,
    cudaMemPoolImportFromShareableHandle = 18, cudaMemPoolImportPointer = 19, cudaGraphAddMemAllocNode = 20,
    cudaFree = 32, cudaFreeAsync = 33, cudaFreeHost = 34, cudaHostUnregister = 35, cudaFreeArray = 36,
    cudaFreeMipmappedArray = 37, cudaIpcCloseMemHandle = 38, cudaDestroyExternalMemory = 39,
    cudaMemPoolDestroy = 40, cudaMemPoolTrimTo = 41, cudaGraphAddMemFreeNode = 42,
    cudaDeviceGraphMemTrim = 43, cudaDeviceReset = 44,
    cudaIpcGetMemHandle = 48, cudaMemPoolSetAttribute = 49, cudaMemPoolExportToShareableHandle = 50,
    cudaMemPoolExportPointer = 51, cudaDeviceSetMemPool = 52, cudaMemGetInfo = 53,
    cuMemAlloc = 96, cuMemAllocPitch = 97, cuMemAllocManaged = 98, cuMemAllocAsync = 99,
    cuMemAllocFromPoolAsync = 100, cuMemAllocHost = 101, cuMemHostAlloc = 102, cuMemHostRegister = 103,
    cuArrayCreate = 104, cuArray3DCreate = 105, cuMipmappedArrayCreate = 106, cuMemAddressReserve = 107,
    cuMemCreate = 108, cuMemMap = 109, cuMemRetainAllocationHandle = 110,
    cuMemImportFromShareableHandle = 111, cuIpcOpenMemHandle = 112, cuImportExternalMemory = 113,
    cuExternalMemoryGetMappedBuffer = 114, cuExternalMemoryGetMappedMipmappedArray = 115,
    cuMemPoolCreate = 116, cuMemPoolImportFromShareableHandle = 117, cuMemPoolImportPointer = 118,
    cuMulticastCreate = 119, cuMulticastBindMem = 120, cuMulticastBindAddr = 121,
    cuGraphAddMemAllocNode = 122, cuCtxCreate = 123, cuDevicePrimaryCtxRetain = 124, cuGreenCtxCreate = 125,
    cuMemMapArrayAsync = 126,
    cuMemFree = 160, cuMemFreeAsync = 161, cuMemFreeHost = 162, cuMemHostUnregister = 163,
    cuArrayDestroy = 164, cuMipmappedArrayDestroy = 165, cuMemAddressFree = 166, cuMemRelease = 167,
    cuMemUnmap = 168, cuIpcCloseMemHandle = 169, cuDestroyExternalMemory = 170, cuMemPoolDestroy = 171,
    cuMemPoolTrimTo = 172, cuMulticastUnbind = 173, cuGraphAddMemFreeNode = 174, cuDeviceGraphMemTrim = 175,
    cuCtxDestroy = 176, cuDevicePrimaryCtxRelease = 177, cuDevicePrimaryCtxReset = 178,
    cuGreenCtxDestroy = 179,
    cuMemSetAccess = 192, cuIpcGetMemHandle = 193, cuMemExportToShareableHandle = 194,
    cuMemPoolSetAttribute = 195, cuMemPoolExportToShareableHandle = 196, cuMemPoolExportPointer = 197,
    cuDeviceSetMemPool = 198, cuMemGetInfo = 199, cuGraphLaunch = 200,
};
// clang-format on

// Who told the events.
enum class Origin : uint32_t {
    recorder = 0,
    torch_snapshot = 1,
    profiler_trace = 2
};
// What a person stated instead of the device.
enum Stated : uint32_t {
    kTotalStated = 1  // the total of each mem_info
};

// What became of the torch tap.
enum class TapState : uint32_t {
    untold = 0,
    attached = 1,
    missing = 2,  // none was built for this PyTorch
    refused = 3,  // made for another PyTorch, broken, or PyTorch's allocator takes none
    off = 4
};

}  // namespace memsnap::wire
