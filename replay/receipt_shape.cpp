// SPDX-License-Identifier: Apache-2.0
//
// The description of docs/receipt.md, in its order; `evidence` is in receipt_shape_evidence.cpp.
#include "receipt_shape.h"

#include "receipt_shape_parts.h"

namespace memsnap {
namespace {

using namespace shape;
using Type = ReceiptShape::Type;

ReceiptShape capture() {
    return object(
        joined(each({"ring_capacity_records", "first_ticket", "end_ticket", "recorded_count", "missing_count",
                     "torn_count", "unknown_kind_count", "lost_count", "lapped_count", "blind_count",
                     "table_full_count", "unknown_free_count", "samples_failed_count", "names_dropped_count",
                     "boundaries_dropped_count", "no_stack_count"},
                    number()),
               {{"origin", word(Vocabulary::origin)},
                {"total_stated", boolean()},
                {"sampling", word(Vocabulary::sampling)},
                {"stacks", object({{"wish", word(Vocabulary::stack_wish)},
                                   {"python", word(Vocabulary::python_stacks)},
                                   {"native", word(Vocabulary::native_stacks)},
                                   {"depth_count", between(0, UINT8_MAX)}})},
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
        each({"torch_version", "python_version", "recorder_version", "cuda_runtime_version",
              "cuda_driver_version"},
             version),
        {{"world_size", or_null(int32())},
         {"rank", or_null(int32())},
         {"allocator", std::move(allocator)},
         {"dimensions", list(object({{"dimension", number()}, {"value", between(INT64_MIN, INT64_MAX)}}))}}));
}

ReceiptShape entry(std::string_view kind) {
    return object({{kind, number()}, {"token", token_of(kind)}, {"scope", word(Vocabulary::token_scope)}});
}

ReceiptShape dictionary() {
    return object({{"sites", list(entry("site"))},
                   {"phases", list(object({{"phase", number()},
                                           {"token", token_of("phase")},
                                           {"scope", word(Vocabulary::token_scope)},
                                           {"word", or_null(word(Vocabulary::phase_word))}}))},
                   {"libraries", list(entry("library"))},
                   {"dimensions", list(entry("dimension"))}});
}

ReceiptShape names() {
    const ReceiptShape text = plain(Type::text);
    const auto named = [&](std::string_view kind) {
        return list(object({{kind, number()}, {"name", text}}));
    };
    const ReceiptShape frame = object({{"function", text}, {"file", text}, {"line", or_null(uint32())}});
    return object({{"sites", list(object({{"site", number()}, {"frames", list(frame)}}))},
                   {"phases", named("phase")},
                   {"libraries", named("library")},
                   {"dimensions", named("dimension")}});
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
                {"names", names(), true},
                {"references", list(object({{"kind", word(Vocabulary::reference_kind)},
                                            {"sha256", plain(Type::digest)},
                                            {"size_bytes", number()}}))},
                {"removed_fields", list(word(Vocabulary::removed_field))},
                {"digest", object({{"algorithm", word(Vocabulary::digest_algorithm)},
                                   {"evidence", plain(Type::digest)},
                                   {"receipt", plain(Type::digest)}})}});
    return shape;
}

}  // namespace memsnap
