// SPDX-License-Identifier: Apache-2.0
//
// A recorded program that does what its arguments say, one command each, in order: it allocates as PyTorch's
// allocator does, and tells of phases through the plain C functions and through NVTX. "@2 alloc 512" runs on
// thread 2, which lives as long as the program; the next command waits for it.
#include <dlfcn.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "marks_nvtx.h"
#include "program_fakes.h"

namespace {

using Words = std::vector<std::string>;

template <typename Signature>
Signature* recorder_function(const char* name) {
    return reinterpret_cast<Signature*>(dlsym(RTLD_DEFAULT, name));
}

struct Block {
    uint64_t address = 0;
    size_t size = 0;
    int device = 0;
};

struct Device {
    size_t allocated = 0;
    uint64_t next = 0;
};

std::array<Device, 4> g_devices;
std::vector<Block> g_blocks;
std::vector<uint64_t> g_ranges;

long number(const Words& words, size_t i, long fallback = 0) {
    return i < words.size() ? std::atol(words[i].c_str()) : fallback;
}
std::string text(const Words& words, size_t i) {
    return i < words.size() ? words[i] : "";
}

void report(const Block& block, bool born) {
    Device& device = g_devices[static_cast<size_t>(block.device)];
    auto size = static_cast<int64_t>(block.size);
    device.allocated += born ? block.size : -block.size;
    fake_report(reinterpret_cast<void*>(block.address), born ? size : -size, device.allocated, 64 << 20,
                block.device);
}

void allocate(const Words& words) {
    Block block;
    block.size = static_cast<size_t>(number(words, 1, 512));
    block.device = static_cast<int>(number(words, 2));
    Device& device = g_devices[static_cast<size_t>(block.device)];
    block.address = (uint64_t{1} << 40) * static_cast<uint64_t>(block.device + 1) + device.next;
    device.next += block.size;
    g_blocks.push_back(block);
    report(block, true);
}

void release(const Words& words) {
    report(g_blocks[static_cast<size_t>(number(words, 1))], false);
}

void churn(const Words& words) {
    for (long i = 0; i < number(words, 1); ++i) {
        allocate({"alloc", "512"});
        report(g_blocks.back(), false);
        g_blocks.pop_back();
    }
}

void observe(const Words&) {
    size_t free_bytes = 0;
    size_t total_bytes = 0;
    fake_mem_get_info(&free_bytes, &total_bytes);
}

void begin(const Words& words) {
    auto* call = recorder_function<uint64_t(uint32_t, const char*, size_t, uint64_t)>("memsnap1_begin");
    std::string name = text(words, 2);
    g_ranges.push_back(call(static_cast<uint32_t>(number(words, 1)), name.c_str(), name.size(),
                            static_cast<uint64_t>(number(words, 3))));
}

void end(const Words& words) {
    long which = number(words, 1, -1);
    auto* call = recorder_function<void(uint64_t)>("memsnap1_end");
    call(which < 0 ? g_ranges.back() : g_ranges[static_cast<size_t>(which)]);
    if (which < 0) g_ranges.pop_back();
}

void step(const Words& words) {
    std::string name = text(words, 1);
    recorder_function<void(const char*, size_t, uint32_t)>("memsnap1_step")(
        name.c_str(), name.size(), static_cast<uint32_t>(number(words, 2)));
}

void mark(const Words& words) {
    recorder_function<void(const char*, size_t)>("memsnap1_mark")(words[1].c_str(), words[1].size());
}

void note(const Words& words) {
    recorder_function<void(const char*, size_t, int64_t)>("memsnap1_note")(words[1].c_str(), words[1].size(),
                                                                           number(words, 2));
}

void category(const Words& words) {
    const Block& block = g_blocks[static_cast<size_t>(number(words, 1))];
    recorder_function<void(int32_t, uint64_t, uint64_t, uint32_t)>("memsnap1_category")(
        block.device, block.address, block.size, static_cast<uint32_t>(number(words, 2)));
}

void cap(const Words& words) {
    recorder_function<void(int32_t, uint64_t, uint32_t)>("memsnap1_cap")(
        static_cast<int32_t>(number(words, 1)), static_cast<uint64_t>(number(words, 2)),
        static_cast<uint32_t>(number(words, 3)));
}

void start_driver(const Words&) {
    void* driver = dlopen(std::getenv("FAKE_CUDA"), RTLD_NOW | RTLD_LOCAL);
    reinterpret_cast<int (*)(unsigned)>(dlsym(driver, "cuInit"))(0);
}

// A step for each line, until the end of the input.
void step_by_lines(const Words&) {
    for (int c = std::getchar(); c != EOF; c = std::getchar()) {
        if (c == '\n') step({"step"});
    }
}

void print_variable(const Words& words) {
    const char* value = std::getenv(words[1].c_str());
    std::printf("%s\n", value == nullptr ? "unset" : value);
}

// The steps of many threads at once: ranges of all kinds around allocations.
void race(const Words& words) {
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&words] {
            for (long i = 0; i < number(words, 1); ++i) {
                auto* open =
                    recorder_function<uint64_t(uint32_t, const char*, size_t, uint64_t)>("memsnap1_begin");
                std::string name = "phase" + std::to_string(i % 40);
                uint64_t outer = open(3, name.c_str(), name.size(), 0);
                uint64_t inner = open(2, "optimizer", 9, 0);
                note({"note", "batch", std::to_string(i % 3)});
                marks_nvtx({"start", "crossing"});
                auto* close = recorder_function<void(uint64_t)>("memsnap1_end");
                close(outer);
                close(inner);
                marks_nvtx({"stop"});
                if (i % 4 == 0) step({"step"});
            }
        });
    }
    for (int t = 0; t < 2; ++t) {
        threads.emplace_back([&words, t] {
            Block block{uint64_t{1} << (50 + t), 512, 2 + t};
            for (long i = 0; i < number(words, 1); ++i) {
                report(block, true);
                report(block, false);
            }
        });
    }
    for (auto& thread : threads) {
        thread.join();
    }
}

