// SPDX-License-Identifier: Apache-2.0
//
// Puts a case together and writes its document. Rule: decode, live, settle, choose, gather, decide, in this
// order.
#include "examine.h"

#include <set>

namespace oracle {
namespace {

Question question_of(const Inputs& in, const Growth& growth) {
    Question q;
    q.victim = in.victim;
    q.request_bytes = in.request_bytes;
    q.segment_request_bytes = in.segment_request_bytes;
    q.device_call = in.device_call;
    q.total_bytes = in.total_bytes;
    q.device_free_bytes = in.device_free_bytes;
    q.free_observed_at_failure = in.free_observed_at_failure;
    q.reserved_bytes = in.reserved_bytes;
    q.active_bytes = in.active_bytes();
    q.releasable_bytes = in.releasable_bytes;
    q.uncertainty_bytes = in.uncertainty_bytes;
    q.deferred_known = in.deferred_bytes.has_value();
    q.largest_compatible_bytes = in.largest_compatible_bytes;
    q.largest_bytes = in.largest_bytes;
    q.fragmented_bytes = in.fragmented_bytes;
    q.incompatible_bytes = in.incompatible_bytes;
    q.remappable_bytes = in.remappable_bytes;
    q.hole_release = in.hole_release;
    q.cap_bytes = in.cap_bytes;
    q.others_bytes = in.others_bytes;
    q.holder_shares_job = in.holder_shares_job;
    q.named_bytes = in.named_bytes;
    q.named_growth_bytes = in.named_growth_bytes;
    q.baseline_outside_bytes = in.baseline_outside_bytes.value_or(0);
    q.baseline_unattributed_bytes = in.baseline_unattributed_bytes.value_or(0);
    q.earlier_outside_bytes = in.earlier_outside_bytes;
    q.basis = growth.points.basis;
    q.points_are_module_calls = growth.points.family == Family::kModule;
    q.retained_bytes = growth.retained_bytes;
    q.unknown_birth_bytes = growth.unknown_birth_bytes;
    q.request_repeated = growth.request_repeated;
    return q;
}

Incident look_at(const Case& c, std::size_t index) {
    Incident incident;
    incident.failed = c.failures.all[index];
    incident.followed = c.failures.chain_is_followed(incident.failed.chain);
    incident.in_keyframe = incident.failed.only_in_keyframe;
    if (incident.in_keyframe) {
        const auto& keyframe = *keyframe_of(c.file, incident.failed.event.ticket);
        incident.scene = make_scene(recording_of_keyframe(c.file, keyframe));
    } else {
        incident.scene = c.ring;
    }
    const auto& failure = incident.failed.event;
    incident.peak = incident.scene.live_blocks(failure.device).peak_by(failure.ticket);
    incident.inputs = gather(incident.scene, incident.failed);
    incident.growth = growth_at(incident.scene, c.failures, incident.failed, incident.inputs.direct_bytes);
    incident.question = question_of(incident.inputs, incident.growth);
    const auto& header = c.file.header;
    incident.question.expandable_segments = header.expandable_segments();
    incident.question.from_recorder = header.from_recorder();
    incident.question.from_snapshot = header.from_snapshot();
    incident.question.total_stated = header.total_stated();
    incident.decision = decide(incident.question);
    return incident;
}

}  // namespace

Expected<void> make_case(Bytes ring, const Options& options, Case& c) {
    auto file = decode(ring, options.head_after);
    if (!file) return std::unexpected(file.error());
    c.file = std::move(*file);
    if (options.sidecar) c.names = Names::read(*options.sidecar, c.file.header);
    c.ring = make_scene(recording_of_ring(c.file));
    auto tolerated = judge(c.file, c.ring.issues);
    if (!tolerated) return std::unexpected(tolerated.error());
    c.tolerated = std::move(*tolerated);
    c.only_device = options.choice.device;
    c.failures = find_failures(c.file, c.ring.recording);
    const auto& choice = options.choice;
    if (auto index = choose_incident(c.failures, choice)) {
        c.incident = look_at(c, *index);
        return {};
    }
    if (choice.ticket) return misused("no failure has the ticket " + digits(*choice.ticket));
    if (choice.device && shapes_of(c, choice.device).array()->empty())
        return misused("nothing was recorded of device " + digits(*choice.device));
    c.without_evidence = c.failures.lost_count != 0 || c.failures.only_without_device();
    return {};
}

Result result_of(const Case& c, const Json& receipts) {
    Result result;
    Dictionary dictionary;
    auto environment = environment_of(c, dictionary);  // the first to number dimensions
    auto evidence = evidence_of(c, dictionary);
    auto verdict = verdict_of(c);
    auto digest = sha256_hex(evidence.canonical());
    result.exit_code = static_cast<int>(*verdict["exit_status"].number());
    result.times = times_of(c);
    result.document = Json::Object{
        {"schema", "memsnap.oracle.v1"},
        {"capture", capture_of(c)},
        {"environment", std::move(environment)},
        {"dictionary", dictionary_of(c, dictionary, receipts)},
        {"evidence", std::move(evidence)},
        {"verdict", std::move(verdict)},
        {"digest", Json::Object{{"algorithm", "sha256"}, {"evidence", digest}}},
    };
    return result;
}

Expected<Result> examine(Bytes ring, const Options& options, const Json& receipts) {
    Case c;
    if (auto made = make_case(ring, options, c); !made) return std::unexpected(made.error());
    return result_of(c, receipts);
}

Expected<std::vector<u64>> known_allocations(Bytes ring, const Options& options) {
    Case c;
    if (auto made = make_case(ring, options, c); !made) return std::unexpected(made.error());
    std::set<u64> births;
    for (const auto& life : c.ring.lives) {
        if (life.birth != kNoTicket) births.insert(life.birth);
    }
    return std::vector<u64>(births.begin(), births.end());
}

}  // namespace oracle
