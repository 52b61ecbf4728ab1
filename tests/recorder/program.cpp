// SPDX-License-Identifier: Apache-2.0
//
// The recorded program of the tests: `program SCENARIO [NUMBER]`. It acts as PyTorch's allocator and as other
// libraries do, through the fakes beside it, and knows nothing of the recorder.
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "program_driver.h"
#include "program_fakes.h"

namespace {

constexpr size_t kMebibyte = 1024 * 1024;

// A caching allocator reduced to its reports; like the real one it reports under its lock.
class Allocator {
  public:
    void add_segment(size_t size) {
        void* segment = nullptr;
        if (fake_segment_alloc(&segment, size) == 0) reserved_ += size;
    }
    void* allocate(size_t size) {
        std::lock_guard guard(lock_);
        auto address = reinterpret_cast<void*>(next_);
        next_ += size;
        allocated_ += size;
        fake_report(address, static_cast<int64_t>(size), allocated_, reserved_, 0);
        return address;
    }
    void release(void* address, size_t size) {
        std::lock_guard guard(lock_);
        allocated_ -= size;
        fake_report(address, -static_cast<int64_t>(size), allocated_, reserved_, 0);
    }
    // Two refused segments, as after an emptied cache, then the report.
    void fail(size_t size) {
        std::lock_guard guard(lock_);
        fake_segment_refused(size);
        fake_segment_refused(size);
        fake_report_out_of_memory(static_cast<int64_t>(size), allocated_, reserved_, 0);
    }

