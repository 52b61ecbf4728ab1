// SPDX-License-Identifier: Apache-2.0
//
// The description of `evidence`, in the order of docs/receipt.md.
#include <string>

#include "receipt_shape_parts.h"

namespace memsnap::shape {
namespace {

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

ReceiptShape survivors() {
    return list(object(
        joined(each({"site", "bytes", "block_count", "step_count", "clean_step_count", "bytes_per_step",
                     "oldest_ticket", "least_block_bytes", "greatest_block_bytes", "live_bytes"},
                    number()),
               {{"oldest_step", uint32()}})));
}

ReceiptShape growth() {
    ReceiptShape points = table(Vocabulary::point_column, {number(), number(), number(), or_null(number())});
    return object(joined(each({"boundary_count", "growing_pairs_count", "retained_bytes",
                               "unknown_birth_bytes", "births_known_from_ticket", "kept_since_failure_bytes"},
                              number()),
                         {{"basis", word(Vocabulary::basis)},
                          {"family", word(Vocabulary::family)},
                          {"retained_is_bound", boolean()},
                          {"request_repeated", boolean()},
                          {"points", std::move(points)},
                          {"survivors", survivors()}}));
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
                        {"phase", number()},
                        {"category", word(Vocabulary::category)}}));
}

ReceiptShape categories() {
    return list(
        object({{"category", word(Vocabulary::category)}, {"bytes", number()}, {"block_count", number()}}));
}

ReceiptShape peak_sites() {
    ReceiptShape row = object({{"site", number()},
                               {"bytes", number()},
                               {"block_count", number()},
                               {"category", word(Vocabulary::category)},
                               {"phase", number()}});
    return list(object({{"device", device()},
                        {"ticket", number()},
                        {"site_count", number()},
                        {"bytes", number()},
                        {"rows", list(std::move(row))}}));
}

ReceiptShape recent() {
    return list(object({{"ticket", number()},
                        {"size_bytes", number()},
                        {"site", number()},
                        {"live", boolean()},
                        {"thread", number()}}));
}

ReceiptShape site_growth() {
    return object({{"from_ticket", number()},
                   {"to_ticket", number()},
                   {"pair_count", number()},
                   {"rows", list(object(each({"site", "from_bytes", "to_bytes"}, number())))}});
}

ReceiptShape collections() {
    return object(
        {{"pass_count", number()},
         {"freed_bytes", wide()},
         {"freed_block_count", number()},
         {"switched_off", or_null(boolean())},
         {"rows", list(object({{"site", number()}, {"bytes", wide()}, {"block_count", number()}}))}});
}

ReceiptShape dimension_effects() {
    return list(object(joined(
        each({"dimension", "interval_count", "changed_count", "together_count", "peak_bytes"}, number()),
        each({"least_value", "greatest_value", "value_at_peak"}, between(INT64_MIN, INT64_MAX)))));
}

ReceiptShape libraries() {
    return list(object({{"library", number()},
                        {"role", word(Vocabulary::library_role)},
                        {"bytes", number()},
                        {"allocation_count", number()}}));
}

ReceiptShape requests() {
    return list(
        object(joined(each({"ticket", "granted_bytes", "told_block_count", "told_granted_bytes"}, number()),
                      {{"device", device()},
                       {"requested_bytes", or_null(wide())},
                       {"told_requested_bytes", wide()},
                       {"told_rounding_bytes", wide()},
                       {"told_kept_bytes", wide()}})));
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

}  // namespace

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
                   {"categories", or_null(categories())},
                   {"peak_sites", peak_sites()},
                   {"recent", or_null(recent())},
                   {"site_growth", or_null(site_growth())},
                   {"collections", or_null(collections())},
                   {"dimension_effects", or_null(dimension_effects())},
                   {"libraries", or_null(libraries())},
                   {"requests", requests()},
                   {"peak", or_null(std::move(peak))},
                   {"lifetimes", or_null(std::move(lifetimes))},
                   {"reconciliation", or_null(std::move(reconciliation))},
                   {"holders", holders()},
                   {"shapes", or_null(shapes())},
                   {"provenance", keyed(provenance_keys(), word(Vocabulary::provenance))}});
}

}  // namespace memsnap::shape
