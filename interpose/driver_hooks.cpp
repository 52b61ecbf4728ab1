// SPDX-License-Identifier: Apache-2.0
#include "driver_hooks.h"

#include <atomic>

#include "birth.h"
#include "calls.h"
#include "cuda_abi.h"
#include "elf_lookup.h"
#include "real_dlsym.h"
#include "side_thread.h"
#include "versions.h"

namespace memsnap::recorder {
namespace {

using wire::Object;
using wire::Op;

enum class Entry : uint32_t {
    cuInit,
    cuDriverGetVersion,
    cuGetProcAddress,
    cuGetProcAddress_v2,
    cuMemCreate,
    cuMemMap,
    cuMemUnmap,
    cuMemRelease,
    cuMemRetainAllocationHandle,
    cuMemImportFromShareableHandle,
    cuMemGetInfo_v2,
    count
};
constexpr uint32_t kEntryCount = static_cast<uint32_t>(Entry::count);

// The originals, by Entry. Written once, by the first thread that sees the driver; valid in forked children.
std::atomic<void*> g_originals[kEntryCount];
std::atomic<void*> g_found_ctx_get_device{nullptr};
std::atomic<bool> g_learned{false};

template <Entry entry, typename Function>
Function* original() {
    return reinterpret_cast<Function*>(
        g_originals[static_cast<uint32_t>(entry)].load(std::memory_order_acquire));
}

// ---- resolvers: the driver answers first, status and errors untouched

int wrap_get_proc_address(const char* symbol, void** found, int version, uint64_t flags) {
    int result = original<Entry::cuGetProcAddress, int(const char*, void**, int, uint64_t)>()(symbol, found,
                                                                                              version, flags);
    if (result == 0 && found != nullptr) *found = substitute(*found);
    return result;
}

int wrap_get_proc_address_v2(const char* symbol, void** found, int version, uint64_t flags, void* status) {
    int result = original<Entry::cuGetProcAddress_v2, int(const char*, void**, int, uint64_t, void*)>()(
        symbol, found, version, flags, status);
    if (result == 0 && found != nullptr) *found = substitute(*found);
    return result;
}

// ---- the driver's start: the moment for everything that must not happen under an allocator's lock

int wrap_init(unsigned flags) {
    int result = original<Entry::cuInit, int(unsigned)>()(flags);
    if (result == 0) {
        g_ctx_get_device.store(reinterpret_cast<CtxGetDevice>(g_found_ctx_get_device.load()),
                               std::memory_order_release);
        start_side_thread();
    }
    return result;
}

int wrap_driver_get_version(int* version) {
    int result = original<Entry::cuDriverGetVersion, int(int*)>()(version);
    if (result == 0 && version != nullptr && *version > 0) {
        g_driver_version.store(static_cast<uint32_t>(*version), std::memory_order_relaxed);
    }
    return result;
}

// ---- virtual memory management

int wrap_mem_create(uint64_t* handle, size_t size, const cuda::AllocationProperties* properties,
                    uint64_t flags) {
    Call call;
    call.op = Op::cuMemCreate;
    call.act = Act::allocate;
    call.objects[0] = Object::vmm_handle;
    call.out = handle;
    call.size = size;
    call.device_source = DeviceSource::no_device;
    // The id means a device only where the type says so: host locations leave it undefined.
    if (properties != nullptr && properties->location.type == cuda::kLocationDevice) {
        call.device_source = DeviceSource::given;
        call.device = static_cast<int8_t>(properties->location.id);
    }
    return record_call(call, caller_index(__builtin_return_address(0)), [&] {
        return original<Entry::cuMemCreate, int(uint64_t*, size_t, const cuda::AllocationProperties*,
                                                uint64_t)>()(handle, size, properties, flags);
    });
}

// The device and size of a handle or mapping we know.
bool look_up(Object object, uint64_t address, wire::LiveEntry& entry) {
    Recorder* recorder = current_recorder();
    return recorder != nullptr && recorder->table.peek(object, address, entry);
}

void take_device(Call& call, Object object, uint64_t address) {
    wire::LiveEntry entry;
    call.device_source = DeviceSource::given;
    if (look_up(object, address, entry)) call.device = entry.device;
}

int wrap_mem_map(uint64_t address, size_t size, size_t offset, uint64_t handle, uint64_t flags) {
    Call call;
    call.op = Op::cuMemMap;
    call.act = Act::allocate;
    call.objects[0] = Object::mapping;
    call.address = address;
    call.size = size;
    call.extra = handle;
    take_device(call, Object::vmm_handle, handle);
    return record_call(call, caller_index(__builtin_return_address(0)), [&] {
        return original<Entry::cuMemMap, int(uint64_t, size_t, size_t, uint64_t, uint64_t)>()(
            address, size, offset, handle, flags);
    });
}

// One call may end several mappings; the range is walked through the entries of the table.
struct RangeRelease {
    static constexpr uint32_t kCapacity = 64;  // mappings that can be entered again when the driver refuses
    uint64_t addresses[kCapacity];
    wire::LiveEntry entries[kCapacity];
    bool had_entry[kCapacity];
    uint32_t count = 0;
    bool overflowed = false;
};

void begin_unmap(const Call& call, uint16_t library, PendingCall& pending, RangeRelease& range) {
    EventScope scope(Start::never);
    if (!prepare_call(call, library, pending, scope.recorder())) return;
    uint64_t end = call.address + call.size;
    for (uint64_t at = call.address; at < end;) {
        range.overflowed = range.count == RangeRelease::kCapacity;
        uint32_t i = range.overflowed ? RangeRelease::kCapacity - 1 : range.count++;
        range.addresses[i] = at;
        record_release(call, pending, at, range.entries[i], range.had_entry[i]);
        if (!range.had_entry[i] || range.entries[i].size == 0) break;
        at += range.entries[i].size;
    }
}

void end_unmap(const Call& call, PendingCall& pending, const RangeRelease& range, int result) {
    if (pending.recorder == nullptr || pending.recorder != current_recorder()) return;
    EventScope scope(Start::never);
    if (scope.recorder() == nullptr) return;
    for (uint32_t i = 0; result != 0 && i < range.count; ++i) {
        record_refused_release(call, pending, range.addresses[i], range.entries[i], range.had_entry[i],
                               result);
    }
    if (result != 0 && range.overflowed) mark_incomplete(*pending.recorder, pending.recorder->ring.head());
    leave_call(pending);
}

int wrap_mem_unmap(uint64_t address, size_t size) {
    Call call;
    call.op = Op::cuMemUnmap;
    call.act = Act::release;
    call.objects[0] = Object::mapping;
    call.address = address;
    call.size = size;
    call.device_source = DeviceSource::no_device;
    PendingCall pending;
    RangeRelease range;
    begin_unmap(call, caller_index(__builtin_return_address(0)), pending, range);
    int result = original<Entry::cuMemUnmap, int(uint64_t, size_t)>()(address, size);
    end_unmap(call, pending, range, result);
    return result;
}

int wrap_mem_release(uint64_t handle) {
    Call call;
    call.op = Op::cuMemRelease;
    call.act = Act::release;
    call.objects[0] = Object::vmm_handle;
    call.address = handle;
    call.device_source = DeviceSource::no_device;
    return record_call(call, caller_index(__builtin_return_address(0)),
                       [&] { return original<Entry::cuMemRelease, int(uint64_t)>()(handle); });
}

int wrap_mem_retain(uint64_t* handle, void* address) {
    Call call;
    call.op = Op::cuMemRetainAllocationHandle;
    call.act = Act::allocate;
    call.objects[0] = Object::vmm_handle;
    call.out = handle;
    wire::LiveEntry mapping;
    call.device_source = DeviceSource::given;
    if (look_up(Object::mapping, reinterpret_cast<uint64_t>(address), mapping)) {
        call.device = mapping.device;
        call.size = mapping.size;
    }
    return record_call(call, caller_index(__builtin_return_address(0)), [&] {
        return original<Entry::cuMemRetainAllocationHandle, int(uint64_t*, void*)>()(handle, address);
    });
}

int wrap_mem_import(uint64_t* handle, void* shared, int type) {
    Call call;
    call.op = Op::cuMemImportFromShareableHandle;
    call.act = Act::allocate;
    call.objects[0] = Object::vmm_handle;
    call.flags = wire::kFlagImported;
    call.out = handle;
    return record_call(call, caller_index(__builtin_return_address(0)), [&] {
        return original<Entry::cuMemImportFromShareableHandle, int(uint64_t*, void*, int)>()(handle, shared,
                                                                                             type);
    });
}

int wrap_mem_get_info(size_t* free_bytes, size_t* total_bytes) {
    Call call;
    call.op = Op::cuMemGetInfo;
    call.act = Act::observe;
    call.out = total_bytes;
    call.pitch = free_bytes;
    return record_call(call, caller_index(__builtin_return_address(0)), [&] {
        return original<Entry::cuMemGetInfo_v2, int(size_t*, size_t*)>()(free_bytes, total_bytes);
    });
}

// ---- the table: a further entry point is one enumerator, one row and its wrapper

struct Row {
    const char* name;  // as the driver exports it
    void* wrapper;
};
template <typename Function>
void* as_pointer(Function* function) {
    return reinterpret_cast<void*>(function);
}
const Row kRows[kEntryCount] = {
    {"cuInit", as_pointer(wrap_init)},
    {"cuDriverGetVersion", as_pointer(wrap_driver_get_version)},
    {"cuGetProcAddress", as_pointer(wrap_get_proc_address)},
    {"cuGetProcAddress_v2", as_pointer(wrap_get_proc_address_v2)},
    {"cuMemCreate", as_pointer(wrap_mem_create)},
    {"cuMemMap", as_pointer(wrap_mem_map)},
    {"cuMemUnmap", as_pointer(wrap_mem_unmap)},
    {"cuMemRelease", as_pointer(wrap_mem_release)},
    {"cuMemRetainAllocationHandle", as_pointer(wrap_mem_retain)},
    {"cuMemImportFromShareableHandle", as_pointer(wrap_mem_import)},
    {"cuMemGetInfo_v2", as_pointer(wrap_mem_get_info)},
};

}  // namespace

bool is_wrapped(const char* name) {
    for (const Row& row : kRows) {
        if (equal(row.name, name)) return true;
    }
    return false;
}

// Threads that come here at once all look everything up: none may hand out an original before it is known,
// and none may wait for another that may be waiting for the dynamic linker's lock.
void learn_driver(void* handle) {
    if (g_learned.load(std::memory_order_acquire)) return;
    DlsymFunction* real = real_dlsym();
    void* ctx_get_device = nullptr;
    g_found_ctx_get_device.compare_exchange_strong(ctx_get_device, real(handle, "cuCtxGetDevice"));
    for (uint32_t i = 0; i < kEntryCount; ++i) {
        void* unknown = nullptr;
        g_originals[i].compare_exchange_strong(unknown, real(handle, kRows[i].name));
    }
    g_learned.store(true, std::memory_order_release);
    // The program's own lookup succeeded; an entry point that an old driver lacks must not look like its
    // error.
    using Dlerror = char*();
    if (auto* clear = reinterpret_cast<Dlerror*>(find_symbol("dlerror"))) clear();
}

void* substitute(void* entry_point) {
    if (entry_point == nullptr) return nullptr;
    for (uint32_t i = 0; i < kEntryCount; ++i) {
        if (g_originals[i].load(std::memory_order_acquire) == entry_point) return kRows[i].wrapper;
    }
    return entry_point;
}

}  // namespace memsnap::recorder
