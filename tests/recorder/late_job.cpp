// SPDX-License-Identifier: Apache-2.0
//
// A job that was not preloaded and does what its arguments say, one after the other; among them that it loads
// the recorder itself, late. What stands for PyTorch's allocator keeps its own list, which is the truth.
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "program_fakes.h"

namespace {

// ---- the allocator

class Allocator {
  public:
    uint64_t take(size_t size) {
        const std::lock_guard lock(mutex_);
        uint64_t address = next_;
        if (free_.empty()) {
            next_ += kPlace;
        } else {
            address = free_.back();  // the last one freed first, as caches do
            free_.pop_back();
        }
        live_[address] = size;
        allocated_ += size;
        report(address, static_cast<int64_t>(size));
        return address;
    }
    void give(uint64_t address) {
        const std::lock_guard lock(mutex_);
        const auto found = live_.find(address);
        const size_t size = found->second;
        live_.erase(found);
        free_.push_back(address);
        allocated_ -= size;
        report(address, -static_cast<int64_t>(size));
    }
    std::map<uint64_t, size_t> list() {
        const std::lock_guard lock(mutex_);
        return live_;
    }
    void pause() { mutex_.lock(); }
    void resume() { mutex_.unlock(); }
    const std::map<uint64_t, size_t>& paused_list() const { return live_; }
    size_t paused_bytes() const { return allocated_; }

