// SPDX-License-Identifier: Apache-2.0
//
// The one next measurement: the texts, and which of them settles most.
#include <algorithm>

#include "triage.h"

namespace memsnap {
namespace {

using enum Hypothesis;

constexpr std::string_view kCheckSize =
    "the request's size is corrupt: print the shapes that it was computed from";
constexpr std::string_view kPrintTogether =
    "the numbers contradict each other: print torch.cuda.mem_get_info() and torch.cuda.memory_stats() where "
    "the error is caught";
constexpr std::string_view kPrintExact =
    "the printed numbers are too coarse: print torch.cuda.mem_get_info() and torch.cuda.memory_stats() where "
    "the error is caught";
constexpr std::string_view kWholeMessage =
    "the message is cut off: give the whole of it, up to \"reserved by PyTorch but unallocated\"";
constexpr std::string_view kPrintAll =
    "print torch.cuda.memory_summary() and torch.cuda.mem_get_info() where the error is caught";
constexpr std::string_view kAroundLibrary =
    "print torch.cuda.memory_summary() and torch.cuda.mem_get_info() right before the library's call";
constexpr std::string_view kPoolInUse =
    "log the pool's allocations (rmm.mr.LoggingResourceAdaptor): bytes in use at the failure";
constexpr std::string_view kArena = "give the allocator's own summary, which follows the message in its log";
constexpr std::string_view kAsyncReserved =
    "what the driver's pool holds is unknown: print torch.cuda.memory_reserved() where the error is caught";
constexpr std::string_view kPrintActive =
    "deferred frees cannot be told from fragmentation: print "
    "torch.cuda.memory_stats()['active_bytes.all.current'] where the error is caught";
constexpr std::string_view kPrintCap =
    "a limit cannot be told from a refusing driver: print torch.cuda.get_per_process_memory_fraction()";
constexpr std::string_view kListProcesses =
    "who holds the rest of the card is unknown: run nvidia-smi --query-compute-apps=pid,used_memory "
    "--format=csv at the failure";
constexpr std::string_view kPrintSteps =
    "growth is not excluded: print torch.cuda.memory_allocated() at the same point of six steps, or record "
    "the job with memsnap run";

bool is_missing(const TriagedIncident& one, Missing missing) {
    return std::ranges::find(one.missing, missing) != one.missing.end();
}

std::string_view for_numbers(const LogMessage& message) {
    switch (message.format) {
        case TriageFormat::NCCL:
        case TriageFormat::NVSHMEM:
        case TriageFormat::F13:
            return kAroundLibrary;
        case TriageFormat::RMM:
        case TriageFormat::Spark:
            return kPoolInUse;
        case TriageFormat::F11:
        case TriageFormat::F12:
            return kArena;
        case TriageFormat::F0:
        case TriageFormat::F7b:
        case TriageFormat::F8:
        case TriageFormat::F9:
        case TriageFormat::F14:
        case TriageFormat::F15:
        case TriageFormat::memory_summary:
        case TriageFormat::memory_stats:
            return kPrintAll;
        case TriageFormat::F1:
        case TriageFormat::F2:
        case TriageFormat::F3:
        case TriageFormat::F4:
        case TriageFormat::F5:
        case TriageFormat::F5b:
        case TriageFormat::F6:
        case TriageFormat::F6b:
        case TriageFormat::F7:
        case TriageFormat::F10:
            return message.complete ? kPrintAll : kWholeMessage;
    }
    return kPrintAll;
}

}  // namespace

std::string_view next_measurement(const TriagedIncident& one) {
    const Verdict& verdict = one.incident().verdict;
    if (verdict.qualifiers.has(Qualifier::corrupt_size)) return kCheckSize;
    if (verdict.qualifiers.has(Qualifier::inconsistent_numbers)) return kPrintTogether;
    if (!verdict.numbers) return for_numbers(one.message);
    if (is_missing(one, Missing::reserved)) return kAsyncReserved;
    if (is_missing(one, Missing::cap)) return kPrintCap;
    if (one.kind == "fragmentation_or_deferred_free") return kPrintActive;
    const bool coarse = one.kind == "undecidable" && !is_missing(one, Missing::other_processes);
    if (coarse) return kPrintExact;
    if (is_missing(one, Missing::other_processes)) return kListProcesses;
    if (is_missing(one, Missing::active)) return kPrintActive;
    if (is_missing(one, Missing::steps)) return kPrintSteps;
    return {};
}

}  // namespace memsnap
