// SPDX-License-Identifier: Apache-2.0
//
// Aho and Corasick's automaton, with every step filled in.
#include "triage_phrase.h"

#include <deque>

namespace memsnap {
namespace {

struct Phrase {
    std::string_view letters;  // lower case, without white space
    LogPhrase what;
};

constexpr Phrase kPhrases[] = {
    {"triedtoallocate", LogPhrase::tried_to_allocate},
    {"outofmemory", LogPhrase::out_of_memory},
    {"out_of_memory", LogPhrase::out_of_memory_code},
    {"out_of_device_memory", LogPhrase::out_of_memory_code},
    {"resource_exhausted", LogPhrase::resource_exhausted},
    {"resourceexhausted", LogPhrase::resource_exhausted},
    {"failedtoallocate", LogPhrase::failed_to_allocate},
    {"memoryallocationfailed", LogPhrase::failed_to_allocate},
    {"errormemoryallocation", LogPhrase::memory_allocation_code},
    {"_alloc_failed", LogPhrase::library_status},
    {"allocationondevice", LogPhrase::allocation_on_device},
    {"withoomondevice", LogPhrase::refused_call},
    {"nvml_success==r", LogPhrase::nvml_assert},
    {"maximumpoolsizeexceeded", LogPhrase::pool_exceeded},
    {"deviceallocationof", LogPhrase::store_failed},
    {"freememoryondevice", LogPhrase::free_on_device},
    {"errorinmemoryprofiling", LogPhrase::memory_profiling},
    {"oomwhenallocatingtensor", LogPhrase::tensor_too_large},
    {"failedtocuda", LogPhrase::nccl_calloc},
    {"deep_ep.cpp:", LogPhrase::nvshmem},
    {"nvshmem_malloc", LogPhrase::nvshmem},
    {"nvshmem_align", LogPhrase::nvshmem},
    {"cudaoom", LogPhrase::cuda_oom},
    {"cannotallocatememory", LogPhrase::host_memory},
    {"can'tallocatememory", LogPhrase::host_memory},
    {"unabletoallocate", LogPhrase::host_memory},
    {"memoryerror", LogPhrase::host_memory},
    {"std::bad_alloc", LogPhrase::host_memory},
    {"oom-kill", LogPhrase::host_oom_kill},
    {"oom_kill", LogPhrase::host_oom_kill},
    {"oomkill", LogPhrase::host_oom_kill},
    {"oom_reaper", LogPhrase::host_oom_kill},
    {"memorysummary,device", LogPhrase::summary},
    {"active_bytes", LogPhrase::statistics},
    {"allocated_bytes", LogPhrase::statistics},
    {"reserved_bytes", LogPhrase::statistics},
    {"requested_bytes", LogPhrase::statistics},
    {"inactive_split_bytes", LogPhrase::statistics},
    {"num_ooms", LogPhrase::statistics},
    {"num_alloc_retries", LogPhrase::statistics},
};

}  // namespace

PhraseFinder::PhraseFinder() {
    uint8_t class_count = 1;
    for (const Phrase& phrase : kPhrases) {
        for (const char letter : phrase.letters) {
            uint8_t& known = classes_[static_cast<unsigned char>(letter)];
            if (known == 0) known = class_count++;
        }
    }
    for (unsigned letter = 'A'; letter <= 'Z'; ++letter)
        classes_[letter] = classes_[letter - 'A' + 'a'];

    const auto add_state = [this] {
        steps_.resize(steps_.size() + kClassCount, 0);
        phrases_.push_back(LogPhrase::none);
        lengths_.push_back(0);
        return static_cast<State>(phrases_.size() - 1);
    };
    add_state();
    for (const Phrase& phrase : kPhrases) {
        State state = 0;
        for (const char letter : phrase.letters) {
            const size_t at = size_t{state} * kClassCount + classes_[static_cast<unsigned char>(letter)];
            if (steps_[at] == 0) {
                const State added = add_state();
                steps_[at] = added;
            }
            state = steps_[at];
        }
        phrases_[state] = phrase.what;
        lengths_[state] = static_cast<uint8_t>(phrase.letters.size());
    }

    // Breadth first: where no phrase goes on, the longest end that begins one does.
    std::vector<State> fallback(phrases_.size(), 0);
    std::deque<State> open;
    for (size_t one = 0; one < kClassCount; ++one) {
        if (steps_[one] != 0) open.push_back(steps_[one]);
    }
    for (; !open.empty(); open.pop_front()) {
        const State state = open.front();
        if (phrases_[state] == LogPhrase::none) {
            phrases_[state] = phrases_[fallback[state]];
            lengths_[state] = lengths_[fallback[state]];
        }
        for (size_t one = 0; one < kClassCount; ++one) {
            State& next = steps_[size_t{state} * kClassCount + one];
            const State other = steps_[size_t{fallback[state]} * kClassCount + one];
            if (next == 0) {
                next = other;
            } else {
                fallback[next] = other;
                open.push_back(next);
            }
        }
    }
}

}  // namespace memsnap
