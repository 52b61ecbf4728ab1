// SPDX-License-Identifier: Apache-2.0
//
// The screen's blocks, top to bottom.
#include "report.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <ranges>
#include <utility>

#include "advice.h"
#include "names.h"
#include "report_card.h"
#include "report_headline.h"
#include "report_lanes.h"
#include "report_sentence.h"
#include "report_sites.h"
#include "report_text.h"

namespace memsnap {
namespace {

constexpr size_t kFindingIndent = 29;  // of a finding's sentence

// What gives way where the screen is full: sites, what lanes have beside their greatest values, the lanes.
struct Room {
    size_t sites_left_out_count = 0;
    bool with_least = true;
    bool with_lanes = true;
};
constexpr Room kRooms[] = {{0}, {1}, {2}, {2, false}, {3, false}, {4, false}, {4, false, false}};

class Report {
  public:
    Report(const Capture& capture, const Analysis& analysis, const ReportStyle& style, const Names& names,
           const Naming& naming)
        : capture_(capture),
          analysis_(analysis),
          style_(style),
          names_(names),
          symbols_(style.utf8),
          resolved_(names),
          sites_(capture, analysis, resolved_, style_, naming) {}

    // Less and less of it, until it is one screen.
    std::string run() {
        std::string text;
        for (const Room& room : kRooms) {
            sites_.leave_out(room.sites_left_out_count);
            room_ = room;
            text = screen();
            const auto lines = static_cast<size_t>(std::ranges::count(text, '\n'));
            if (lines <= kReportLines || style_.sites_count) break;
        }
        return text;
    }

  private:
    std::string screen() {
        out_.clear();
        head();
        if (analysis_.incident) {
            incident(*analysis_.incident);
        } else {
            no_incident();
        }
        line("  look   memsnap-replay THIS --html page.html: any instant, its memory map and flame graph");
        return out_;
    }

    void line(std::string_view text = {}) {
        out_ += text;
        while (!out_.empty() && out_.back() == ' ')
            out_.pop_back();
        out_ += '\n';
    }

    // On one line where both fit.
    void joined(const std::string& text, const std::string& more, std::string_view indent,
                size_t unseen_bytes = 0) {
        if (columns_of(text) - unseen_bytes + columns_of(more) <= kReportColumns) return line(text + more);
        line(text);
        line(std::string(indent) + more);
    }

    std::string emphasised(std::string_view text, bool alarming) const {
        if (!style_.colour) return std::string(text);
        return fmt::format("\x1b[1;{}m{}\x1b[0m", alarming ? 31 : 32, text);
    }

    void head() {
        const HeaderFacts& header = capture_.header;
        const Window& window = capture_.window;
        constexpr size_t kFileNameColumns = 40;
        const std::string file = std::filesystem::path(capture_.path).filename().string();
        std::string text = cut_to_columns(shown_text(file, letters(style_.utf8)), kFileNameColumns);
        if (analysis_.incident) {
            const Evidence& evidence = analysis_.incident->evidence;
            text += fmt::format("  cuda:{} {}", evidence.device,
                                evidence.total.known() ? size_text(evidence.total.low) : "of unknown size");
        }
        const uint64_t lost = header.counters.lost + window.facts.missing_count;
        if (header.origin == Origin::recorder) {
            text += fmt::format("  events {} of {} kept, {} lost", grouped(window.facts.accepted_count),
                                grouped(header.head_ticket), grouped(lost));
        } else {
            // How much came before it, no such file tells.
            text += fmt::format("  events {} made of it", grouped(window.facts.accepted_count));
            if (lost != 0) text += fmt::format(", {} left out", grouped(lost));
        }
        std::string torch;
        if (header.torch_version != 0) {
            const uint32_t version = header.torch_version;
            torch = fmt::format("  torch {}.{}.{}", version / 10000, version / 100 % 100, version % 100);
        }
        if (header.config.known)
            torch += fmt::format("{}{}", torch.empty() ? "  " : ", ", allocator_name(header.config));
        joined(text, torch, "");
        for (const std::string_view sentence : source_sentences(header))
            line(sentence);
        for (const std::string_view sentence : arming_sentences(capture_))
            line(sentence);
        line();
    }

    static std::string_view allocator_name(const AllocatorConfig& config) {
        if (config.caching_disabled) return "no caching allocator";
        if (config.backend_async) return "cudaMallocAsync";
        return config.expandable_segments ? "expandable segments" : "native allocator";
    }