// Ends with the process.
class Worker {
  public:
    void run(const std::function<void()>& work) {
        std::unique_lock lock(mutex_);
        if (!started_) std::thread([this] { serve(); }).detach();
        started_ = true;
        work_ = &work;
        changed_.notify_all();
        changed_.wait(lock, [this] { return work_ == nullptr; });
    }

  private:
    void serve() {
        std::unique_lock lock(mutex_);
        for (;;) {
            changed_.wait(lock, [this] { return work_ != nullptr; });
            (*work_)();
            work_ = nullptr;
            changed_.notify_all();
        }
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    const std::function<void()>* work_ = nullptr;
    bool started_ = false;
};

// Never destroyed: their threads still use them at exit.
auto& g_workers = *new std::map<std::string, Worker>;

void run(const Words& words) {
    static const std::map<std::string, void (*)(const Words&)> kCommands = {
        {"alloc", allocate},
        {"free", release},
        {"churn", churn},
        {"observe", observe},
        {"begin", begin},
        {"end", end},
        {"step", step},
        {"mark", mark},
        {"note", note},
        {"category", category},
        {"cap", cap},
        {"cuInit", start_driver},
        {"step_by_lines", step_by_lines},
        {"print", print_variable},
        {"race", race},
        {"stop_here", [](const Words&) { raise(SIGSTOP); }},
        {"kill", [](const Words&) { kill(getpid(), SIGKILL); }},
        {"exit", [](const Words&) { std::exit(1); }},
    };
    auto found = kCommands.find(words[0]);
    if (found != kCommands.end()) return found->second(words);
    if (marks_nvtx(words)) return;
    std::fprintf(stderr, "unknown command: %s\n", words[0].c_str());
    std::_Exit(2);
}

Words split(const char* command) {
    std::istringstream stream(command);
    Words words;
    for (std::string word; stream >> word;) {
        words.push_back(word);
    }
    return words;
}

// Arguments from `i` on, up to `end`. "5 x ..." runs a command so many times; "fork" gives the commands up to
// "join" to a child.
int run_all(char** arguments, int i, int end) {
    for (; i < end; ++i) {
        Words words = split(arguments[i]);
        if (words[0] == "fork") {
            pid_t child = fork();
            if (child != 0) waitpid(child, nullptr, 0);
            while (child != 0 && std::string(arguments[i]) != "join") {
                ++i;
            }
            continue;
        }
        if (words[0] == "join") std::exit(0);
        std::string thread = words[0][0] == '@' ? words[0] : "";
        if (!thread.empty()) words.erase(words.begin());
        long times = 1;
        if (words.size() > 2 && words[1] == "x") {
            times = number(words, 0);
            words.erase(words.begin(), words.begin() + 2);
        }
        std::function<void()> work = [&words, times] {
            for (long n = 0; n < times; ++n) {
                run(words);
            }
        };
        if (thread.empty()) {
            work();
            continue;
        }
        g_workers[thread].run(work);
    }
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    int result = run_all(argv, 1, argc);
    std::fflush(stdout);
    std::exit(result);
}
