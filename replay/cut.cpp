// SPDX-License-Identifier: Apache-2.0
//
// Attempts from the longest to the shortest: as many events as the bounds allow, then fewer, since what
// events touch cannot be made shorter. The first that fits and says the same is the cut.
#include "cut.h"

#include <fmt/format.h>

#include <algorithm>

#include "cut_check.h"
#include "cut_source.h"
#include "cut_state.h"
#include "cut_writer.h"

namespace memsnap {
namespace {

Error refusal(const Capture& capture, std::string rule, std::string detail, std::string way_out) {
    Error error;
    error.code = ErrorCode::disagreed;
    error.file = capture.path;
    error.rule = std::move(rule);
    error.detail = std::move(detail);
    error.way_out = std::move(way_out);
    return error;
}

std::string refused(const Error& error) {
    return fmt::format("the cut is no valid recording: {} ({})", error.detail, error.rule);
}

bool fits(const CutDraft& draft, const CutBounds& bounds) {
    return draft.events_count <= bounds.events_count && draft.segments_count <= bounds.segments_count &&
           draft.blocks_count <= bounds.blocks_count;
}

class Cutter {
  public:
    Cutter(const CutSource& source, const CutBounds& bounds) : source_(source), bounds_(bounds) {}

    Result<std::string> run() {
        std::optional<uint64_t> begun_at;
        for (uint64_t wanted = bounds_.events_count;; wanted /= 2) {
            const CutChoice choice = choose_events(source_, wanted);
            const bool again = begun_at == choice.begin_ticket;
            const bool needed = again && choice.events.size() > wanted;  // fewer would not be fewer
            begun_at = choice.begin_ticket;
            for (const bool merge : {false, true}) {
                if (again) break;
                if (auto text = attempt(choice, merge)) return std::move(*text);
            }
            if (wanted == 0 || needed) return failure(std::move(*error_));
        }
    }

  private:
    std::optional<std::string> attempt(const CutChoice& choice, bool merge) {
        const CutState state = state_at(source_, choice, merge, std::max<uint64_t>(bounds_.blocks_count, 1));
        const CutDraft draft = CutWriter(source_, choice, state).write();
        if (!fits(draft, bounds_)) {
            note_excess(draft);
            return std::nullopt;
        }
        Result<std::string> text = checked(draft);
        if (text) return std::move(*text);
        if (!differs_) error_ = std::move(text.error());  // of the longest, which has most to say
        differs_ = true;
        return std::nullopt;
    }

    Result<std::string> checked(const CutDraft& draft) const {
        uint64_t copied = 0;
        if (draft.in_keyframe) {
            const auto rehearsal = read_text(draft.text(0));
            if (!rehearsal) return failure(differing(refused(rehearsal.error())));
            copied = rehearsal->header.head_ticket - draft.first_ticket;
        }
        std::string text = draft.text(copied);
        const auto capture = read_text(text);
        if (!capture) return failure(differing(refused(capture.error())));
        const auto analysis = analyse(*capture, {});
        if (!analysis) return failure(differing(refused(analysis.error())));
        std::string difference = first_difference(source_.incident, *analysis, draft);
        if (!difference.empty()) return failure(differing(std::move(difference)));
        return text;
    }

    Error differing(std::string difference) const {
        return refusal(
            source_.capture, "cut_differs", std::move(difference),
            "no cut was written: the verdict needs more of the history than the cut kept; allow more "
            "with --window-events");
    }

    // The last attempt is the shortest: what it needs is what must be allowed.
    void note_excess(const CutDraft& draft) {
        if (differs_) return;
        const auto over = [](const char* what, const char* option, uint64_t needed, uint64_t bound,
                             std::string& detail, std::string& way_out) {
            if (needed <= bound) return;
            detail += fmt::format("{}{} {} are needed, {} more than the {} allowed",
                                  detail.empty() ? "" : "; ", needed, what, needed - bound, bound);
            way_out += fmt::format(" {} {}", option, needed);
        };
        std::string detail, way_out = "no cut was written; allow more:";
        over("events", "--window-events", draft.events_count, bounds_.events_count, detail, way_out);
        over("segments", "--window-segments", draft.segments_count, bounds_.segments_count, detail, way_out);
        over("blocks in one segment", "--window-blocks", draft.blocks_count, bounds_.blocks_count, detail,
             way_out);
        const GrowthBasis basis = source_.incident.evidence.growth.basis;
        if (basis == GrowthBasis::certified || basis == GrowthBasis::uncertified)
            detail += " (boundaries were inferred, so every block event of the window is needed)";
        error_ = refusal(source_.capture, "cut_exceeds_bounds", std::move(detail), std::move(way_out));
    }

    const CutSource& source_;
    const CutBounds bounds_;
    std::optional<Error> error_;
    bool differs_ = false;
};

}  // namespace

Result<std::string> cut_incident(const Capture& capture, const Analysis& analysis, const CutBounds& bounds) {
    const auto source = open_source(capture, analysis);
    if (!source) return failure(source.error());
    return Cutter(*source, bounds).run();
}

}  // namespace memsnap
