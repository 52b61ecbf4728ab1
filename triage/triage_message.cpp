// SPDX-License-Identifier: Apache-2.0
//
// Names, and when two messages are one that was printed twice.
#include "triage_message.h"

namespace memsnap {

#define MEMSNAP_CASE(word) \
    case Word::word:       \
        return #word;
std::string_view name(TriageFormat format) {
    using Word = TriageFormat;
    switch (format) { MEMSNAP_TRIAGE_FORMATS(MEMSNAP_CASE) }
    return "";
}

std::string_view name(TriageBackend backend) {
    using Word = TriageBackend;
    switch (backend) { MEMSNAP_TRIAGE_BACKENDS(MEMSNAP_CASE) }
    return "";
}

std::string_view name(Unrecognised kind) {
    using Word = Unrecognised;
    switch (kind) { MEMSNAP_UNRECOGNISED(MEMSNAP_CASE) }
    return "";
}
#undef MEMSNAP_CASE

// The hint at its end may be cut off in one of them, and with it the format that only the hint tells.
bool LogMessage::same_numbers(const LogMessage& other) const {
    return backend == other.backend && device == other.device && asked == other.asked &&
           total == other.total && device_free == other.device_free && allocated == other.allocated &&
           cached == other.cached && reserved == other.reserved && unallocated == other.unallocated &&
           private_pools == other.private_pools && active == other.active && allowed == other.allowed &&
           own_process == other.own_process && others == other.others && processes == other.processes;
}

uint64_t LogMessage::numbers_fingerprint() const {
    uint64_t mixed = 0xcbf29ce484222325;
    const auto mix = [&](uint64_t value) { mixed = (mixed ^ value) * 0x9e3779b97f4a7c15 + (mixed >> 29); };
    mix(static_cast<uint64_t>(backend) << 32 | static_cast<uint64_t>(device.value_or(-1) + 1));
    const auto mix_measure = [&](const Measure& measure) {
        mix(measure.low);
        mix(measure.high);
    };
    for (const Measure* one : {&asked, &total, &device_free, &allocated, &cached, &reserved, &unallocated,
                               &private_pools, &active, &allowed, &own_process, &others}) {
        mix_measure(*one);
    }
    for (const Measure& one : processes)
        mix_measure(one);
    return mixed;
}

}  // namespace memsnap
