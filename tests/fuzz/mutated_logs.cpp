// SPDX-License-Identifier: Apache-2.0
//
// Damaged logs: messages of every format, spliced, cut, repeated and with bytes put in. Whatever they are,
// the triage ends, says the same of the same bytes in pieces of any size, and keeps its own rules.
// `mutated_logs [rounds] [seed]`; a failure names its round.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "triage.h"
#include "triage_json.h"
#include "triage_screen.h"

namespace {

using namespace memsnap;

constexpr std::string_view kMessages[] = {
    "[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total "
    "capacity of "
    "80.00 GiB of which 512.00 MiB is free. Process 41 has 1.00 GiB memory in use. Including non-PyTorch "
    "memory, this "
    "process has 78.50 GiB memory in use. 79.00 GiB allowed; Of the allocated memory 60.00 GiB is allocated "
    "by PyTorch, "
    "with 1.00 GiB allocated in private pools (e.g., CUDA Graphs), and 18.00 GiB is reserved by PyTorch but "
    "unallocated. If reserved but unallocated memory is large try setting "
    "PYTORCH_ALLOC_CONF=expandable_segments:True\n",
    "CUDA out of memory. Tried to allocate 3.00 GiB (GPU 0; 24.00 GiB total capacity; 22.00 GiB already "
    "allocated; "
    "300.00 MiB free; 22.30 GiB reserved in total by PyTorch) If reserved memory is &gt;&gt; allocated "
    "memory\n",
    "Allocation on device 0 would exceed allowed memory. (out of memory)\nCurrently allocated     : 23.90 "
    "GiB\n"
    "Requested               : 2.00 GiB\nDevice limit            : 24.00 GiB\nFree (according to CUDA): 0 "
    "bytes\n"
    "PyTorch limit (set by user-supplied memory fraction)\n                        : 17179869184.00 GiB\n",
    "MPS backend out of memory (MPS allocated: 16.00 GiB, other allocations: 2.50 MiB, max allowed: 18.13 "
    "GiB). Tried "
    "to allocate 6.00 GiB on private pool.\n",
    "Free memory on device cuda:0 (8.00/140.00 GiB) on startup is less than desired GPU memory utilization "
    "(0.9, "
    "126.00 GiB)\n",
    "RESOURCE_EXHAUSTED: Failed to allocate request for 6.00GiB (6442450944B) on device ordinal 2\n",
    "Allocator (GPU_6_bfc) ran out of memory trying to allocate 2.00GiB (rounded to 2147483648)requested by "
    "op\n",
    "std::bad_alloc: out_of_memory: RMM failure at:a.hpp:1: Maximum pool size exceeded (failed to allocate "
    "10.000000 "
    "GiB): Not enough room to grow, current/max/try size = 1, 2, 3\n",
    "Device allocation of 345571976 bytes failed, device store has 0 bytes. Total RMM allocated is "
    "9319438848 bytes.\n",
    "[1,2]<stderr>: NCCL WARN Cuda failure 2 'out of memory'\n",
    "(Worker pid=12) CUDA error: out of memory\nCUBLAS_STATUS_ALLOC_FAILED\n",
    "|  PyTorch CUDA memory summary, device ID 0  |\n| CUDA OOMs: 1 | cudaMalloc retries: 2 |\n| Allocated "
    "memory | "
    "61440 MiB |\n| Active memory | 61440 MiB |\n| GPU reserved memory | 79872 MiB |\n| Non-releasable "
    "memory | 1 KiB |\n",
    "{\"active_bytes.all.current\": 64424509440, \"allocated_bytes.all.current\": 64424509440, "
    "\"reserved_bytes.all.current\": 83751862272, \"num_ooms\": 1}\n",
    "memory allocation failed with OOM on device 0 while trying to allocate 2147483648 bytes (free: "
    "536870912, total: "
    "85899345920).\n",
    "\x1b[31m\\u001b[0m\\\\n\\\"&amp;gt;<br/><span class=\"x\">\r\n  2026-01-02 03:04:05,678 - ERROR - ",
};

void require(bool holds, const char* what) {
    if (holds) return;
    std::fprintf(stderr, "mutated_logs: %s\n", what);
    std::abort();
}

class Mutator {
  public:
    explicit Mutator(uint64_t seed) : random_(seed) {}

    std::string make() {
        std::string log;
        if (below(16) == 0) log = "\xff\xfe";
        for (uint64_t count = 1 + below(8); count > 0; --count)
            log += kMessages[below(std::size(kMessages))];
        for (uint64_t count = below(12); count > 0 && !log.empty(); --count)
            damage(log);
        return log;
    }
    uint64_t below(uint64_t bound) { return bound == 0 ? 0 : random_() % bound; }

  private:
    void damage(std::string& log) {
        const size_t at = below(log.size());
        const size_t length = below(std::min<size_t>(log.size() - at, 64) + 1);
        switch (below(7)) {
            case 0:
                log[at] = static_cast<char>(below(256));
                break;
            case 1:
                log.erase(at, length);
                break;
            case 2:
                log.insert(at, log, below(log.size()), below(200));
                break;
            case 3:
                log.insert(at, kBetween[below(std::size(kBetween))]);
                break;
            case 4:
                log[at] = static_cast<char>('0' + below(10));
                break;
            case 5:
                log.insert(at, below(40), static_cast<char>('0' + below(10)));
                break;
            default:
                log.resize(at);
                break;
        }
    }

    static constexpr std::string_view kBetween[] = {
        "\n", "\r",        "\x1b[", "\x1b]", "\\n", "&gt;", "<br",
        "\0", "[rank1]: ", "\n3: ", "[3",    " ",   ".",    "99999999999999999999"};
    std::mt19937_64 random_;
};

std::string judged(std::string_view log, Mutator& mutator, bool in_pieces) {
    LogScanner scanner;
    while (!log.empty()) {
        const size_t length = in_pieces ? std::min<size_t>(log.size(), 1 + mutator.below(300)) : log.size();
        scanner.feed(log.substr(0, length));
        log.remove_prefix(length);
    }
    const Triage result = triage(scanner.finish());
    for (const TriagedIncident& one : result.incidents) {
        require(one.incident().verdict.primary() != Hypothesis::retention, "retention from text");
        require(one.kind != "undecidable" || !one.incident().verdict.primary(),
                "a class against its verdict");
        require(!one.next.empty() || one.incident().verdict.exit_status() == 10,
                "open, and nothing to measure");
    }
    const std::string screen = render_triage(result, "log", {.colour = false, .utf8 = false});
    for (const char letter : screen)
        require(letter == '\n' || (letter >= ' ' && letter <= '~'), "a screen that is no plain text");
    return triage_json(result);
}

}  // namespace

int main(int argc, char** argv) {
    const uint64_t rounds = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 3000;
    const uint64_t seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
    for (uint64_t round = 0; round < rounds; ++round) {
        Mutator mutator(seed + round);
        const std::string log = mutator.make();
        const std::string whole = judged(log, mutator, false);
        if (judged(log, mutator, true) != whole) {
            std::fprintf(stderr, "mutated_logs: round %llu: pieces change the result\n",
                         static_cast<unsigned long long>(round));
            return 1;
        }
    }
    std::printf("%llu logs\n", static_cast<unsigned long long>(rounds));
    return 0;
}
