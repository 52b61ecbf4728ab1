// SPDX-License-Identifier: Apache-2.0
//
// What one message about memory says. The rule: a number is what the printed one can have been rounded from;
// one that is not printed is unknown.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "measure.h"
#include "triage_text.h"

namespace memsnap {

// The formats of docs/triage.md.
// clang-format off
#define MEMSNAP_TRIAGE_FORMATS(X)                                                                  \
    X(F0) X(F1) X(F2) X(F3) X(F4) X(F5) X(F5b) X(F6) X(F6b) X(F7) X(F7b) X(F8) X(F9) X(F10)        \
    X(F11) X(F12) X(F13) X(F14) X(F15) X(NCCL) X(NVSHMEM) X(RMM) X(Spark) X(memory_summary)        \
    X(memory_stats)
#define MEMSNAP_TRIAGE_BACKENDS(X) X(unknown) X(cuda) X(hip) X(xpu) X(npu) X(mps) X(xla) X(tensorflow) X(rmm)
#define MEMSNAP_UNRECOGNISED(X)                                                                    \
    X(out_of_memory) X(resource_exhausted) X(failed_to_allocate) X(library_status) X(host_memory) X(host_oom_kill)
// clang-format on

#define MEMSNAP_ENUMERATOR(name) name,
enum class TriageFormat : uint8_t {
    MEMSNAP_TRIAGE_FORMATS(MEMSNAP_ENUMERATOR)
};
enum class TriageBackend : uint8_t {
    MEMSNAP_TRIAGE_BACKENDS(MEMSNAP_ENUMERATOR)
};
// What smells of memory and is no format; the last two are not of a device.
enum class Unrecognised : uint8_t {
    MEMSNAP_UNRECOGNISED(MEMSNAP_ENUMERATOR)
};
#undef MEMSNAP_ENUMERATOR

std::string_view name(TriageFormat format);
std::string_view name(TriageBackend backend);
std::string_view name(Unrecognised kind);

struct LogPlace {
    uint64_t offset_bytes = 0;
    uint64_t line = 0;
    LogLabel label;
};

struct LogMessage {
    TriageFormat format = TriageFormat::F0;
    TriageBackend backend = TriageBackend::unknown;
    LogPlace place;
    std::optional<int> device;
    Measure asked;  // for PyTorch's the segment
    Measure total;
    Measure device_free;
    Measure allocated;  // as printed
    Measure cached;     // F1
    Measure reserved;
    Measure unallocated;  // reserved and not allocated
    Measure private_pools;
    Measure active;  // NPU
    Measure allowed;
    Measure own_process;
    Measure others;                  // MPS: other allocations
    std::vector<Measure> processes;  // of the lines that name one
    bool own_named = false;          // the own process is told apart
    bool cap_untold = false;         // this version does not print a limit that is set
    bool complete = false;           // up to the last number
    std::string quote;
    uint64_t seen_count = 1;
    uint64_t fingerprint = 0;  // of its numbers

    bool same_numbers(const LogMessage& other) const;
    uint64_t numbers_fingerprint() const;
};

// torch.cuda.memory_summary() or memory_stats(), or a part of it.
struct LogStatistics {
    bool table = false;  // memory_summary
    LogPlace place;
    std::optional<int> device;
    Measure allocated;
    Measure active;
    Measure requested;
    Measure reserved;
    Measure inactive;
    std::optional<uint64_t> failure_count;
    std::optional<uint64_t> retry_count;
};

// PyTorch's warning that the driver refused; it goes on.
struct LogRefusal {
    LogPlace place;
    std::optional<int> device;
    Measure asked;
    Measure device_free;
    Measure total;
    bool expandable = false;
    bool taken = false;  // by the message that followed
};

// memsnap's own word that it recorded the error that the log tells of.
struct LogRecording {
    LogPlace place;
};

struct LogUnrecognised {
    Unrecognised kind = Unrecognised::out_of_memory;
    LogPlace place;
    std::string quote;
    uint64_t seen_count = 1;
    uint64_t fingerprint = 0;  // of the quote
};

}  // namespace memsnap
