// SPDX-License-Identifier: Apache-2.0
#include "nvml.h"

#include <dlfcn.h>

#include <initializer_list>

#include "elf_lookup.h"
#include "text.h"

namespace memsnap::recorder::nvml {
namespace {

constexpr int kSuccess = 0;
constexpr unsigned kMigEnabled = 1;

struct MemoryV1 {
    unsigned long long total, free, used;
};
struct MemoryV2 {
    unsigned version;
    unsigned long long total, reserved, free, used;
};
constexpr unsigned kMemoryV2Version = sizeof(MemoryV2) | 2u << 24;

struct ProcessV1 {
    unsigned pid;
    unsigned long long bytes;
};
struct ProcessV2 {  // and V3
    unsigned pid;
    unsigned long long bytes;
    unsigned gpu_instance, compute_instance;
};
static_assert(sizeof(MemoryV2) == 40 && sizeof(ProcessV1) == 16 && sizeof(ProcessV2) == 24);

// One of the lists of processes, in the newest form that the library has.
struct List {
    using Query = int(Device, unsigned* count, void* processes);
    Query* query;
    bool first_form;
};

struct Library {
    void* handle;
    void* (*symbol)(void* handle, const char* name);  // dlsym
    int (*init)();
    int (*by_uuid)(const char*, Device*);
    int (*by_bus_id)(const char*, Device*);
    int (*mig_mode)(Device, unsigned* current, unsigned* pending);
    int (*memory)(Device, MemoryV1*);
    int (*memory_v2)(Device, MemoryV2*);
    List compute;
    List graphics;
    List mps;
};
Library g_library;  // valid in forked children too: it is where the code lies

template <typename Function>
void find(Function*& function, const char* name) {
    function = reinterpret_cast<Function*>(g_library.symbol(g_library.handle, name));
}

void find(List& list, const char* name) {
    for (const char* form : {"_v3", "_v2", ""}) {
        if (list.query != nullptr) return;
        Text<64> full_name;
        full_name.add(name);
        full_name.add(form);
        find(list.query, full_name.c_str());
        list.first_form = form[0] == '\0';
    }
}

bool load() {
    using Dlopen = void*(const char*, int);
    auto* open_library = reinterpret_cast<Dlopen*>(find_symbol("dlopen"));
    g_library = Library{};
    g_library.symbol = reinterpret_cast<void* (*)(void*, const char*)>(find_symbol("dlsym"));
    if (open_library == nullptr || g_library.symbol == nullptr) return false;
    g_library.handle = open_library("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (g_library.handle == nullptr) return false;
    find(g_library.init, "nvmlInit_v2");
    find(g_library.by_uuid, "nvmlDeviceGetHandleByUUID");
    find(g_library.by_bus_id, "nvmlDeviceGetHandleByPciBusId_v2");
    find(g_library.mig_mode, "nvmlDeviceGetMigMode");
    find(g_library.memory, "nvmlDeviceGetMemoryInfo");
    find(g_library.memory_v2, "nvmlDeviceGetMemoryInfo_v2");
    find(g_library.compute, "nvmlDeviceGetComputeRunningProcesses");
    find(g_library.graphics, "nvmlDeviceGetGraphicsRunningProcesses");
    find(g_library.mps, "nvmlDeviceGetMPSComputeRunningProcesses");
    return g_library.init != nullptr && g_library.by_uuid != nullptr && g_library.memory != nullptr;
}

template <typename Process>
bool add_all(const List& list, Device device, Holders& holders) {
    static Process processes[Holders::kCapacity];
    unsigned count = Holders::kCapacity;
    if (list.query(device, &count, processes) != kSuccess) return false;
    for (unsigned i = 0; i < count && i < Holders::kCapacity; ++i) {
        holders.add(processes[i].pid, processes[i].bytes);
    }
    return true;
}

bool add_list(const List& list, Device device, Holders& holders) {
    if (list.query == nullptr) return false;
    return list.first_form ? add_all<ProcessV1>(list, device, holders)
                           : add_all<ProcessV2>(list, device, holders);
}

}  // namespace

wire::Sampling open() {
    if (!load()) return wire::Sampling::nvml_missing;
    return g_library.init() == kSuccess ? wire::Sampling::nvml : wire::Sampling::nvml_failed;
}

Device find_by_uuid(const char* uuid) {
    Device device = nullptr;
    return g_library.by_uuid(uuid, &device) == kSuccess ? device : nullptr;
}

Device find_by_bus_id(const char* bus_id) {
    Device device = nullptr;
    if (g_library.by_bus_id == nullptr) return nullptr;
    return g_library.by_bus_id(bus_id, &device) == kSuccess ? device : nullptr;
}

bool is_divided(Device device) {
    unsigned current = 0;
    unsigned pending = 0;
    return g_library.mig_mode != nullptr && g_library.mig_mode(device, &current, &pending) == kSuccess &&
           current == kMigEnabled;
}

bool read_memory(Device device, Memory& memory) {
    MemoryV2 newer = {kMemoryV2Version, 0, 0, 0, 0};
    if (g_library.memory_v2 != nullptr && g_library.memory_v2(device, &newer) == kSuccess) {
        memory = {newer.total - newer.reserved, newer.free};
        return newer.reserved <= newer.total;
    }
    MemoryV1 older = {};
    if (g_library.memory(device, &older) != kSuccess) return false;
    memory = {older.total, older.free};
    return true;
}

// The lists of drawing and of shared (MPS) processes are additions: not every card has them.
bool read_holders(Device device, Holders& holders) {
    holders.clear();
    if (!add_list(g_library.compute, device, holders)) return false;
    add_list(g_library.graphics, device, holders);
    add_list(g_library.mps, device, holders);
    return holders.complete();
}

}  // namespace memsnap::recorder::nvml
