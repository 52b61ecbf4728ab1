// SPDX-License-Identifier: Apache-2.0
//
// The description of docs/receipt.md, in its order.
#include "receipt_shape.h"

#include <array>
#include <string>

#include "event.h"

namespace memsnap {
namespace {

using Type = ReceiptShape::Type;
using Members = std::vector<Member>;

constexpr Wide kMost = UINT64_MAX;  // of bytes, tickets and counts

ReceiptShape plain(Type type) {
    ReceiptShape shape;
    shape.type = type;
    return shape;
}

ReceiptShape object(Members members) {
    ReceiptShape shape = plain(Type::object);
    shape.members = std::move(members);
    return shape;
}

ReceiptShape of(Type type, ReceiptShape item) {
    ReceiptShape shape = plain(type);
    shape.items.push_back(std::move(item));
    return shape;
}

ReceiptShape list(ReceiptShape item) {
    return of(Type::list, std::move(item));
}

ReceiptShape keyed(Words keys, ReceiptShape item) {
    ReceiptShape shape = of(Type::keyed, std::move(item));
    shape.words = keys;
    return shape;
}

ReceiptShape table(Vocabulary columns, std::vector<ReceiptShape> cells) {
    ReceiptShape shape = plain(Type::table);
    shape.words = words(columns);
    shape.items = std::move(cells);
    return shape;
}

ReceiptShape between(Wide least, Wide most) {
    ReceiptShape shape = plain(Type::integer);
    shape.least = least;
    shape.most = most;
    return shape;
}

// Bytes, tickets, counts.
ReceiptShape number() {
    return between(0, kMost);
}

// A difference of a few numbers, or a sum of many.
ReceiptShape wide() {
    return between(-(Wide{1} << 100), Wide{1} << 100);
}

ReceiptShape word(Vocabulary vocabulary) {
    ReceiptShape shape = plain(Type::word);
    shape.words = words(vocabulary);
    return shape;
}

ReceiptShape token_of(std::string_view prefix) {
    ReceiptShape shape = plain(Type::token);
    shape.prefix = prefix;
    return shape;
}

ReceiptShape boolean() {
    return plain(Type::boolean);
}

ReceiptShape or_null(ReceiptShape shape) {
    shape.nullable = true;
    return shape;
}

ReceiptShape device() {
    return between(0, kDeviceCapacity - 1);
}

// Of a record that need not know its device.
ReceiptShape device_or_none() {
    return between(-1, kDeviceCapacity - 1);
}

ReceiptShape uint32() {
    return between(0, UINT32_MAX);
}

ReceiptShape int32() {
    return between(INT32_MIN, INT32_MAX);
}

// One member for each name, all of one shape.
Members each(Words names, const ReceiptShape& shape) {
    Members members;
    for (const std::string_view name : names)
        members.push_back({name, shape});
    return members;
}
Members each(std::initializer_list<std::string_view> names, const ReceiptShape& shape) {
    return each(Words(names.begin(), names.size()), shape);
}

Members joined(Members first, Members second) {
    first.insert(first.end(), second.begin(), second.end());
    return first;
}

ReceiptShape capture() {
    return object(
        joined(each({"ring_capacity_records", "first_ticket", "end_ticket", "recorded_count", "missing_count",
                     "torn_count", "unknown_kind_count", "lost_count", "lapped_count", "blind_count",
                     "table_full_count", "unknown_free_count", "samples_failed_count"},
                    number()),
               {{"sampling", word(Vocabulary::sampling)},
                {"blind", object(each(words(Vocabulary::blind), number()))},
                {"boundary_stride", uint32()},
                {"start_mode", word(Vocabulary::start_mode)},
                {"arm_state", word(Vocabulary::arm_state)},
                {"exit_seen", boolean()},
                {"exit_status", or_null(int32())},
                {"failure_seen_in", word(Vocabulary::failure_seen)},
                {"uncertain", list(word(Vocabulary::uncertainty))},
                {"tolerated", keyed(words(Vocabulary::rule), number())}}));
}

ReceiptShape environment() {
    const ReceiptShape version = or_null(plain(Type::version));
    ReceiptShape allocator = object({{"known", boolean()},
                                     {"backend", word(Vocabulary::backend)},
                                     {"expandable_segments", boolean()},
                                     {"caching_disabled", boolean()},
                                     {"max_split_size_bytes", or_null(number())},
                                     {"gc_threshold_permille", or_null(uint32())},
                                     {"roundup_power2_divisions", or_null(uint32())},
                                     {"unknown_option_count", uint32()}});
    return object(joined(
        each({"torch_version", "recorder_version", "cuda_runtime_version", "cuda_driver_version"}, version),
        {{"world_size", or_null(int32())},
         {"rank", or_null(int32())},
         {"allocator", std::move(allocator)},
         {"dimensions", list(object({{"dimension", number()}, {"value", between(INT64_MIN, INT64_MAX)}}))}}));
}

ReceiptShape entry(std::string_view kind) {
    return object({{kind, number()}, {"token", token_of(kind)}});
}

ReceiptShape dictionary() {
    return object({{"sites", list(entry("site"))},
                   {"phases", list(object({{"phase", number()},
                                           {"token", token_of("phase")},
                                           {"word", or_null(word(Vocabulary::phase_word))}}))},
                   {"libraries", list(entry("library"))},
                   {"dimensions", list(entry("dimension"))}});
}

ReceiptShape failure() {
    return object({{"device", device()},
                   {"allocator", word(Vocabulary::allocator)},
                   {"request_bytes", or_null(number())},
                   {"segment_request_bytes", or_null(number())},
                   {"device_call", word(Vocabulary::device_call)},
                   {"operation", word(Vocabulary::operation)},
                   {"ticket", number()},
                   {"steps_ended_count", uint32()},
                   {"free_observed_at_failure", boolean()}});
}

ReceiptShape failures() {
    return list(object({{"ticket", number()},
                        {"device", device_or_none()},
                        {"allocator", word(Vocabulary::allocator)},
                        {"request_bytes", number()},
                        {"chain", number()},
                        {"followed", boolean()}}));
}

ReceiptShape near_misses() {
    return list(object({{"kind", word(Vocabulary::near_miss)},
                        {"ticket", number()},
                        {"device", device_or_none()},
                        {"request_bytes", number()},
                        {"failed_calls_count", number()},
                        {"operation", word(Vocabulary::operation)}}));
}

ReceiptShape ledgers() {
    return object(joined(
        each({"total_bytes", "device_free_bytes", "reserved_bytes", "allocated_bytes", "deferred_bytes",
              "cap_bytes", "largest_free_extent_bytes", "largest_compatible_extent_bytes",
              "reusable_free_bytes", "fragmented_free_bytes", "incompatible_free_bytes", "remappable_bytes",
              "releasable_bytes", "unseen_segment_bytes", "uncertainty_bytes"},
             or_null(number())),
        each({"active_bytes", "slack_bytes", "outside_bytes", "margin_bytes", "threshold_bytes",
              "free_extent_bytes"},
             or_null(wide()))));
}

ReceiptShape outside() {
    return object(
        joined(each({"others_bytes", "named_bytes", "named_growth_bytes", "baseline_ticket",
                     "baseline_outside_bytes", "baseline_unattributed_bytes", "earlier_outside_bytes"},
                    or_null(number())),
               {{"other_process_count", or_null(between(0, UINT16_MAX))}, {"holder_shares_job", boolean()}}));
}

ReceiptShape growth() {
    ReceiptShape points = table(Vocabulary::point_column, {number(), number(), number(), or_null(number())});
    return object(
        joined(each({"boundary_count", "growing_pairs_count", "retained_bytes", "kept_since_failure_bytes"},
                    number()),
               {{"basis", word(Vocabulary::basis)},
                {"family", word(Vocabulary::family)},
                {"retained_is_bound", boolean()},
                {"request_repeated", boolean()},
                {"points", std::move(points)}}));
}

ReceiptShape extents() {
    return table(Vocabulary::extent_column, {number(), number(), number(), word(Vocabulary::size_class),
                                             word(Vocabulary::segment_kind), word(Vocabulary::extent_state),
                                             word(Vocabulary::compatibility), number(), or_null(number())});
}

ReceiptShape sites() {
    return list(object({{"site", number()},
                        {"has_stack", boolean()},
                        {"bytes", number()},
                        {"block_count", number()},
                        {"retained_bytes", number()},
                        {"first_step", uint32()},
                        {"last_step", uint32()},
                        {"phase", number()}}));
}

ReceiptShape libraries() {
    return list(object({{"library", number()},
                        {"role", word(Vocabulary::library_role)},
                        {"bytes", number()},
                        {"allocation_count", number()}}));
}

ReceiptShape holders() {
    const ReceiptShape held = object({{"library", number()}, {"bytes", number()}});
    Members sum = joined({{"device", device()},
                          {"instant", word(Vocabulary::balance_instant)},
                          {"ticket", number()},
                          {"source", word(Vocabulary::balance_source)},
                          {"total_bytes", or_null(number())},
                          {"libraries", list(held)},
                          {"others_bytes", or_null(number())}},
                         joined(each({"active_bytes", "fragmented_free_bytes"}, wide()),
                                each({"unattributed_bytes", "free_bytes"}, or_null(wide()))));
    Members beside =
        joined(each({"managed_bytes", "pinned_bytes", "imported_bytes", "graph_bytes"}, wide()),
               each({"imported_count", "reusable_free_bytes", "incompatible_free_bytes"}, number()));
    return list(object(joined(std::move(sum), std::move(beside))));
}

ReceiptShape shapes() {
    const ReceiptShape lane = object({{"shape", word(Vocabulary::shape)},
                                      {"first_bytes", or_null(number())},
                                      {"last_bytes", or_null(number())},
                                      {"max_bytes", or_null(number())},
                                      {"point_count", number()}});
    return list(object({{"device", device()},
                        {"total_bytes", or_null(number())},
                        {"boundaries", word(Vocabulary::basis)},
                        {"active", lane},
                        {"reserved", lane},
                        {"outside", lane}}));
}

// Where each number came from: the names of the fields are made of those above.
Words provenance_keys() {
    static const std::vector<std::string> names = [] {
        std::vector<std::string> list = {"failure.request_bytes", "failure.segment_request_bytes"};
        for (const Member& member : ledgers().members)
            list.push_back("ledgers." + std::string(member.name));
        for (const Member& member : outside().members) {
            const bool bytes = member.name.ends_with("_bytes");
            if (bytes) list.push_back("outside." + std::string(member.name));
        }
        return list;
    }();
    static const std::vector<std::string_view> keys(names.begin(), names.end());
    return keys;
}

ReceiptShape evidence() {
    ReceiptShape peak = object({{"active_bytes", number()},
                                {"active_ticket", number()},
                                {"reserved_bytes", or_null(number())},
                                {"reserved_ticket", or_null(number())}});
    ReceiptShape lifetimes = object({{"born_count", number()},
                                     {"freed_count", number()},
                                     {"longest_ticks", or_null(number())},
                                     {"total_ticks", wide()}});
    ReceiptShape reconciliation = object({{"observation_count", number()},
                                          {"mismatch_count", number()},
                                          {"largest_difference_bytes", or_null(wide())}});
    return object({{"failure", or_null(failure())},
                   {"failures", failures()},
                   {"near_misses", near_misses()},
                   {"lost_failure_count", uint32()},
                   {"ledgers", or_null(ledgers())},
                   {"outside", or_null(outside())},
                   {"growth", or_null(growth())},
                   {"extents", or_null(extents())},
                   {"sites", or_null(sites())},
                   {"libraries", or_null(libraries())},
                   {"peak", or_null(std::move(peak))},
                   {"lifetimes", or_null(std::move(lifetimes))},
                   {"reconciliation", or_null(std::move(reconciliation))},
                   {"holders", holders()},
                   {"shapes", or_null(shapes())},
                   {"provenance", keyed(provenance_keys(), word(Vocabulary::provenance))}});
}

ReceiptShape hypothesis(std::initializer_list<std::string_view> own_inputs) {
    ReceiptShape input = object({{"value", or_null(number())},
                                 {"provenance", word(Vocabulary::provenance)},
                                 {"low", number(), true},
                                 {"high", number(), true}});
    Members inputs = each({"total_bytes", "device_free_bytes", "reserved_bytes", "allocated_bytes",
                           "deferred_bytes", "cap_bytes", "request_bytes", "segment_request_bytes"},
                          input);
    return object({{"status", word(Vocabulary::status)},
                   {"margin_bytes", or_null(wide())},
                   {"margin_high_bytes", wide(), true},
                   {"qualifiers", list(word(Vocabulary::hypothesis_qualifier))},
                   {"inequality", plain(Type::inequality)},
                   {"inputs", object(joined(std::move(inputs), each(own_inputs, input)))},
                   {"fix", or_null(word(Vocabulary::fix))},
                   {"proof", or_null(word(Vocabulary::proof))},
                   {"probe", or_null(word(Vocabulary::probe))}});
}

ReceiptShape hypotheses() {
    return object(
        {{"live_set", hypothesis({})},
         {"retention", hypothesis({"retained_bytes", "boundary_count", "growing_pairs_count",
                                   "kept_since_failure_bytes"})},
         {"fragmentation",
          hypothesis({"largest_compatible_extent_bytes", "largest_free_extent_bytes", "reusable_free_bytes",
                      "fragmented_free_bytes", "incompatible_free_bytes", "remappable_bytes"})},
         {"external",
          hypothesis({"other_processes_bytes", "named_library_bytes", "named_library_growth_bytes",
                      "baseline_outside_bytes", "baseline_unattributed_bytes"})}});
}

ReceiptShape verdict() {
    const ReceiptShape names = list(word(Vocabulary::hypothesis));
    ReceiptShape numbers =
        object(each({"available_bytes", "need_bytes", "margin_bytes", "threshold_bytes", "deficit_bytes",
                     "retained_bytes", "retained_upper_bytes", "removable_outside_bytes",
                     "removable_outside_upper_bytes", "contribution_floor_bytes"},
                    wide()));
    return object({{"primary", or_null(word(Vocabulary::hypothesis))},
                   {"contributing", names},
                   {"rejected", names},
                   {"undecidable", names},
                   {"qualifiers", list(word(Vocabulary::verdict_qualifier))},
                   {"exit_status", between(0, 11)},
                   {"fix", or_null(word(Vocabulary::fix))},
                   {"proof", or_null(word(Vocabulary::proof))},
                   {"numbers", or_null(std::move(numbers))},
                   {"hypotheses", or_null(hypotheses())}});
}

}  // namespace

const ReceiptShape& receipt_shape() {
    static const ReceiptShape shape =
        object({{"schema", word(Vocabulary::schema)},
                {"capture", capture()},
                {"environment", environment()},
                {"dictionary", dictionary()},
                {"evidence", evidence()},
                {"verdict", verdict()},
                {"times", object(each({"failure_unix_ns", "first_record_unix_ns", "last_record_unix_ns"},
                                      or_null(number())))},
                {"removed_fields", list(word(Vocabulary::removed_field))},
                {"digest", object({{"algorithm", word(Vocabulary::digest_algorithm)},
                                   {"evidence", plain(Type::digest)},
                                   {"receipt", plain(Type::digest)}})}});
    return shape;
}

}  // namespace memsnap
