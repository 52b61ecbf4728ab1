// SPDX-License-Identifier: Apache-2.0
//
// A recorded job for the tests of arming: it does what the lines on its standard input say, answers each with
// one line, and knows what is truly live. Its allocator uses addresses again, and reports under its lock, as
// PyTorch's does; with `churn` threads allocate and release as fast as they can, with `stroll` at leisure.
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <map>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "program_fakes.h"

namespace {

constexpr size_t kGranule = 512;

class Allocator {
  public:
    void* allocate(size_t size) {
        std::lock_guard guard(lock_);
        std::vector<uint64_t>& free = free_[size];
        uint64_t address = next_;
        if (free.empty()) {
            next_ += size;
        } else {
            address = free.back();
            free.pop_back();
        }
        live_[address] = size;
        allocated_ += size;
        report(address, static_cast<int64_t>(size));
        return reinterpret_cast<void*>(address);
    }
    void release(void* block) {
        std::lock_guard guard(lock_);
        auto it = live_.find(reinterpret_cast<uint64_t>(block));
        if (it == live_.end()) return;
        auto [address, size] = *it;
        live_.erase(it);
        allocated_ -= size;
        report(address, -static_cast<int64_t>(size));
        free_[size].push_back(address);
    }
    void fail(size_t size) {
        std::lock_guard guard(lock_);
        fake_segment_refused(size);
        fake_report_out_of_memory(static_cast<int64_t>(size), allocated_, allocated_, 0);
    }
    // "address:size ..." by address
    std::string live() {
        std::lock_guard guard(lock_);
        std::ostringstream text;
        for (auto [address, size] : live_) {
            text << address << ':' << size << ' ';
        }
        return text.str();
    }

  private:
    void report(uint64_t address, int64_t size) {
        fake_report(reinterpret_cast<void*>(address), size, allocated_, allocated_, 0);
    }

    std::mutex lock_;
    uint64_t next_ = uint64_t{1} << 40;
    size_t allocated_ = 0;
    std::map<uint64_t, size_t> live_;
    std::map<size_t, std::vector<uint64_t>> free_;
};

Allocator g_allocator;
std::atomic<bool> g_churning{false};
std::vector<std::thread> g_threads;

// Each thread holds up to 64 blocks, and now and then another library's allocation.
void churn(unsigned seed, bool in_haste) {
    std::vector<void*> held(64);
    unsigned long count = 0;
    while (g_churning.load(std::memory_order_relaxed)) {
        seed = seed * 1103515245 + 12345;
        void*& place = held[(seed >> 16) % held.size()];
        if (place != nullptr) g_allocator.release(place);
        place = g_allocator.allocate(kGranule * (1 + (seed >> 8) % 16));
        if (++count % 64 == 0) {
            void* foreign = nullptr;
            cudaMalloc(&foreign, kGranule);
            cudaFree(foreign);
        }
        if (!in_haste && count % 16 == 0) std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
}

void start_driver() {
    void* library = dlopen(std::getenv("FAKE_CUDA"), RTLD_NOW | RTLD_LOCAL);
    reinterpret_cast<int (*)(unsigned)>(dlsym(library, "cuInit"))(0);
}

void stop_churning() {
    g_churning.store(false);
    for (std::thread& thread : g_threads) {
        thread.join();
    }
    g_threads.clear();
}

std::string fork_child(long size) {
    pid_t child = fork();
    if (child == 0) {
        if (size != 0) g_allocator.allocate(static_cast<size_t>(size));
        exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return std::to_string(status);
}

std::string run(const std::string& command, long number) {
    if (command == "driver") {
        start_driver();
    } else if (command == "allocate") {
        return std::to_string(reinterpret_cast<uint64_t>(g_allocator.allocate(static_cast<size_t>(number))));
    } else if (command == "release") {
        g_allocator.release(reinterpret_cast<void*>(number));
    } else if (command == "fail") {
        g_allocator.fail(static_cast<size_t>(number));
    } else if (command == "pairs") {
        for (long i = 0; i < number; ++i) {
            g_allocator.release(g_allocator.allocate(kGranule));
        }
    } else if (command == "churn" || command == "stroll") {
        g_churning.store(true);
        for (long i = 0; i < number; ++i) {
            g_threads.emplace_back(churn, static_cast<unsigned>(i + 1), command == "churn");
        }
    } else if (command == "calm") {
        stop_churning();
    } else if (command == "live") {
        return g_allocator.live();
    } else if (command == "fork") {
        return fork_child(number);
    } else if (command == "step") {
        using Step = void(const char*, size_t, uint32_t);
        if (auto* step = reinterpret_cast<Step*>(dlsym(RTLD_DEFAULT, "memsnap1_step"))) step("step", 4, 0);
    } else if (command == "exit") {
        exit(static_cast<int>(number));
    } else if (command == "_exit") {
        _exit(static_cast<int>(number));
    } else {
        return "unknown";
    }
    return "ok";
}

}  // namespace

int main() {
    std::string line;
    while (std::getline(std::cin, line)) {
        std::istringstream words(line);
        std::string command;
        long number = 0;
        words >> command >> number;
        std::printf("%s\n", run(command, number).c_str());
        std::fflush(stdout);
    }
    stop_churning();
    return 0;
}
