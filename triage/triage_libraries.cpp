// SPDX-License-Identifier: Apache-2.0
//
// Grammars by library.
#include "triage_libraries.h"

namespace memsnap {
namespace {

// The exact number in brackets that a rounded one has behind it.
void refine(LogCursor& cursor, std::string_view before, Measure& size) {
    LogCursor ahead = cursor;
    if (!ahead.take(before)) return;
    LogCursor with_unit = ahead;
    if (const auto exact = with_unit.size(); exact && exact->exact()) {
        size = *exact;
        cursor = with_unit;
    } else if (const auto plain = ahead.integer()) {
        size = Measure::observed(*plain);
        cursor = ahead;
    } else {
        return;
    }
    cursor.take(")");
}

}  // namespace

// cuda:0 (19.77/22.05 GiB) on startup is less than desired GPU memory utilization (0.9, 19.84 GiB)
std::optional<LogMessage> startup_message(LogCursor& cursor) {
    LogMessage message;
    message.format = TriageFormat::F14;
    message.backend = TriageBackend::cuda;
    if (cursor.take("cuda:")) message.device = cursor.device();
    if (!cursor.take("(")) return std::nullopt;
    // The unit stands behind the second number only.
    LogCursor number = cursor;
    std::string digits;
    for (; number.peek() != '/' && digits.size() < 16; number.next()) {
        const char letter = number.peek();
        if ((letter < '0' || letter > '9') && letter != '.') return std::nullopt;
        digits.push_back(letter);
    }
    if (!number.take("/")) return std::nullopt;
    const auto total = number.size();
    if (!total || !number.take(")onstartupislessthandesiredgpumemoryutilization(")) return std::nullopt;
    TightText alone;
    alone.begin_run(1, {});
    for (const char letter : digits + "GiB")
        alone.add(letter, 0, false);
    const auto free = LogCursor(alone, 0).size();
    while (number.peek() != ',' && number.peek() != '\0' && number.peek() != ')')
        number.next();
    if (!free || !number.take(",")) return std::nullopt;
    const auto wanted = number.size();
    if (!wanted) return std::nullopt;
    message.total = *total;
    message.device_free = *free;
    message.asked = *wanted;
    message.complete = true;
    cursor = number;
    return message;
}

LogMessage profiling_message(LogCursor& cursor) {
    LogMessage message;
    message.format = TriageFormat::F13;
    message.backend = TriageBackend::cuda;
    cursor.take(".");
    if (!cursor.take("initialfreememory") || !cursor.size()) return message;
    cursor.take(",");
    if (!cursor.take("currentfreememory")) return message;
    if (const auto free = cursor.size()) message.device_free = *free;
    message.complete = message.device_free.known();
    return message;
}

// : Failed to allocate request for 6.27GiB (6727663616B) on device ordinal 0
// : Out of memory while trying to allocate 6727663616 bytes.
std::optional<LogMessage> xla_message(LogCursor& cursor) {
    LogMessage message;
    message.format = TriageFormat::F11;
    message.backend = TriageBackend::xla;
    cursor.take(":");
    const bool request = cursor.take("failedtoallocaterequestfor");
    if (!request && !cursor.take("outofmemorywhiletryingtoallocate") && !cursor.take("outofmemoryallocating"))
        return std::nullopt;
    if (const auto size = cursor.size()) {
        message.asked = *size;
        refine(cursor, "(", message.asked);
        message.complete = true;
    }
    if (cursor.take("ondeviceordinal")) message.device = cursor.device();
    return message;
}

// Allocator (GPU_6_bfc) ran out of memory trying to allocate 2.21GiB (rounded to 2368997376)
std::optional<LogMessage> bfc_message(const TightText& text, size_t begin, LogCursor& cursor) {
    if (!stands_before(text, begin, "_bfc)ran")) return std::nullopt;
    LogMessage message;
    message.format = TriageFormat::F12;
    message.backend = TriageBackend::tensorflow;
    // GPU_6_
    size_t digits = begin - std::string_view("_bfc)ran").size();
    while (digits > 0 && text.letters()[digits - 1] >= '0' && text.letters()[digits - 1] <= '9')
        --digits;
    message.device = LogCursor(text, digits).device();
    if (!cursor.take("tryingtoallocate")) return message;
    if (const auto size = cursor.size()) {
        message.asked = *size;
        refine(cursor, "(roundedto", message.asked);
        message.complete = true;
    }
    return message;
}

LogMessage tensor_message(LogCursor& cursor) {
    constexpr size_t kShape_most = 512;
    LogMessage message;
    message.format = TriageFormat::F12;
    message.backend = TriageBackend::tensorflow;
    LogCursor ahead = cursor;
    for (size_t length = 0; length < kShape_most && ahead.peek() != '\0'; ++length, ahead.next()) {
        if (!ahead.take("device:gpu:")) continue;
        message.device = ahead.device();
        ahead.take("byallocator");
        cursor = ahead;
        break;
    }
    return message;
}

// (failed to allocate 10.371208 GiB): Not enough room to grow, current/max/try size = a, b, c
LogMessage pool_message(LogCursor& cursor) {
    LogMessage message;
    message.format = TriageFormat::RMM;
    message.backend = TriageBackend::rmm;
    const auto bytes = [&](Measure& into) {
        if (const auto size = cursor.size()) {
            into = *size;
        } else if (const auto plain = cursor.integer()) {
            into = Measure::observed(*plain);
        } else {
            return false;
        }
        return true;
    };
    if (cursor.take("(failedtoallocate")) {
        bytes(message.asked);
        cursor.take(")");
    }
    cursor.take(":");
    if (!cursor.take("notenoughroomtogrow,current/max/trysize=")) return message;
    Measure tried;
    message.complete = bytes(message.reserved) && cursor.take(",") && bytes(message.allowed) &&
                       cursor.take(",") && bytes(tried);
    return message;
}

// 345571976 bytes failed, device store has 0 bytes. Total RMM allocated is 9319438848 bytes.
std::optional<LogMessage> store_message(LogCursor& cursor) {
    LogMessage message;
    message.format = TriageFormat::Spark;
    message.backend = TriageBackend::rmm;
    const auto asked = cursor.size();
    if (!asked || !cursor.take("failed")) return std::nullopt;
    message.asked = *asked;
    LogCursor ahead = cursor;
    if (ahead.take(",devicestorehas") && ahead.size() && ahead.take(".totalrmmallocatedis")) {
        if (const auto allocated = ahead.size()) {
            message.allocated = *allocated;
            message.complete = true;
            cursor = ahead;
        }
    }
    return message;
}

// Failed to CUDA calloc 1048576 bytes
std::optional<LogMessage> nccl_message(LogCursor& cursor) {
    LogMessage message;
    message.format = TriageFormat::NCCL;
    message.backend = TriageBackend::cuda;
    if (!cursor.take("calloc") && !cursor.take("malloc") && !cursor.take("hostalloc")) return std::nullopt;
    cursor.take("async");
    if (const auto size = cursor.size()) {
        message.asked = *size;
        message.complete = true;
    }
    return message;
}

}  // namespace memsnap
