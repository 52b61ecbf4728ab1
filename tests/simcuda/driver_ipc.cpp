// SPDX-License-Identifier: Apache-2.0
// Memory known to several processes: cuIpc* handles, and VMM handles and pools passed as file descriptors.
// Rule: the bytes are accounted once, to the process that holds them; contents are not shared (README, "What
// it does not do").
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "driver_state.h"

using namespace simcuda;

namespace {

// What travels inside a CUipcMemHandle.
struct IpcTicket {
    uint64_t magic;
    IpcExport exported;
};
static_assert(sizeof(IpcTicket) <= CU_IPC_HANDLE_SIZE);
constexpr uint64_t kIpcMagic = 0x6370695f6d6973;

// What the file behind an exported VMM handle holds.
struct SharedTicket {
    uint64_t magic;
    uint64_t id;
    CUmemAllocationProp properties;
};
constexpr uint64_t kSharedMagic = 0x6d6d765f6d6973;

// What the file behind an exported pool holds.
struct PoolTicket {
    uint64_t magic;
    int device;  // of the session
};
constexpr uint64_t kPoolMagic = 0x6c6f6f705f6d6973;

// Into a CUipcMemHandle or CUmemPoolPtrExportData.
CUresult export_range(Driver& state, const MemoryRange& range, unsigned char* bytes) {
    const IpcTicket ticket{kIpcMagic,
                           {static_cast<int32_t>(getpid()), session_device(state, range.device), range.serial,
                            range.base, range.bytes}};
    if (!state.session->is_exported(ticket.exported) && !state.session->add_export(ticket.exported)) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    std::memset(bytes, 0, CU_IPC_HANDLE_SIZE);
    std::memcpy(bytes, &ticket, sizeof ticket);
    return CUDA_SUCCESS;
}

// Opening the same handle again in the same context counts up and gives the same address.
CUresult open_export(Driver& state, CUctx_st& context, const IpcExport& exported, CUdeviceptr* result) {
    for (auto& [base, import] : state.ipc_imports) {
        if (import.pid != exported.pid || import.serial != exported.serial) continue;
        if (state.memory.find_base(base)->context != &context) continue;
        ++import.open_count;
        *result = base;
        return CUDA_SUCCESS;
    }
    const uint64_t base = reserve_address_space(exported.bytes, PROT_READ | PROT_WRITE);
    if (base == 0) return CUDA_ERROR_MAP_FAILED;
    state.memory.add({.base = base,
                      .bytes = exported.bytes,
                      .reserved_bytes = exported.bytes,
                      .kind = MemoryKind::imported,
                      .device = context.device,
                      .context = &context});
    state.ipc_imports[base] = {exported.pid, exported.serial, 1};
    *result = base;
    return CUDA_SUCCESS;
}

template <typename Ticket>
CUresult write_ticket(const Ticket& ticket, int* descriptor) {
    *descriptor = memfd_create("simcuda-memory", MFD_CLOEXEC);
    if (*descriptor < 0) return CUDA_ERROR_OPERATING_SYSTEM;
    if (pwrite(*descriptor, &ticket, sizeof ticket, 0) == static_cast<ssize_t>(sizeof ticket))
        return CUDA_SUCCESS;
    close(*descriptor);
    return CUDA_ERROR_OPERATING_SYSTEM;
}

// The handle this process already has for a shared allocation, or 0.
CUmemGenericAllocationHandle find_shared(const Driver& state, uint64_t shared_id) {
    for (const auto& [handle, memory] : state.vmm.physical) {
        if (memory.shared_id == shared_id) return handle;
    }
    return 0;
}

}  // namespace

