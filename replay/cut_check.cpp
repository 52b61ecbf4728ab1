// SPDX-License-Identifier: Apache-2.0
//
// The comparison, field by field.
#include "cut_check.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <vector>

#include "../fixtures/encode/encode.h"
#include "explain.h"

namespace memsnap {
namespace {

// A file without a name.
class Scratch {
  public:
    Scratch() : descriptor_(::memfd_create("memsnap-cut", MFD_CLOEXEC)) {}
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;
    ~Scratch() {
        if (descriptor_ >= 0) ::close(descriptor_);
    }
    bool write(const std::vector<std::byte>& bytes) const {
        size_t done = 0;
        while (done < bytes.size()) {
            const ssize_t wrote = ::write(descriptor_, bytes.data() + done, bytes.size() - done);
            if (wrote <= 0) return false;
            done += static_cast<size_t>(wrote);
        }
        return true;
    }
    std::string path() const { return fmt::format("/proc/self/fd/{}", descriptor_); }

  private:
    int descriptor_;
};

Error unusable(std::string detail) {
    Error error;
    error.code = ErrorCode::disagreed;
    error.rule = "cut_text";
    error.detail = std::move(detail);
    return error;
}

std::string text_of(const Measure& measure) {
    if (!measure.known()) return "unknown";
    if (measure.exact()) return fmt::format("{}", measure.low);
    return fmt::format("{}..{}", measure.low, measure.high);
}
std::string text_of(const std::optional<Wide>& value) {
    return value ? to_decimal(*value) : "none";
}
std::string text_of(bool value) {
    return value ? "yes" : "no";
}
std::string text_of(uint64_t value) {
    return fmt::format("{}", value);
}
std::string text_of(const Qualifiers& qualifiers) {
    return fmt::format("[{}]", fmt::join(qualifiers.names(), ","));
}

using Sums = std::map<uint64_t, uint64_t>;  // bytes by ordinal

std::string text_of(const Sums& sums) {
    std::string out;
    for (const auto& [ordinal, bytes] : sums)
        out += fmt::format("{}{}:{}", out.empty() ? "" : " ", ordinal, bytes);
    return "{" + out + "}";
}

class Comparison {
  public:
    template <class T>
    void same(std::string_view field, const T& original, const T& cut) {
        if (!difference_.empty()) return;
        const std::string before = text_of(original), after = text_of(cut);
        if (before != after)
            difference_ = fmt::format("{}: {} in the recording, {} in the cut", field, before, after);
    }
    void same_number(std::string_view field, uint64_t original, uint64_t cut) { same(field, original, cut); }
    std::string difference() && { return std::move(difference_); }

