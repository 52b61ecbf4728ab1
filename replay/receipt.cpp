// SPDX-License-Identifier: Apache-2.0
//
// Assembles the receipt, digests it, and checks what was written before handing it out.
#include "receipt.h"

#include <fmt/format.h>

#include "digest.h"
#include "names.h"
#include "receipt_evidence.h"

namespace memsnap {
namespace {

// 21401 -> 2.14.1
Json version(uint32_t coded) {
    if (coded == 0) return {};
    return fmt::format("{}.{}.{}", coded / 10000, coded / 100 % 100, coded % 100);
}

// 13000 -> 13.0
Json cuda_version(uint32_t coded) {
    if (coded == 0) return {};
    return fmt::format("{}.{}", coded / 1000, coded % 1000 / 10);
}

Json::Object environment_json(const HeaderFacts& header) {
    const AllocatorConfig& config = header.config;
    const auto set = [](uint64_t value) { return value == 0 ? Json() : Json(value); };
    Json::Object allocator{{"known", config.known},
                           {"backend", config.backend_async ? "async" : "native"},
                           {"expandable_segments", config.expandable_segments},
                           {"caching_disabled", config.caching_disabled},
                           {"max_split_size_bytes", set(config.max_split_size_bytes)},
                           {"gc_threshold_permille", set(config.gc_threshold_permille)},
                           {"roundup_power2_divisions", set(config.roundup_power2_divisions)},
                           {"unknown_option_count", config.unknown_option_count}};
    return {{"torch_version", version(header.torch_version)},
            {"cuda_runtime_version", cuda_version(header.cudart_version)},
            {"cuda_driver_version", cuda_version(header.driver_version)},
            {"recorder_version", version(header.recorder_version)},
            {"world_size", header.world_size},
            {"rank", header.rank},
            {"allocator", std::move(allocator)}};
}

Json::Object capture_json(const Capture& capture, const Analysis& analysis) {
    const HeaderFacts& header = capture.header;
    const WindowFacts& facts = capture.window.facts;
    const Counters& counters = header.counters;
    Json::Object capture_facts{{"ring_capacity_records", header.ring_capacity_records},
                               {"first_ticket", capture.window.events.begin_ticket()},
                               {"end_ticket", capture.window.events.end_ticket()},
                               {"recorded_count", header.head_ticket},
                               {"missing_count", facts.missing_count},
                               {"torn_count", facts.torn_count},
                               {"unknown_kind_count", facts.unknown_kind_count},
                               {"lost_count", counters.lost},
                               {"lapped_count", counters.lapped},
                               {"blind_count", counters.blind},
                               {"table_full_count", counters.table_full},
                               {"boundary_stride", header.boundary_stride},
                               {"start_mode", name(header.start_mode)},
                               {"arm_state", name(header.arm_state)},
                               {"exit_seen", header.exit_ticket.has_value()},
                               {"exit_status", {}},
                               {"failure_seen_in", "none"}};
    if (header.exit_ticket) capture_facts["exit_status"] = header.exit_status;
    if (analysis.incident) {
        capture_facts["failure_seen_in"] = analysis.incident->from_keyframe ? "keyframe" : "window";
    }
    return capture_facts;
}

}  // namespace

Result<std::string> write_receipt(const Capture& capture, const Analysis& analysis) {
    Json::Object evidence = evidence_json(analysis);
    const std::string evidence_digest = sha256_hex(Json(evidence).text());
    Json::Object receipt{{"schema", "memsnap.receipt.v1"},
                         {"capture", capture_json(capture, analysis)},
                         {"environment", environment_json(capture.header)},
                         {"verdict", verdict_json(analysis)},
                         {"evidence", std::move(evidence)},
                         {"removed_fields", Json::Array(removed_fields().begin(), removed_fields().end())}};
    const std::string receipt_digest = sha256_hex(Json(receipt).text());
    receipt["digest"] =
        Json::Object{{"algorithm", "sha256"}, {"evidence", evidence_digest}, {"receipt", receipt_digest}};
    std::string text = Json(std::move(receipt)).text();
    std::string problem = check_receipt(text);
    if (problem.empty()) return text;
    return failure({.code = ErrorCode::io,
                    .file = capture.path,
                    .offset_bytes = std::nullopt,
                    .ticket = std::nullopt,
                    .rule = "receipt_self_check",
                    .detail = std::move(problem),
                    .way_out = "nothing was written; please report this"});
}

}  // namespace memsnap
