// SPDX-License-Identifier: Apache-2.0
//
// The table row by row, the dictionary key by key.
#include "triage_statistics.h"

#include <utility>

namespace memsnap {
namespace {

constexpr size_t kTable_most = 3500;             // letters
constexpr uint64_t kDictionary_bytes = 1 << 16;  // from its first value to its last

bool quote(LogCursor& cursor) {
    return cursor.take("'") || cursor.take("\"");
}

// Between a key and its value, in JSON, in a dictionary and in a list of pairs.
bool before_value(LogCursor& cursor) {
    quote(cursor);
    return cursor.take(":") || cursor.take(",") || cursor.take("=");
}

bool current_of_all(LogCursor& cursor) {
    if (cursor.take(".all.current")) return before_value(cursor);
    if (!before_value(cursor) || !cursor.take("{") || !quote(cursor) || !cursor.take("all")) return false;
    if (!before_value(cursor) || !cursor.take("{") || !quote(cursor) || !cursor.take("current")) return false;
    return before_value(cursor);
}

using Field = std::pair<std::string_view, Measure LogStatistics::*>;

template <class T>
void fill(T& value, const T& more) {
    if (more != T{}) value = more;
}

}  // namespace

LogStatistics summary_statistics(LogCursor& cursor) {
    constexpr Field kRows[] = {{"|allocatedmemory|", &LogStatistics::allocated},
                               {"|activememory|", &LogStatistics::active},
                               {"|requestedmemory|", &LogStatistics::requested},
                               {"|gpureservedmemory|", &LogStatistics::reserved},
                               {"|non-releasablememory|", &LogStatistics::inactive}};
    LogStatistics statistics;
    statistics.table = true;
    cursor.take("id");
    statistics.device = cursor.device();
    LogCursor ahead = cursor;
    for (size_t length = 0; length < kTable_most && ahead.peek() != '\0'; ++length) {
        if (ahead.take("cudaooms:")) statistics.failure_count = ahead.integer();
        if (ahead.take("cudamallocretries:")) statistics.retry_count = ahead.integer();
        for (const auto& [row, field] : kRows) {
            if (!ahead.take(row)) continue;
            if (const auto size = ahead.cell()) statistics.*field = *size;
            cursor = ahead;
        }
        if (statistics.inactive.known() || ahead.take("memorysummary,device")) break;
        ahead.next();
    }
    return statistics;
}

std::optional<LogStatistics> one_statistic(LogCursor& cursor) {
    constexpr Field kKeys[] = {{"active_bytes", &LogStatistics::active},
                               {"allocated_bytes", &LogStatistics::allocated},
                               {"reserved_bytes", &LogStatistics::reserved},
                               {"requested_bytes", &LogStatistics::requested},
                               {"inactive_split_bytes", &LogStatistics::inactive}};
    LogStatistics statistics;
    for (const auto& [key, field] : kKeys) {
        if (!cursor.take(key)) continue;
        if (!current_of_all(cursor)) return std::nullopt;
        const auto value = cursor.integer();
        if (!value) return std::nullopt;
        statistics.*field = Measure::observed(*value);
        return statistics;
    }
    const bool failures = cursor.take("num_ooms");
    if (!failures && !cursor.take("num_alloc_retries")) return std::nullopt;
    if (!before_value(cursor)) return std::nullopt;
    (failures ? statistics.failure_count : statistics.retry_count) = cursor.integer();
    return statistics.failure_count || statistics.retry_count ? std::optional(statistics) : std::nullopt;
}

bool continues(const LogStatistics& so_far, const LogStatistics& more) {
    const auto free = [](const auto& value, const auto& added) {
        return added == decltype(added){} || value == decltype(value){};
    };
    return !so_far.table && so_far.place.label == more.place.label &&
           more.place.offset_bytes - so_far.place.offset_bytes < kDictionary_bytes &&
           free(so_far.allocated, more.allocated) && free(so_far.active, more.active) &&
           free(so_far.requested, more.requested) && free(so_far.reserved, more.reserved) &&
           free(so_far.inactive, more.inactive) && free(so_far.failure_count, more.failure_count) &&
           free(so_far.retry_count, more.retry_count);
}

void join(LogStatistics& so_far, const LogStatistics& more) {
    fill(so_far.allocated, more.allocated);
    fill(so_far.active, more.active);
    fill(so_far.requested, more.requested);
    fill(so_far.reserved, more.reserved);
    fill(so_far.inactive, more.inactive);
    fill(so_far.failure_count, more.failure_count);
    fill(so_far.retry_count, more.retry_count);
}

}  // namespace memsnap