  private:
    static std::string text_of(const auto& value) { return memsnap::text_of(value); }
    static std::string text_of(const std::string& value) { return value; }
    std::string difference_;
};

void compare_verdicts(Comparison& compare, const Incident& a, const Incident& b) {
    for (const Hypothesis one : kHypotheses) {
        const std::string field = fmt::format("verdict.{}.", name(one));
        const Finding& before = a.verdict.of(one);
        const Finding& after = b.verdict.of(one);
        compare.same(field + "status", std::string(name(before.status)), std::string(name(after.status)));
        compare.same(field + "qualifiers", before.qualifiers, after.qualifiers);
        compare.same(field + "margin_bytes", before.margin, after.margin);
        compare.same(field + "margin_high_bytes", before.margin_high, after.margin_high);
        const auto at = static_cast<size_t>(one);
        compare.same(field + "inequality", inequality(a.explanations[at]), inequality(b.explanations[at]));
    }
    compare.same("verdict.qualifiers", a.verdict.qualifiers, b.verdict.qualifiers);
    compare.same_number("exit_status", static_cast<uint64_t>(a.verdict.exit_status()),
                        static_cast<uint64_t>(b.verdict.exit_status()));
}

void compare_numbers(Comparison& compare, const Evidence& a, const Evidence& b) {
    compare.same("failure.request_bytes", a.request, b.request);
    compare.same("failure.segment_request_bytes", a.segment_request, b.segment_request);
    compare.same_number("failure.allocator", static_cast<uint64_t>(a.allocator),
                        static_cast<uint64_t>(b.allocator));
    compare.same_number("failure.device_call", static_cast<uint64_t>(a.device_call),
                        static_cast<uint64_t>(b.device_call));
    compare.same("failure.free_observed_at_failure", a.free_observed_at_failure, b.free_observed_at_failure);
    compare.same("ledgers.total_bytes", a.total, b.total);
    compare.same("ledgers.device_free_bytes", a.device_free, b.device_free);
    compare.same("ledgers.reserved_bytes", a.reserved, b.reserved);
    compare.same("ledgers.allocated_bytes", a.allocated, b.allocated);
    compare.same("ledgers.deferred_bytes", a.deferred, b.deferred);
    compare.same("ledgers.releasable_bytes", a.releasable, b.releasable);
    compare.same("ledgers.cap_bytes", a.cap, b.cap);
    compare.same("ledgers.uncertainty_bytes", a.uncertainty, b.uncertainty);
    compare.same("ledgers.unseen_segment_bytes", a.unseen_segment_bytes, b.unseen_segment_bytes);
    compare.same("ledgers.largest_compatible_extent_bytes", a.extents.largest_compatible,
                 b.extents.largest_compatible);
    compare.same("ledgers.largest_free_extent_bytes", a.extents.largest_not_excluded,
                 b.extents.largest_not_excluded);
    compare.same("ledgers.reusable_free_bytes", a.extents.reusable, b.extents.reusable);
    compare.same("ledgers.fragmented_free_bytes", a.extents.fragmented, b.extents.fragmented);
    compare.same("ledgers.incompatible_free_bytes", a.extents.incompatible, b.extents.incompatible);
    compare.same("ledgers.remappable_bytes", a.extents.remappable, b.extents.remappable);
}

void compare_growth(Comparison& compare, const Incident& a, const Incident& b) {
    const Growth& before = a.evidence.growth;
    const Growth& after = b.evidence.growth;
    compare.same_number("growth.basis", static_cast<uint64_t>(before.basis),
                        static_cast<uint64_t>(after.basis));
    compare.same("growth.boundary_count", before.boundary_count, after.boundary_count);
    compare.same("growth.growing_pairs_count", before.growing_pairs_count, after.growing_pairs_count);
    compare.same("growth.retained_bytes", before.retained, after.retained);
    compare.same("growth.unknown_birth_bytes", before.unknown_births, after.unknown_births);
    compare.same("growth.kept_since_failure_bytes", before.kept_since_failure, after.kept_since_failure);
    for (size_t i = 0; i < std::min(a.boundaries.points.size(), b.boundaries.points.size()); ++i) {
        const std::string field = fmt::format("growth.points[{}].", i);
        compare.same(field + "active_bytes", a.boundaries.points[i].active_bytes,
                     b.boundaries.points[i].active_bytes);
        compare.same(field + "reserved_bytes", a.boundaries.points[i].reserved_bytes,
                     b.boundaries.points[i].reserved_bytes);
    }
}

void compare_outside(Comparison& compare, const Outside& a, const Outside& b) {
    compare.same("outside.others_bytes", a.others, b.others);
    compare.same("outside.named_bytes", a.named_bytes, b.named_bytes);
    compare.same("outside.named_growth_bytes", a.named_growth, b.named_growth);
    compare.same("outside.baseline_outside_bytes", a.baseline_outside, b.baseline_outside);
    compare.same("outside.baseline_unattributed_bytes", a.baseline_unattributed, b.baseline_unattributed);
    compare.same("outside.earlier_outside_bytes", a.earlier_outside, b.earlier_outside);
    compare.same_number("outside.other_process_count", a.other_process_count.value_or(0),
                        b.other_process_count.value_or(0));
    compare.same("outside.holder_shares_job", a.holder_shares_job, b.holder_shares_job);
}

// Of sites with a stack; those without are their sizes, which merging changes where nothing is judged by
// them.
Sums site_sums(const Scene& scene, const std::map<uint64_t, uint64_t>* ordinals, uint64_t SiteShare::*bytes) {
    Sums sums;
    for (const SiteShare& share : scene.sites) {
        if (share.key.site == 0 || share.*bytes == 0) continue;
        uint64_t ordinal = share.key.site;
        if (ordinals != nullptr) {
            const auto known = ordinals->find(ordinal);
            ordinal = known == ordinals->end() ? 0 : known->second;
        }
        sums[ordinal] += share.*bytes;
    }
    return sums;
}

Sums library_sums(const Scene& scene, const std::map<uint16_t, uint64_t>* ordinals) {
    Sums sums;
    for (const ForeignBytes& held : scene.libraries) {
        uint64_t ordinal = held.library;
        if (ordinals != nullptr && ordinal != 0) {
            const auto known = ordinals->find(held.library);
            ordinal = known == ordinals->end() ? ~uint64_t{0} : known->second;
        }
        if (held.bytes != 0) sums[ordinal] += held.bytes;
    }
    return sums;
}

}  // namespace

Result<Capture> read_text(std::string_view text) {
    const fixture::Encoded ring = fixture::encode(text);
    if (!ring) {
        return failure(
            unusable(fmt::format("line {} of the cut: {}", ring.error().line, ring.error().message)));
    }
    const Scratch file;
    if (!file.write(*ring)) return failure(unusable("no memory for the cut's ring"));
    return Capture::read(file.path());
}

std::string first_difference(const Incident& original, const Analysis& cut, const CutDraft& draft) {
    if (!cut.incident) return "incident: one in the recording, none in the cut";
    const Incident& again = *cut.incident;
    Comparison compare;
    compare_verdicts(compare, original, again);
    compare_numbers(compare, original.evidence, again.evidence);
    compare_growth(compare, original, again);
    compare_outside(compare, original.evidence.outside, again.evidence.outside);
    compare.same("sites.bytes", site_sums(original.scene, &draft.sites, &SiteShare::bytes),
                 site_sums(again.scene, nullptr, &SiteShare::bytes));
    compare.same("sites.retained_bytes", site_sums(original.scene, &draft.sites, &SiteShare::retained_bytes),
                 site_sums(again.scene, nullptr, &SiteShare::retained_bytes));
    compare.same("libraries.bytes", library_sums(original.scene, &draft.libraries),
                 library_sums(again.scene, nullptr));
    compare.same_number("failure.steps_ended_count", original.scene.step_count, again.scene.step_count);
    compare.same("peak.active_bytes", original.history.peak.active_bytes, again.history.peak.active_bytes);
    if (original.history.peak.reserved_bytes && draft.states_reserved_peak) {
        compare.same("peak.reserved_bytes", *original.history.peak.reserved_bytes,
                     again.history.peak.reserved_bytes.value_or(0));
    }
    return std::move(compare).difference();
}

}  // namespace memsnap