  private:
    std::mutex lock_;
    uint64_t next_ = uint64_t{1} << 40;
    size_t allocated_ = 0;
    size_t reserved_ = 0;
};

Allocator g_allocator;

void simple(long) {
    g_allocator.add_segment(20 * kMebibyte);
    void* kept = g_allocator.allocate(1024);
    void* given_back = g_allocator.allocate(2048);
    g_allocator.release(given_back, 2048);
    void* foreign = nullptr;
    cudaMalloc(&foreign, 4 * kMebibyte);
    size_t free_bytes = 0;
    size_t total_bytes = 0;
    cudaMemGetInfo(&free_bytes, &total_bytes);
    cudaFree(foreign);
    cudaFree(nullptr);
    (void)kept;
}

void family(long) {
    void* pointer = nullptr;
    size_t pitch = 0;
    cudaMallocPitch(&pointer, &pitch, 1000, 8);
    cudaFree(pointer);
    cudaMallocAsync(&pointer, 4096, nullptr);
    cudaFreeAsync(pointer, nullptr);
    cudaMallocHost(&pointer, 8192);
    cudaFreeHost(pointer);
    cudaMallocManaged(&pointer, 16384, 1);
    cudaFree(pointer);
    cudaDeviceReset();
    cudaFree(reinterpret_cast<void*>(uintptr_t{0xdead000}));  // unknown, refused
    cudaMalloc(&pointer, 4096);
    cudaFree(pointer);
    cudaFree(pointer);  // a double free
    cudaMalloc(&pointer, 4096);
    cudaFreeAsync(pointer, reinterpret_cast<void*>(intptr_t{-1}));  // refused: still live
}

void out_of_memory(long) {
    g_allocator.add_segment(20 * kMebibyte);
    g_allocator.allocate(4096);
    g_allocator.fail(2048 * kMebibyte);
    g_allocator.allocate(512);
}

void foreign_out_of_memory(long) {
    void* pointer = nullptr;
    size_t free_bytes = 0;
    size_t total_bytes = 0;
    cudaMalloc(&pointer, 1024);
    cudaMemGetInfo(&free_bytes, &total_bytes);
    cudaMalloc(&pointer, 4096 * kMebibyte);
}

// An exception passes through a hook; what the thread does next, deeper in its stack, must not look nested.
void exception_through_a_hook(long) {
    fake_interrupt_with([] { throw std::string("left"); });
    void* pointer = nullptr;
    try {
        cudaMallocHost(&pointer, 4096);
    } catch (const std::string& text) {
        std::printf("%s\n", text.c_str());
    }
    fake_interrupt_with(nullptr);
    // Frames as deep as the one that was left, written over with something else.
    volatile char deeper[4096];
    for (auto& byte : deeper) {
        byte = 1;
    }
    simple(0);
}

// One recorded call inside another: the same fact.
void call_within_a_call(long) {
    fake_interrupt_with([] {
        void* inner = nullptr;
        cudaMalloc(&inner, 512);
    });
    void* pointer = nullptr;
    cudaMallocHost(&pointer, 4096);
    fake_interrupt_with(nullptr);
    cudaFreeHost(pointer);
}

void segment_refused(long) {
    g_allocator.add_segment(4096 * kMebibyte);
}

void cpu(long) {
    fake_report_cpu(&g_allocator, 4096);
}

// A program that closed its stderr and opened a file that happened to get the number.
void out_of_memory_after_reopening(long) {
    close(2);
    if (open("database", O_CREAT | O_WRONLY, 0600) != 2) std::exit(1);
    out_of_memory(0);
}

void storm(long count) {
    for (long i = 0; i < count; ++i) {
        g_allocator.fail(2048 * kMebibyte);
    }
}

// Blocks that outlive many laps, others freed by other threads.
void churn(long events) {
    std::vector<std::thread> threads;
    std::vector<void*> old;
    for (int i = 0; i < 50; ++i) {
        old.push_back(g_allocator.allocate(1 << 20));
    }
    constexpr int kThreads = 4;
    for (int t = 0; t < kThreads; ++t) {
        threads.emplace_back([events, t] {
            std::vector<void*> held;
            for (long i = 0; i < events / kThreads / 2; ++i) {
                held.push_back(g_allocator.allocate(512));
                if (held.size() > static_cast<size_t>(20 + t)) {
                    g_allocator.release(held.front(), 512);
                    held.erase(held.begin());
                }
            }
        });
    }
    for (auto& thread : threads) {
        thread.join();
    }
    for (int i = 0; i < 25; ++i) {
        g_allocator.release(old[static_cast<size_t>(i)], 1 << 20);
    }
}

void child_work() {
    g_allocator.allocate(777 * 512);
}

void fork_child(long) {
    simple(0);
    pid_t child = fork();
    if (child == 0) {
        child_work();
        std::exit(3);
    }
    waitpid(child, nullptr, 0);
}

// A worker that gives up what it inherited and allocates nothing.
void freeing_child(long) {
    void* block = g_allocator.allocate(777 * 512);
    void* foreign = nullptr;
    cudaMalloc(&foreign, 4 * kMebibyte);
    pid_t child = fork();
    if (child == 0) {
        g_allocator.release(block, 777 * 512);
        cudaFree(foreign);
        std::exit(0);
    }
    waitpid(child, nullptr, 0);
}

void raw_fork_child(long) {
    simple(0);
    using Fork = pid_t();
    auto* raw = reinterpret_cast<Fork*>(dlsym(RTLD_DEFAULT, "_Fork"));
    pid_t child = raw != nullptr ? raw() : fork();
    if (child == 0) {
        child_work();
        _exit(0);
    }
    waitpid(child, nullptr, 0);
}

void idle_child(long) {
    simple(0);
    pid_t child = fork();
    if (child == 0) std::exit(5);
    waitpid(child, nullptr, 0);
}

void replace_by_exec(long) {
    simple(0);
    execl("/proc/self/exe", "program", "simple", nullptr);
}

void exit_status(long status) {
    simple(0);
    std::exit(static_cast<int>(status));
}

void killed(long) {
    simple(0);
    kill(getpid(), SIGKILL);
}

// Runs until it is killed; counts finished operations where the parent can see them.
void busy(long) {
    const char* path = std::getenv("WITNESS");
    FILE* file = std::fopen(path, "r+");
    auto* count = static_cast<std::atomic<uint64_t>*>(
        mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(file), 0));
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([count] {
            for (;;) {
                void* block = g_allocator.allocate(512);
                count->fetch_add(1);
                g_allocator.release(block, 512);
                count->fetch_add(1);
            }
        });
    }
    for (auto& thread : threads) {
        thread.join();
    }
}

int call_plugin(const char* path, size_t size) {
    void* plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (plugin == nullptr) {
        std::fprintf(stderr, "%s\n", dlerror());
        std::exit(1);
    }
    using Run = int(size_t);
    return reinterpret_cast<Run*>(dlsym(plugin, "plugin_run"))(size);
}

// Two versions of the runtime; which one served each caller is in the address it handed out.
void two_runtimes(long) {
    std::printf("%d\n", call_plugin(std::getenv("PLUGIN_12"), 1 << 20));
    std::printf("%d\n", call_plugin(std::getenv("PLUGIN_13"), 2 << 20));
}

