// SPDX-License-Identifier: Apache-2.0
//
// Grammars, in the order of the versions that print them.
#include "triage_torch.h"

#include "policy.h"

namespace memsnap {
namespace {

// A size and the words behind it.
bool labelled(LogCursor& cursor, Measure& size, std::string_view words) {
    LogCursor ahead = cursor;
    const auto read = ahead.size();
    if (!read || !ahead.take(words)) return false;
    size = *read;
    cursor = ahead;
    return true;
}

// The words and the size behind them.
bool announced(LogCursor& cursor, std::string_view words, Measure& size) {
    LogCursor ahead = cursor;
    if (!ahead.take(words)) return false;
    const auto read = ahead.size();
    if (!read) return false;
    size = *read;
    cursor = ahead;
    return true;
}

// (GPU 0; 10.91 GiB total capacity; 5.68 GiB already allocated; ...)
void read_in_brackets(LogCursor& cursor, LogMessage& message) {
    message.device = cursor.device();
    if (!cursor.take(";")) return;
    if (!labelled(cursor, message.total, "totalcapacity;")) return;
    if (!labelled(cursor, message.allocated, "alreadyallocated;")) return;
    labelled(cursor, message.active, "currentactive;");
    if (!labelled(cursor, message.device_free, "free;")) return;
    labelled(cursor, message.allowed, "allowed;");
    if (labelled(cursor, message.cached, "cached")) {
        message.format = TriageFormat::F1;
        message.complete = true;
    } else if (labelled(cursor, message.reserved, "reservedintotalbypytorch")) {
        message.complete = true;
    } else {
        return;
    }
    cursor.take(")");
    cursor.take(".");
    LogCursor hint = cursor;
    if (hint.take("ifreservedmemoryis") && message.format != TriageFormat::F1) {
        message.format = TriageFormat::F3;
        cursor = hint;
    }
}

bool read_process(LogCursor& cursor, LogMessage& message) {
    LogCursor ahead = cursor;
    Measure bytes;
    if (ahead.take("includingnon-pytorchmemory,thisprocesshas") && labelled(ahead, bytes, "memoryinuse.")) {
        message.own_process = bytes;
        message.own_named = true;
    } else {
        ahead = cursor;
        if (!ahead.take("process") || !ahead.integer() || !ahead.take("has") ||
            !labelled(ahead, bytes, "memoryinuse.")) {
            return false;
        }
        message.processes.push_back(bytes);
    }
    cursor = ahead;
    return true;
}

// What the message advises tells its version.
void read_hint(LogCursor& cursor, LogMessage& message) {
    if (!cursor.take("ifreservedbutunallocatedmemoryislargetrysetting")) return;
    if (cursor.take("pytorch_alloc_conf")) message.format = TriageFormat::F6b;
}

void read_sentences(LogCursor& cursor, LogMessage& message) {
    constexpr size_t kProcesses_most = 4096;
    message.device = cursor.device();
    if (!cursor.take("hasatotal") && !cursor.take("hastotal")) return;
    const bool typo = cursor.take("capactyof");
    if (!typo) cursor.take("capacityof");
    message.format = typo ? TriageFormat::F4 : TriageFormat::F5;
    // 2.1 and 2.2 set a limit in silence; 2.2 prints the device as a control character.
    message.cap_untold = typo || !message.device;
    const auto total = cursor.size();
    if (!total) return;
    message.total = *total;
    if (cursor.take("ofwhich") && !labelled(cursor, message.device_free, "isfree")) return;
    cursor.take(".");
    while (message.processes.size() < kProcesses_most && read_process(cursor, message))
        continue;
    labelled(cursor, message.allowed, "allowed;");
    if (!announced(cursor, "oftheallocatedmemory", message.allocated)) return;
    if (!cursor.take("isallocatedbypytorch,")) return;
    if (announced(cursor, "with", message.private_pools)) {
        if (!cursor.take("allocatedinprivatepools")) return;
        if (cursor.take("(e.g.,")) {
            if (!cursor.take("cudagraphs)")) cursor.take("hipgraphs)");
            cursor.take(",");
        }
        message.format = TriageFormat::F6;
    }
    if (!announced(cursor, "and", message.unallocated)) return;
    message.complete = cursor.take("isreservedbypytorchbutunallocated");
    cursor.take(".");
    if (message.format == TriageFormat::F5 && message.processes.empty() && !message.own_named)
        message.format = TriageFormat::F5b;
    read_hint(cursor, message);
}

}  // namespace

std::optional<LogMessage> torch_message(LogCursor& cursor) {
    LogMessage message;
    message.backend = TriageBackend::cuda;
    if (cursor.take("morethan1ebmemory")) {
        message.format = TriageFormat::F8;
        message.asked = Measure::between(policy::kCorruptRequest_bytes, UINT64_MAX);
        message.complete = true;
        return message;
    }
    const auto asked = cursor.size();
    if (!asked) return std::nullopt;
    message.asked = *asked;
    message.format = TriageFormat::F5;
    LogCursor ahead = cursor;
    ahead.take(".");
    if (ahead.take("(gpu") || ahead.take("(npu")) {
        message.format = TriageFormat::F2;
        read_in_brackets(ahead, message);
    } else if (ahead.take("gpu") || ahead.take("npu")) {
        read_sentences(ahead, message);
    } else {
        message.cap_untold = true;
        return message;
    }
    cursor = ahead;
    return message;
}

std::optional<LogMessage> mps_message(LogCursor& cursor) {
    LogMessage message;
    message.format = TriageFormat::F10;
    message.backend = TriageBackend::mps;
    if (!announced(cursor, "(mpsallocated:", message.allocated)) return message;
    cursor.take(",");
    if (!announced(cursor, "otherallocations:", message.others)) return message;
    cursor.take(",");
    if (!announced(cursor, "maxallowed:", message.allowed)) return message;
    cursor.take(").");
    message.complete = announced(cursor, "triedtoallocate", message.asked);
    return message;
}

std::optional<LogMessage> async_message(LogCursor& cursor) {
    LogMessage message;
    message.format = TriageFormat::F7b;
    message.backend = TriageBackend::cuda;
    message.device = cursor.device();
    if (!cursor.take("wouldexceedallowedmemory.")) return message;
    message.format = TriageFormat::F7;
    cursor.take("(outofmemory)");
    if (!announced(cursor, "currentlyallocated:", message.allocated)) return message;
    if (!announced(cursor, "requested:", message.asked)) return message;
    if (!announced(cursor, "devicelimit:", message.total)) return message;
    if (!announced(cursor, "free(accordingtocuda):", message.device_free)) return message;
    message.complete = announced(cursor, "pytorchlimit(setbyuser-suppliedmemoryfraction):", message.allowed);
    return message;
}

LogMessage rejected_message(LogCursor& cursor) {
    LogMessage message;
    message.format = TriageFormat::F15;
    message.backend = TriageBackend::cuda;
    cursor.take("becauseitwouldexceedper_process_memory_fractionlimit.");
    message.complete = announced(cursor, "requestedsize:", message.asked);
    return message;
}

// ... on device 0 while trying to allocate 314572800 bytes (free: 264241152, total: 8589934592).
std::optional<LogRefusal> refusal(LogCursor& cursor) {
    LogRefusal refused;
    refused.device = cursor.device();
    refused.expandable = cursor.take("whiletryingtomap");
    if (!refused.expandable && !cursor.take("whiletryingtoallocate")) return std::nullopt;
    const auto asked = cursor.size();
    if (!asked || !cursor.take("(free:")) return std::nullopt;
    const auto free = cursor.integer();
    if (!free || !cursor.take(",total:")) return std::nullopt;
    const auto total = cursor.integer();
    if (!total) return std::nullopt;
    refused.asked = *asked;
    refused.device_free = Measure::observed(*free);
    refused.total = Measure::observed(*total);
    return refused;
}

}  // namespace memsnap