extern "C" {

CUresult cuIpcGetMemHandle(CUipcMemHandle* handle, CUdeviceptr pointer) {
    if (handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return with_context([&](Driver& state, CUctx_st&) {
        const MemoryRange* range = state.memory.find(pointer);
        if (range == nullptr || range->kind != MemoryKind::device) return CUDA_ERROR_INVALID_VALUE;
        return export_range(state, *range, reinterpret_cast<unsigned char*>(handle->reserved));
    });
}

// A handle of this very process cannot be opened (CUDA programming guide, "Interprocess Communication").
CUresult cuIpcOpenMemHandle_v2(CUdeviceptr* pointer, CUipcMemHandle handle, unsigned int flags) {
    if (pointer == nullptr || flags != CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) return CUDA_ERROR_INVALID_VALUE;
    IpcTicket ticket{};
    std::memcpy(&ticket, handle.reserved, sizeof ticket);
    if (ticket.magic != kIpcMagic) return CUDA_ERROR_INVALID_HANDLE;
    return with_context([&](Driver& state, CUctx_st& context) {
        if (ticket.exported.pid == static_cast<int32_t>(getpid())) return CUDA_ERROR_INVALID_CONTEXT;
        if (!state.session->is_exported(ticket.exported)) return CUDA_ERROR_INVALID_HANDLE;
        return open_export(state, context, ticket.exported, pointer);
    });
}

CUresult cuIpcOpenMemHandle(CUdeviceptr* pointer, CUipcMemHandle handle, unsigned int flags) {
    return cuIpcOpenMemHandle_v2(pointer, handle, flags);
}

CUresult cuIpcCloseMemHandle(CUdeviceptr pointer) {
    return with_context([&](Driver& state, CUctx_st&) {
        const auto found = state.ipc_imports.find(pointer);
        if (found == state.ipc_imports.end()) return CUDA_ERROR_INVALID_VALUE;
        if (--found->second.open_count > 0) return CUDA_SUCCESS;
        state.ipc_imports.erase(found);
        free_range(state, pointer);
        return CUDA_SUCCESS;
    });
}

CUresult cuMemExportToShareableHandle(void* shareable, CUmemGenericAllocationHandle handle,
                                      CUmemAllocationHandleType type, unsigned long long flags) {
    if (shareable == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
    if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return CUDA_ERROR_NOT_SUPPORTED;
    return with_driver([&](Driver& state) {
        PhysicalMemory* memory = state.vmm.find(handle);
        const bool may_export = memory != nullptr && (memory->properties.requestedHandleTypes & type) != 0;
        if (!may_export || memory->properties.location.type != CU_MEM_LOCATION_TYPE_DEVICE) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        if (memory->shared_id == 0) {
            const int device = session_device(state, memory->properties.location.id);
            memory->shared_id = state.session->share(device, memory->bytes);
        }
        if (memory->shared_id == 0) return CUDA_ERROR_OUT_OF_MEMORY;
        return write_ticket(SharedTicket{kSharedMagic, memory->shared_id, memory->properties},
                            static_cast<int*>(shareable));
    });
}

CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle* handle, void* shareable,
                                        CUmemAllocationHandleType type) {
    if (handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return CUDA_ERROR_NOT_SUPPORTED;
    SharedTicket ticket{};
    const int descriptor = static_cast<int>(reinterpret_cast<intptr_t>(shareable));
    const ssize_t got = pread(descriptor, &ticket, sizeof ticket, 0);
    if (got != static_cast<ssize_t>(sizeof ticket) || ticket.magic != kSharedMagic)
        return CUDA_ERROR_INVALID_VALUE;
    return with_driver([&](Driver& state) {
        *handle = find_shared(state, ticket.id);
        if (*handle != 0) {
            ++state.vmm.physical.at(*handle).handle_count;
            return CUDA_SUCCESS;
        }
        PhysicalMemory memory{.properties = ticket.properties, .shared_id = ticket.id};
        int device = 0;
        if (!state.session->hold_shared(ticket.id, &device, &memory.bytes)) return CUDA_ERROR_INVALID_VALUE;
        *handle = state.vmm.add(memory);
        return CUDA_SUCCESS;
    });
}

// ---- pools: the handle travels once, each pointer by itself (CUDA driver API, cuMemPoolExportPointer)

CUresult cuMemPoolExportToShareableHandle(void* shareable, CUmemoryPool handle,
                                          CUmemAllocationHandleType type, unsigned long long flags) {
    if (shareable == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
    if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return CUDA_ERROR_NOT_SUPPORTED;
    return with_driver([&](Driver& state) {
        const CUmemoryPool pool = state.pools.find(handle);
        if (pool == nullptr || !pool->is_exportable) return CUDA_ERROR_INVALID_VALUE;
        return write_ticket(PoolTicket{kPoolMagic, session_device(state, pool->device)},
                            static_cast<int*>(shareable));
    });
}

CUresult cuMemPoolImportFromShareableHandle(CUmemoryPool* pool, void* shareable,
                                            CUmemAllocationHandleType type, unsigned long long flags) {
    if (pool == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
    if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return CUDA_ERROR_NOT_SUPPORTED;
    PoolTicket ticket{};
    const int descriptor = static_cast<int>(reinterpret_cast<intptr_t>(shareable));
    const ssize_t got = pread(descriptor, &ticket, sizeof ticket, 0);
    if (got != static_cast<ssize_t>(sizeof ticket) || ticket.magic != kPoolMagic)
        return CUDA_ERROR_INVALID_VALUE;
    return with_driver([&](Driver& state) {
        for (CUdevice device = 0; is_device(state, device); ++device) {
            if (session_device(state, device) != ticket.device) continue;
            *pool = state.pools.create(device);
            (*pool)->is_imported = true;
            return CUDA_SUCCESS;
        }
        return CUDA_ERROR_INVALID_DEVICE;
    });
}

CUresult cuMemPoolExportPointer(CUmemPoolPtrExportData* data, CUdeviceptr pointer) {
    if (data == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return with_driver([&](Driver& state) {
        const MemoryRange* range = state.memory.find_base(pointer);
        if (range == nullptr || range->kind != MemoryKind::pool) return CUDA_ERROR_INVALID_VALUE;
        if (!state.pools.owner_of(pointer)->is_exportable) return CUDA_ERROR_INVALID_VALUE;
        return export_range(state, *range, data->reserved);
    });
}

CUresult cuMemPoolImportPointer(CUdeviceptr* pointer, CUmemoryPool handle, CUmemPoolPtrExportData* data) {
    if (pointer == nullptr || data == nullptr) return CUDA_ERROR_INVALID_VALUE;
    IpcTicket ticket{};
    std::memcpy(&ticket, data->reserved, sizeof ticket);
    return with_context([&](Driver& state, CUctx_st& context) {
        const CUmemoryPool pool = state.pools.find(handle);
        const bool is_known = pool != nullptr && pool->is_imported && ticket.magic == kIpcMagic;
        if (!is_known || !state.session->is_exported(ticket.exported)) return CUDA_ERROR_INVALID_VALUE;
        const uint64_t base = reserve_address_space(ticket.exported.bytes, PROT_READ | PROT_WRITE);
        if (base == 0) return CUDA_ERROR_MAP_FAILED;
        state.memory.add({.base = base,
                          .bytes = ticket.exported.bytes,
                          .reserved_bytes = ticket.exported.bytes,
                          .kind = MemoryKind::foreign,
                          .device = pool->device,
                          .context = &context});
        *pointer = base;
        return CUDA_SUCCESS;
    });
}

}  // extern "C"
