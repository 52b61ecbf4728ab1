// SPDX-License-Identifier: Apache-2.0
//
// The description of docs/job.md, in its order; docs/job.schema.json is the same in JSON Schema.
#include <array>

#include "job_json.h"
#include "receipt_shape_parts.h"

namespace memsnap {
namespace {

using namespace shape;
using Type = ReceiptShape::Type;

// The names of an enumeration from its first to its last, as a list of words.
template <class Enumeration, Enumeration last>
Words names_up_to() {
    static const auto kNames = [] {
        std::array<std::string_view, static_cast<size_t>(last) + 1> names;
        for (size_t index = 0; index < names.size(); ++index)
            names[index] = name(static_cast<Enumeration>(index));
        return names;
    }();
    return kNames;
}

ReceiptShape one_of(Words words) {
    ReceiptShape shape = plain(Type::word);
    shape.words = words;
    return shape;
}

constexpr std::string_view kSchemas[] = {kJobSchema};

ReceiptShape levels(Members more) {
    const ReceiptShape bytes = or_null(number());
    return object(
        joined(each({"active_bytes", "reserved_bytes", "outside_bytes", "device_used_bytes"}, bytes),
               std::move(more)));
}

ReceiptShape process() {
    const ReceiptShape ordinal = between(1, UINT32_MAX);
    const ReceiptShape verdict = object({{"primary", or_null(word(Vocabulary::hypothesis))},
                                         {"qualifiers", list(word(Vocabulary::verdict_qualifier))},
                                         {"exit_status", between(0, 11)}});
    const ReceiptShape steps = object(
        {{"family", word(Vocabulary::family)}, {"point_count", number()}, {"rise_bytes", or_null(wide())}});
    return object({{"process", ordinal},
                   {"rank", or_null(int32())},
                   {"local_rank", or_null(int32())},
                   {"host", uint32()},
                   {"role", one_of(names_up_to<JobRole, JobRole::unreadable>())},
                   {"order", one_of(names_up_to<JobOrder, JobOrder::untold>())},
                   {"incident", one_of(names_up_to<JobIncident, JobIncident::lost>())},
                   {"verdict", or_null(verdict)},
                   {"device", or_null(device())},
                   {"failed_ns", or_null(wide())},
                   {"first_seen_ns", or_null(wide())},
                   {"last_seen_ns", or_null(wide())},
                   {"exit_seen", boolean()},
                   {"exit_status", or_null(int32())},
                   {"earlier_count", number()},
                   {"held_by", list(object({{"process", ordinal}, {"bytes", number()}}))},
                   {"levels", levels({{"observation_age_ns", or_null(number())}})},
                   {"peaks", levels({})},
                   {"steps", steps},
                   {"receipt", or_null(plain(Type::digest))}});
}

ReceiptShape skew() {
    const ReceiptShape ordinal = between(1, UINT32_MAX);
    return object({{"ledger", one_of(names_up_to<JobLedger, JobLedger::device_used>())},
                   {"known_count", number()},
                   {"least_bytes", number()},
                   {"least_process", ordinal},
                   {"median_bytes", number()},
                   {"most_bytes", number()},
                   {"most_process", ordinal}});
}

ReceiptShape whole() {
    const ReceiptShape ordinal = between(1, UINT32_MAX);
    ReceiptShape missing = list(object({{"first_rank", int32()}, {"last_rank", int32()}}));
    ReceiptShape job = object({{"process_count", number()},
                               {"unread_count", number()},
                               {"host_count", uint32()},
                               {"world_size", or_null(int32())},
                               {"rank_count", number()},
                               {"missing", std::move(missing)},
                               {"clocks_within_ns", number()}});
    ReceiptShape first = object({{"process", ordinal},
                                 {"told", boolean()},
                                 {"rivals", list(ordinal)},
                                 {"clocks_compared", boolean()}});
    ReceiptShape digest =
        object({{"algorithm", word(Vocabulary::digest_algorithm)}, {"job", plain(Type::digest)}});
    return object({{"schema", one_of(kSchemas)},
                   {"job", std::move(job)},
                   {"first", or_null(std::move(first))},
                   {"instant", one_of(names_up_to<JobInstant, JobInstant::peak>())},
                   {"processes", list(process())},
                   {"skew", list(skew())},
                   {"exit_status", between(0, 11)},
                   {"removed_fields", list(word(Vocabulary::removed_field))},
                   {"times", object({{"instant_unix_ns", or_null(number())}})},
                   {"digest", std::move(digest)}});
}

}  // namespace

const ReceiptShape& job_shape() {
    static const ReceiptShape kShape = whole();
    return kShape;
}

}  // namespace memsnap