    void incident(const Incident& incident) {
        const Headline told = headline(capture_, analysis_, names_, symbols_);
        const std::string title = emphasised(told.title, true);
        joined(title + "  " + told.event, told.beside, "              ", title.size() - told.title.size());
        const size_t joint = std::min(told.cause.rfind(','), told.cause.size() - 1) + 1;
        joined(emphasised("CAUSE", true) + "          " + told.cause.substr(0, joint),
               told.cause.substr(joint), "              ", emphasised("", true).size());
        if (!told.unexcluded.empty()) line("               " + told.unexcluded);
        for (const std::string& text : sites_.failing_place())
            line(text);
        line();
        parts(incident);
        findings(incident);
        sites();
        advice(incident);
    }

    void parts(const Incident& incident) {
        const Evidence& evidence = incident.evidence;
        const Balance& at_failure = analysis_.holders.back();
        card({.now = at_failure,
              .peak = analysis_.holders.front(),
              .request_bytes = incident.failure.event.size_bytes,
              .waiting_bytes = evidence.deferred.low,
              .other_process_count = evidence.outside.other_process_count});
        lanes({.device = evidence.device,
               .peak_ticket = analysis_.holders.front().ticket,
               .failure = incident.failure.event,
               .from_keyframe = incident.from_keyframe,
               .with_least = room_.with_least});
    }

    void lanes(const LaneView& view) {
        if (room_.with_lanes) block(lane_lines(capture_, analysis_.levels, style_, view));
    }

    void card(const CardView& view) {
        std::vector<std::string> block = card_lines(capture_, names_, style_, view);
        std::ranges::copy(beside_lines(view.now), std::back_inserter(block));
        for (const Requests& requests : analysis_.requests) {
            if (requests.device != view.now.device) continue;
            if (std::string text = requested_line(requests); !text.empty()) block.push_back(std::move(text));
        }
        std::ranges::copy(blind_lines(capture_, analysis_.replay, names_), std::back_inserter(block));
        for (const std::string& text : block)
            line(text);
        if (!block.empty()) line();
    }

    void findings(const Incident& incident) {
        for (const Status status :
             {Status::primary, Status::contributing, Status::undecidable, Status::rejected}) {
            for (const Hypothesis one : kHypotheses) {
                const Finding& finding = incident.verdict.of(one);
                if (finding.status != status) continue;
                finding_line(incident, one);
            }
        }
        line("  " + margin_sentence(incident, symbols_));
        if (const std::string sentence = deficit_sentence(incident, symbols_); !sentence.empty()) {
            line("  " + sentence);
        }
        const auto qualifiers = incident.verdict.qualifiers.names();
        if (!qualifiers.empty()) wrapped("  qualifiers   ", qualifiers, ", ");
        line();
    }

    // The finding's own qualifiers stand behind it, or below where the line is full; so does its second
    // clause.
    void finding_line(const Incident& incident, Hypothesis one) {
        const Finding& finding = incident.verdict.of(one);
        const std::string label = fmt::format("{:<12}", name(finding.status));
        const std::string sentence = finding_sentence(incident, one, symbols_);
        const std::string text =
            fmt::format("  {} {:<13} {}", finding.status == Status::primary ? emphasised(label, true) : label,
                        spoken(one), sentence);
        const auto names = finding.qualifiers.names();
        const std::string qualifiers =
            names.empty() ? std::string() : fmt::format(" ({})", fmt::join(names, ", "));
        const size_t columns = kFindingIndent + columns_of(sentence);
        if (columns + columns_of(qualifiers) <= kReportColumns) return line(text + qualifiers);
        const size_t joint = sentence.rfind(" and ");
        if (columns > kReportColumns && joint != std::string::npos) {
            const size_t behind = sentence.size() - joint - 1;
            line(text.substr(0, text.size() - behind));
            return line(
                fmt::format("{:<{}}{}{}", "", kFindingIndent, sentence.substr(joint + 1), qualifiers));
        }
        line(text);
        line(fmt::format("{:<{}}{}", "", kFindingIndent, qualifiers.substr(1)));
    }

    // Words after a label, continued under the first of them.
    void wrapped(std::string_view label, const std::vector<std::string_view>& words,
                 std::string_view separator) {
        std::string text(label);
        for (size_t index = 0; index < words.size(); ++index) {
            const bool last = index + 1 == words.size();
            const size_t columns = text.size() + words[index].size() + (last ? 0 : separator.size() - 1);
            if (text.size() > label.size() && columns > kReportColumns) {
                line(text);
                text.assign(label.size(), ' ');
            }
            text += words[index];
            if (!last) text += separator;
        }
        line(text);
    }

    void advise(std::string_view label, std::string_view sentence) {
        std::vector<std::string_view> words;
        for (const auto word : std::views::split(sentence, ' '))
            words.emplace_back(word.begin(), word.end());
        wrapped(label, words, " ");
    }

    void block(const std::vector<std::string>& lines) {
        for (const std::string& text : lines)
            line(text);
        if (!lines.empty()) line();
    }