// Allocations and calls on many threads, until NVML was asked about the device often enough.
void sampled(long queries) {
    void* driver = dlopen(std::getenv("FAKE_CUDA"), RTLD_NOW | RTLD_LOCAL);
    reinterpret_cast<int (*)(unsigned)>(dlsym(driver, "cuInit"))(0);
    void* nvml = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    auto* asked = reinterpret_cast<unsigned long (*)()>(dlsym(nvml, "fake_nvml_query_count"));
    std::thread caller([asked, queries] {
        while (asked() < static_cast<unsigned long>(queries)) {
            void* pointer = nullptr;
            cudaMalloc(&pointer, 4 * kMebibyte);
            cudaFree(pointer);
            std::this_thread::yield();
        }
    });
    while (asked() < static_cast<unsigned long>(queries)) {
        churn(8000);
    }
    caller.join();
}

// Prints whether lookups that must not see the recorder see it.
void lookups(long) {
    std::printf("default cudaMalloc %d\n", dlsym(RTLD_DEFAULT, "cudaMalloc") != nullptr);
    std::printf("next malloc %d\n", dlsym(RTLD_NEXT, "malloc") != nullptr);
    std::printf("next in main %d\n", dlsym(RTLD_NEXT, "no_such_symbol") == nullptr);
    std::printf("dlerror %d\n", dlerror() != nullptr);
    std::printf("plugin %d\n", call_plugin(std::getenv("LOOKUP_PLUGIN"), 0));
}

void missing_original(long) {
    // Nobody provides this function: the answer is "not supported", and the program goes on.
    int result = call_plugin(std::getenv("ORPHAN_PLUGIN"), 1 << 20);
    std::printf("%d\n", result);
    simple(0);
}

// ---- for step_kill: what happens between two stops of ourselves is looked at after every instruction

void step_first_event(long) {
    raise(SIGSTOP);
    g_allocator.allocate(512);
    raise(SIGSTOP);
}

void step_hooks(long) {
    simple(0);  // every original is found already
    raise(SIGSTOP);
    simple(0);
    family(0);
    raise(SIGSTOP);
}

void step_out_of_memory(long) {
    out_of_memory(0);
    raise(SIGSTOP);
    out_of_memory(0);
    raise(SIGSTOP);
}

void step_contexts(long) {
    contexts(1);  // everything is looked up already
    raise(SIGSTOP);
    contexts(3);
    raise(SIGSTOP);
}

// The slots written to hold records of the previous lap; the freed block is older than the ring.
void step_lapped(long) {
    void* old = g_allocator.allocate(4096);
    churn(20000);
    raise(SIGSTOP);
    void* block = g_allocator.allocate(512);
    g_allocator.release(old, 4096);
    g_allocator.release(block, 512);
    raise(SIGSTOP);
}

}  // namespace

int main(int argc, char** argv) {
    static const std::map<std::string, std::function<void(long)>> kScenarios = {
        {"simple", simple},
        {"family", family},
        {"oom", out_of_memory},
        {"foreign_oom", foreign_out_of_memory},
        {"exception", exception_through_a_hook},
        {"nested", call_within_a_call},
        {"segment_refused", segment_refused},
        {"cpu", cpu},
        {"oom_reopened", out_of_memory_after_reopening},
        {"storm", storm},
        {"churn", churn},
        {"fork", fork_child},
        {"raw_fork", raw_fork_child},
        {"idle_child", idle_child},
        {"freeing_child", freeing_child},
        {"exec", replace_by_exec},
        {"exit", exit_status},
        {"killed", killed},
        {"busy", busy},
        {"two_runtimes", two_runtimes},
        {"driver", driver},
        {"contexts", contexts},
        {"sampled", sampled},
        {"lookups", lookups},
        {"missing_original", missing_original},
        {"step_first_event", step_first_event},
        {"step_hooks", step_hooks},
        {"step_oom", step_out_of_memory},
        {"step_contexts", step_contexts},
        {"step_lapped", step_lapped},
    };
    auto scenario = argc > 1 ? kScenarios.find(argv[1]) : kScenarios.end();
    if (scenario == kScenarios.end()) {
        std::fputs("usage: program SCENARIO [NUMBER]\n", stderr);
        return 2;
    }
    scenario->second(argc > 2 ? std::atol(argv[2]) : 0);
    std::printf("done %lu %lu\n", fake_usage_count(), fake_out_of_memory_count());
    return 0;
}
