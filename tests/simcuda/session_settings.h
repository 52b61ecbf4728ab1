// SPDX-License-Identifier: Apache-2.0
// What a session is started with, and the grammar of the texts that say it (tests/simcuda/README.md,
// "Knobs"). Rule: a text that does not parse is an error with a reason; nothing is guessed.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

namespace simcuda {

enum class Trigger : uint32_t {
    at_start,
    after_attempts,
    after_ms
};

// "from this instant, others hold `bytes` of the device"
struct ExternalStep {
    int32_t device = 0;
    Trigger trigger = Trigger::at_start;
    uint64_t trigger_value = 0;  // attempts or milliseconds
    uint64_t bytes = 0;
    uint32_t applied = 0;
};

// "refuse attempts number first..last that ask for at least min_bytes, whatever is free"
struct Refusal {
    int32_t device = 0;
    uint64_t first_attempt = 1;
    uint64_t last_attempt = UINT64_MAX;
    uint64_t min_bytes = 0;
};

struct SessionSettings {
    uint64_t total_bytes = uint64_t{8} << 30;
    uint64_t context_bytes = uint64_t{300} << 20;
    int device_count = 1;
    std::vector<ExternalStep> external;
    std::vector<Refusal> refusals;
};

template <typename T>
using Parsed = std::expected<T, std::string>;

Parsed<uint64_t> parse_bytes(std::string_view text);  // 512, 300MiB, 8GiB, 1.5GiB
Parsed<std::vector<ExternalStep>> parse_external(
    std::string_view text);                                          // 0:1GiB,0:3GiB@ms=500,1:2GiB@allocs=40
Parsed<std::vector<Refusal>> parse_refusals(std::string_view text);  // 0@allocs=57,0@allocs=90-,1@bytes=1GiB

}  // namespace simcuda