    void sites() {
        block(sites_.live_at_failure());
        block(sites_.survivors());
        block(sites_.growth());
        block(sites_.recent());
        block(sites_.collections());
        block(sites_.dimensions());
        block(sites_.blind());
    }

    // Of the answer, then of what contributed and may be removed by itself.
    static std::vector<Advice> remedies(const Incident& incident) {
        const Verdict& verdict = incident.verdict;
        const auto of = [&](Hypothesis one) {
            const Explanation& explanation = incident.explanations[static_cast<unsigned>(one)];
            return Advice{explanation.fix, explanation.proof, {}};
        };
        const auto primary = verdict.primary();
        std::vector<Advice> list = {primary ? of(*primary) : advise_answer(verdict)};
        for (const Hypothesis one : {Hypothesis::retention, Hypothesis::external}) {
            if (verdict.of(one).status == Status::contributing) list.push_back(of(one));
        }
        return list;
    }

    void advice(const Incident& incident) {
        std::vector<Advice> list = remedies(incident);
        for (const Advice& one : list) {
            if (!one.fix.empty()) advise("  try    ", one.fix);
            if (!one.proof.empty()) advise("  prove  ", one.proof);
        }
        const bool provable = std::ranges::any_of(list, [](const Advice& one) { return !one.proof.empty(); });
        if (provable) line("         compared by: memsnap-replay diff THIS AFTER");
        std::string_view said;
        for (const Hypothesis one : kHypotheses) {
            const std::string_view probe = incident.explanations[static_cast<unsigned>(one)].probe;
            if (probe.empty() || probe == said) continue;
            advise("  probe  ", probe);
            said = probe;
        }
    }

    void no_incident() {
        const Headline told = headline(capture_, analysis_, names_, symbols_);
        line(fmt::format("{}  {}", emphasised(told.title, analysis_.without_evidence()), told.event));
        const size_t recovered = static_cast<size_t>(
            std::ranges::count(analysis_.failures.near_misses, NearMiss::Kind::recovered, &NearMiss::kind));
        if (recovered != 0) {
            line(fmt::format("            {} recovered by releasing cached memory",
                             counted(recovered, "refusal")));
        }
        line();
        for (const DeviceShapes& shapes : analysis_.shapes) {
            const std::string card =
                shapes.total_bytes ? " of " + size_text(*shapes.total_bytes) : std::string();
            line(fmt::format("  cuda:{}{}", shapes.device, card));
            lane("active", shapes.active);
            lane("reserved", shapes.reserved);
            lane("outside", shapes.outside);
        }
        fullest();
        if (analysis_.shapes.empty()) line("  no device memory was reported");
        const bool sized = std::ranges::all_of(
            analysis_.shapes, [](const DeviceShapes& shapes) { return shapes.total_bytes.has_value(); });
        if (!sized) line("  shapes need the size of the card, and no answer of the device tells it");
        if (sized && !analysis_.shapes.empty()) {
            if (analysis_.holders.empty()) line();
            line("  A shape is what a lane did, not a cause.");
            line();
        }
    }

    // One card has room on the screen.
    void fullest() {
        const std::vector<Balance>& holders = analysis_.holders;
        size_t most = 0;
        for (size_t at = 0; at < holders.size(); at += 2) {
            if (holders[at].active_bytes > holders[most].active_bytes) most = at;
        }
        if (holders.empty()) return;
        line();
        if (holders.size() > 2)
            line(fmt::format("  who holds cuda:{} (--device tells of another)", holders[most].device));
        card({.now = holders[most + 1],
              .peak = holders[most],
              .request_bytes = std::nullopt,
              .waiting_bytes = 0,
              .other_process_count = std::nullopt});
        lanes({.device = holders[most].device,
               .peak_ticket = holders[most].ticket,
               .failure = std::nullopt,
               .from_keyframe = false,
               .with_least = room_.with_least});
        block(sites_.live_at_peak(holders[most].device));
    }

    void lane(std::string_view label, const Lane& lane) {
        std::string text = fmt::format("    {:<9} {:<16}", label, name(lane.shape));
        if (lane.max_bytes) text += fmt::format("peak {}", size_text(*lane.max_bytes));
        if (lane.first_bytes && lane.last_bytes) {
            text += fmt::format(", first {}, last {} of {} points", size_text(*lane.first_bytes),
                                size_text(*lane.last_bytes), lane.point_count);
        }
        line(text);
    }

    const Capture& capture_;
    const Analysis& analysis_;
    const ReportStyle style_;
    const Names& names_;
    const ReportSymbols symbols_;
    SiteNames resolved_;
    SiteReport sites_;
    Room room_;
    std::string out_;
};

}  // namespace

std::string render_report(const Capture& capture, const Analysis& analysis, const ReportStyle& style,
                          const Names& names, const Naming& naming) {
    return Report(capture, analysis, style, names, naming).run();
}

}  // namespace memsnap
