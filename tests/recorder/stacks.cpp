// SPDX-License-Identifier: Apache-2.0
//
// A recorded program whose births have native stacks that the C library's own unwinder tells as well:
// `stacks SCENARIO [ARGUMENT...]`. It prints lines of `size address address ...`: the caller of the birth of
// that size, innermost first. It begins when the recorder's file says that native frames are walked.
#include <dirent.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "program_fakes.h"
#include "wire.h"

namespace {

std::atomic<uint64_t> g_next{uint64_t{1} << 40};

void report(size_t size) {
    auto address = g_next.fetch_add(size);
    fake_report(reinterpret_cast<void*>(address), static_cast<int64_t>(size), size, 0, 0);
}

// The stacks byte for native frames of the only recording here; 0 while there is none.
uint8_t native_state() {
    std::string path;
    DIR* folder = opendir(".");
    while (const dirent* entry = readdir(folder)) {
        if (std::string(entry->d_name).ends_with(".bin")) path = entry->d_name;
    }
    closedir(folder);
    uint8_t bytes[4] = {};
    int file = open(path.c_str(), O_RDONLY);
    if (file < 0) return 0;
    ssize_t count = pread(file, bytes, sizeof bytes, offsetof(memsnap::wire::Header, stacks));
    close(file);
    return count == sizeof bytes ? bytes[2] : 0;
}

void start_cuda_and_wait(bool for_frames) {
    void* driver = dlopen(std::getenv("FAKE_CUDA"), RTLD_NOW | RTLD_LOCAL);
    reinterpret_cast<int (*)(unsigned)>(dlsym(driver, "cuInit"))(0);
    report(64);
    while (for_frames && native_state() == 0) {
        usleep(1000);
    }
}

// Three callers that the optimiser leaves alone.
__attribute__((noinline)) void innermost(size_t size) {
    void* addresses[256];
    int count = backtrace(addresses, 256);
    std::string line = std::to_string(size);
    for (int i = 1; i < count; ++i) {
        line += " " + std::to_string(reinterpret_cast<uintptr_t>(addresses[i]));
    }
    std::puts(line.c_str());
    report(size);
    asm volatile("");
}
__attribute__((noinline)) void middle(size_t size) {
    innermost(size);
    asm volatile("");
}
__attribute__((noinline)) void outermost(size_t size) {
    middle(size);
    asm volatile("");
}

__attribute__((noinline)) void descend(int depth, size_t size) {
    if (depth == 0) middle(size);
    if (depth != 0) descend(depth - 1, size);
    asm volatile("");
}

// Another stack for each number: one bit of it a level.
__attribute__((noinline)) void branch(uint32_t number, int bits) {
    if (bits == 0) return report(512);
    if ((number & 1) != 0) {
        branch(number >> 1, bits - 1);
        asm volatile("nop");
    } else {
        branch(number >> 1, bits - 1);
        asm volatile("");
    }
}

void plain(char**) {
    start_cuda_and_wait(true);
    outermost(1024);
    middle(2048);
    outermost(1024);
    std::thread(outermost, 4096).join();
}

void foreign(char**) {
    start_cuda_and_wait(true);
    void* pointer = nullptr;
    cudaMalloc(&pointer, 8192);
}

void not_waiting(char**) {
    start_cuda_and_wait(false);
    report(1024);
}

void deep(char** arguments) {
    start_cuda_and_wait(true);
    descend(std::atoi(arguments[0]), 1024);
}

void many(char** arguments) {
    start_cuda_and_wait(true);
    const auto count = static_cast<uint32_t>(std::atoi(arguments[0]));
    for (uint32_t number = 0; number < count; ++number) {
        branch(number, 20);
    }
    if (write(STDOUT_FILENO, "walked", 6) != 6) std::abort();
}

// Each place many times, in turns.
void again(char**) {
    start_cuda_and_wait(true);
    for (size_t turn = 0; turn < 60; ++turn) {
        const size_t size = 512 * (turn + 1);
        if (turn / 4 % 2 == 0) {
            outermost(size);
        } else {
            outermost(size);
        }
        middle(size);
        descend(static_cast<int>(turn / 10), size);
    }
}

// Threads that walk, some for the first time, while others fork. A child whose own walk finds a lock held is
// killed by its alarm.
void forks(char**) {
    start_cuda_and_wait(true);
    std::atomic<bool> over{false};
    std::vector<std::thread> threads;
    for (int i = 0; i < 2; ++i) {
        threads.emplace_back([&over, i] {
            for (uint32_t number = static_cast<uint32_t>(i); !over;) {
                std::thread([&number] {
                    for (int k = 0; k < 200; ++k) {
                        branch(number++, 10);
                    }
                }).join();
            }
        });
    }
    int failed = 0;
    for (int i = 0; i < 60; ++i) {
        pid_t child = fork();
        if (child == 0) {
            alarm(20);
            report(1024);
            branch(static_cast<uint32_t>(i), 10);
            _exit(0);
        }
        int status = 0;
        waitpid(child, &status, 0);
        if (status != 0) ++failed;
    }
    over = true;
    for (auto& thread : threads) {
        thread.join();
    }
    std::printf("failed %d\n", failed);
}

// One plugin after the other, each gone before the next comes.
void plugins(char** paths) {
    start_cuda_and_wait(true);
    for (; *paths != nullptr; ++paths) {
        void* plugin = dlopen(*paths, RTLD_NOW | RTLD_LOCAL);
        auto* run = reinterpret_cast<int (*)(size_t)>(dlsym(plugin, "plugin_run"));
        std::printf("%lu\n", reinterpret_cast<uintptr_t>(run));
        run(4096);
        dlclose(plugin);
    }
}

// Births in the constructor of a library, while another thread loads and unloads.
void constructors(char** paths) {
    start_cuda_and_wait(true);
    std::atomic<bool> over{false};
    std::thread other([&over] {
        while (!over) {
            void* library = dlopen("libm.so.6", RTLD_NOW | RTLD_LOCAL);
            if (library != nullptr) dlclose(library);
        }
    });
    for (int i = 0; i < 50; ++i) {
        void* plugin = dlopen(paths[0], RTLD_NOW | RTLD_LOCAL);
        if (plugin == nullptr) std::abort();
        dlclose(plugin);
    }
    over = true;
    other.join();
}

// For step_kill: a stack that is new, with frames that are new to the thread, and the same again until it is
// recalled.
void step_native(char**) {
    start_cuda_and_wait(true);
    report(128);
    raise(SIGSTOP);
    for (int i = 0; i < 4; ++i) {
        branch(1, 3);
    }
    raise(SIGSTOP);
}

}  // namespace

int main(int argc, char** argv) {
    static const std::map<std::string, std::function<void(char**)>> kScenarios = {
        {"plain", plain},
        {"foreign", foreign},
        {"not_waiting", not_waiting},
        {"deep", deep},
        {"many", many},
        {"again", again},
        {"forks", forks},
        {"plugins", plugins},
        {"constructors", constructors},
        {"step_native", step_native},
    };
    auto scenario = argc > 1 ? kScenarios.find(argv[1]) : kScenarios.end();
    if (scenario == kScenarios.end()) {
        std::fputs("usage: stacks SCENARIO [ARGUMENT...]\n", stderr);
        return 2;
    }
    scenario->second(argv + 2);
    return 0;
}