  private:
    static constexpr uint64_t kPlace = 1 << 21;
    void report(uint64_t address, int64_t size) const {
        fake_report(reinterpret_cast<void*>(address), size, allocated_, next_ - kFirst, 0);
    }
    static constexpr uint64_t kFirst = uint64_t{1} << 45;
    std::mutex mutex_;
    std::map<uint64_t, size_t> live_;
    std::vector<uint64_t> free_;
    uint64_t next_ = kFirst;
    size_t allocated_ = 0;
};
Allocator g_allocator;

std::atomic<bool> g_is_quiet{false};
void churn(unsigned seed) {
    std::minstd_rand random(seed);
    std::vector<uint64_t> held;
    for (unsigned i = 1; !g_is_quiet; ++i) {
        if (i % 32 == 0) std::this_thread::sleep_for(std::chrono::microseconds(100));
        if (held.size() < 20 || (held.size() < 60 && random() % 2 == 0)) {
            held.push_back(g_allocator.take(512 * (1 + random() % 2000)));
        } else {
            std::swap(held[random() % held.size()], held.back());
            g_allocator.give(held.back());
            held.pop_back();
        }
    }
}

// ---- the recorder

struct Library {
    uint32_t (*attach)(const char*, size_t);
    uint32_t (*detach)();
    int (*initial_begin)();
    void (*initial)(uint32_t, int32_t, uint64_t, uint64_t);
    uint32_t (*initial_end)();
    int (*inject)();
    uintptr_t begin, end;
};
Library g_library;

template <typename Function>
void find(void* handle, const char* name, Function*& function) {
    function = reinterpret_cast<Function*>(dlsym(handle, name));
}

void load() {
    void* handle = dlopen(std::getenv("LATE_LIBRARY"), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
        std::puts(dlerror());
        std::exit(3);
    }
    find(handle, "memsnap1_attach", g_library.attach);
    find(handle, "memsnap1_detach", g_library.detach);
    find(handle, "memsnap1_initial_begin", g_library.initial_begin);
    find(handle, "memsnap1_initial", g_library.initial);
    find(handle, "memsnap1_initial_end", g_library.initial_end);
    find(handle, "InitializeInjection", g_library.inject);
    const link_map* map = nullptr;
    dlinfo(handle, RTLD_DI_LINKMAP, &map);
    dl_iterate_phdr(
        [](dl_phdr_info* info, size_t, void* base) {
            if (info->dlpi_addr != *static_cast<uintptr_t*>(base)) return 0;
            g_library.begin = info->dlpi_addr;
            for (int i = 0; i < info->dlpi_phnum; ++i) {
                const auto& part = info->dlpi_phdr[i];
                if (part.p_type == PT_LOAD)
                    g_library.end = std::max(g_library.end, info->dlpi_addr + part.p_vaddr + part.p_memsz);
            }
            return 1;
        },
        const_cast<ElfW(Addr)*>(&map->l_addr));
}

// "A=1,B=2" as texts that each end by a zero byte.
std::string settings_of(std::string text) {
    if (text.empty()) return text;
    std::replace(text.begin(), text.end(), ',', '\0');
    return text + '\0';
}

void answer(const char* what, uint32_t word) {
    std::printf("%s %u %u\n", what, word & 0xffff, word >> 16);
}

void attach(const std::string& text) {
    const std::string settings = settings_of(text);
    answer("attach", g_library.attach(settings.data(), settings.size()));
}

void attach_from_two_threads() {
    uint32_t words[2] = {};
    std::thread other([&words] { words[1] = g_library.attach(nullptr, 0); });
    words[0] = g_library.attach(nullptr, 0);
    other.join();
    std::printf("attach %u %u\n", std::min(words[0], words[1]), std::max(words[0], words[1]));
}

void tell() {
    g_library.initial_begin();
    for (const auto& [address, size] : g_allocator.list()) {
        g_library.initial(1, 0, address, size);
    }
    std::printf("told %u\n", g_library.initial_end());
}

void write_truth(const std::string& path) {
    std::FILE* file = std::fopen(path.c_str(), "w");
    std::fprintf(file, "{\"allocated\": %zu", g_allocator.paused_bytes());
    for (const auto& [address, size] : g_allocator.paused_list()) {
        std::fprintf(file, ", \"%lu\": %zu", address, size);
    }
    std::fprintf(file, "}");
    std::fclose(file);
}

// ---- what of other objects' data leads where

// All words of writable data, by address, but the recorder's and the C library's: there handlers are listed.
using Words = std::map<uintptr_t, uintptr_t>;
Words writable_words() {
    Words words;
    dl_iterate_phdr(
        [](dl_phdr_info* info, size_t, void* data) {
            if (std::strstr(info->dlpi_name, "/libc.so") != nullptr) return 0;
            for (int i = 0; i < info->dlpi_phnum; ++i) {
                const auto& part = info->dlpi_phdr[i];
                if (part.p_type != PT_LOAD || (part.p_flags & PF_W) == 0) continue;
                uintptr_t at = (info->dlpi_addr + part.p_vaddr + 7) / 8 * 8;
                const uintptr_t end = info->dlpi_addr + part.p_vaddr + part.p_memsz;
                if (at >= g_library.begin && at < g_library.end) continue;
                for (; at + 8 <= end; at += 8) {
                    (*static_cast<Words*>(data))[at] = *reinterpret_cast<uintptr_t*>(at);
                }
            }
            return 0;
        },
        &words);
    return words;
}
Words g_before;
Words g_patched;

// Those that lead into the recorder; the job's own pointers to its entry points are no slots.
void look_for_patched() {
    const auto begin = reinterpret_cast<uintptr_t>(&g_library);
    g_patched.clear();
    for (const auto& [address, word] : writable_words()) {
        const bool is_own = address >= begin && address < begin + sizeof g_library;
        if (!is_own && word >= g_library.begin && word < g_library.end) g_patched[address] = word;
    }
    std::printf("patched %d\n", g_patched.empty() ? 0 : 1);
}
void compare() {
    int different = 0;
    for (const auto& [address, word] : g_patched) {
        if (*reinterpret_cast<uintptr_t*>(address) != g_before[address]) ++different;
    }
    std::printf("different %d of %s\n", different, g_patched.empty() ? "none" : "some");
}

// ---- commands

std::map<std::string, void*> g_plugins;

void run_plugin(const std::string& name) {
    int (*run)(size_t) = nullptr;
    find(g_plugins[name], "plugin_run", run);
    std::printf("served by %d\n", run(4096));
}

struct Runtime {
    int (*start)(const char*);
    uint64_t (*create)(size_t);
    int (*release)(uint64_t);
};
Runtime g_runtime;

void open_plugin(const std::string& name, int mode) {
    void* handle = dlopen(name.c_str(), mode | RTLD_LOCAL);
    if (handle == nullptr) std::puts(dlerror());
    g_plugins[name] = handle;
    if (dlsym(handle, "runtime_start") == nullptr) return;
    find(handle, "runtime_start", g_runtime.start);
    find(handle, "runtime_create", g_runtime.create);
    find(handle, "runtime_release", g_runtime.release);
}

void fork_and_allocate() {
    const pid_t child = fork();
    if (child == 0) {
        g_allocator.take(4096);
        void* memory = nullptr;
        cudaMalloc(&memory, 4096);
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    std::printf("child %d\n", status);
}

// Of pages that can only be read; by the library that is preloaded for it.
void refuse_writes(bool refused) {
    void (*refuse)(bool) = nullptr;
    find(RTLD_DEFAULT, "refuse_page_writes", refuse);
    refuse(refused);
}

std::vector<uint64_t> g_blocks;
std::vector<std::thread> g_threads;

void take(long count) {
    for (long i = 0; i < count; ++i) {
        g_blocks.push_back(g_allocator.take(512 * static_cast<size_t>(1 + i % 7)));
    }
}
void give(long count) {
    for (long i = 0; i < count; ++i) {
        g_allocator.give(g_blocks.back());
        g_blocks.pop_back();
    }
}

void quiet() {
    g_is_quiet = true;
    for (std::thread& thread : g_threads) {
        thread.join();
    }
    g_threads.clear();
}

void obey(const std::string& command, const std::string& value) {
    const long number = std::atol(value.c_str());
    if (command == "load") load();
    if (command == "attach") attach(value);
    if (command == "attach-from-two-threads") attach_from_two_threads();
    if (command == "detach") answer("detach", g_library.detach());
    if (command == "inject") g_library.inject();
    if (command == "refuse-writes") refuse_writes(number != 0);
    if (command == "tell") tell();
    if (command == "take") take(number);
    if (command == "give") give(number);
    if (command == "churn") {
        for (long i = 0; i < number; ++i) {
            g_threads.emplace_back(churn, static_cast<unsigned>(i + 1));
        }
    }
    if (command == "quiet") quiet();
    if (command == "pause") g_allocator.pause();
    if (command == "resume") g_allocator.resume();
    if (command == "truth") write_truth(value);
    if (command == "open") open_plugin(value, RTLD_NOW);
    if (command == "open-lazily") open_plugin(value, RTLD_LAZY);
    if (command == "close") dlclose(g_plugins[value]);
    if (command == "run") run_plugin(value);
    if (command == "open-driver") dlopen(std::getenv("FAKE_CUDA"), RTLD_NOW | RTLD_LOCAL);
    if (command == "start-runtime") g_runtime.start(std::getenv("FAKE_CUDA"));
    if (command == "create") std::printf("handle %lu\n", g_runtime.create(static_cast<size_t>(number)));
    if (command == "release") std::printf("released %d\n", g_runtime.release(static_cast<uint64_t>(number)));
    if (command == "remember") g_before = writable_words();
    if (command == "look") look_for_patched();
    if (command == "compare") compare();
    if (command == "fork") fork_and_allocate();
    if (command == "sleep") std::this_thread::sleep_for(std::chrono::milliseconds(number));
    if (command == "stop") raise(SIGSTOP);
}

}  // namespace

int main(int argc, char** argv) {
    for (int i = 1; i < argc; ++i) {
        const std::string argument = argv[i];
        const size_t equals = argument.find('=');
        obey(argument.substr(0, equals), equals == std::string::npos ? "" : argument.substr(equals + 1));
    }
    std::fflush(stdout);
    return 0;
}
