// SPDX-License-Identifier: Apache-2.0
//
// The phrases at which a message about memory may stand. The rule: all are looked for at once, in one step a
// letter, so a log is read in time linear in its length.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace memsnap {

enum class LogPhrase : uint8_t {
    none,
    tried_to_allocate,
    out_of_memory,       // in words, or in the name of an error
    out_of_memory_code,  // with underscores
    resource_exhausted,
    failed_to_allocate,
    memory_allocation_code,
    library_status,
    allocation_on_device,
    refused_call,
    nvml_assert,
    pool_exceeded,
    store_failed,
    free_on_device,
    memory_profiling,
    tensor_too_large,
    nccl_calloc,
    nvshmem,
    cuda_oom,
    host_memory,
    host_oom_kill,
    summary,
    statistics,
};

class PhraseFinder {
  public:
    PhraseFinder();

    using State = uint16_t;
    State step(State state, char letter) const {
        return steps_[size_t{state} * kClassCount + classes_[static_cast<unsigned char>(letter)]];
    }
    LogPhrase phrase(State state) const { return phrases_[state]; }
    // Of the phrase that ends in this state.
    size_t length(State state) const { return lengths_[state]; }

  private:
    static constexpr size_t kClassCount = 48;

    std::array<uint8_t, 256> classes_ = {};
    std::vector<State> steps_;
    std::vector<LogPhrase> phrases_;
    std::vector<uint8_t> lengths_;
};

}  // namespace memsnap
