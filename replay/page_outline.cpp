// SPDX-License-Identifier: Apache-2.0
//
// Members of the outline; its notes go from the recording as a whole to what is missing in it.
#include "page_outline.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <numeric>

#include "json.h"
#include "report_card.h"
#include "report_headline.h"
#include "report_sites.h"
#include "report_text.h"
#include "utf8.h"

namespace memsnap {
namespace {

constexpr size_t kPlaceColumns = 400;  // of a line that a page breaks where it has to

Json or_null(const std::string& text) {
    return text.empty() ? Json() : Json(text);
}

class Outline {
  public:
    Outline(const Capture& capture, const Window& window, const Analysis& analysis, const Naming& naming,
            const PageScope& scope)
        : capture_(capture),
          window_(window),
          analysis_(analysis),
          naming_(naming),
          scope_(scope),
          told_(naming.with_names && naming.sites != nullptr),
          names_(told_ ? naming.sites->names() : kNoNames),
          resolved_(names_),
          sites_(capture, analysis, resolved_, kStyle, naming) {}

    std::string run() {
        const Levels& levels = analysis_.levels;
        Json::Array devices, command, notes;
        for (const DeviceLevels& device : levels.devices)
            devices.emplace_back(device.device);
        for (const std::string& word : scope_.command)
            command.emplace_back(utf8_text(word));
        for (std::string& note : notes_of())
            notes.emplace_back(std::move(note));
        const std::string file = std::filesystem::path(capture_.path).filename().string();
        const Json::Object outline = {{"format", 1},
                                      {"memsnap", scope_.memsnap_version},
                                      {"file", naming_.with_names ? Json(utf8_text(file)) : Json()},
                                      {"command", std::move(command)},
                                      {"with_names", naming_.with_names},
                                      {"synthetic", false},
                                      {"window", window_json()},
                                      {"clock", clock_known()},
                                      {"headline", headline_json()},
                                      {"notes", std::move(notes)},
                                      {"devices", std::move(devices)}};
        return Json(outline).text();
    }

  private:
    static constexpr ReportStyle kStyle = {.colour = false, .utf8 = true};
    static const Names kNoNames;

    bool from_keyframe() const { return analysis_.incident && analysis_.incident->from_keyframe; }

    bool clock_known() const {
        const std::vector<LevelRun>& runs = analysis_.levels.runs;
        return !runs.empty() && capture_.monotonic_ns(runs.front().first_counter).has_value();
    }

    Json::Object window_json() const {
        return {{"first_ticket", window_.events.begin_ticket()},
                {"end_ticket", window_.events.end_ticket()},
                {"event_count", window_.facts.accepted_count},
                {"keyframe", from_keyframe()},
                {"exact_first_ticket", scope_.exact_first_ticket},
                {"exact_event_count", scope_.exact_event_count},
                {"births_known_from_ticket", births_known_from_ticket()}};
    }

    // Of what is live and was born before it nobody knows since when it was there; 0: all births are known.
    uint64_t births_known_from_ticket() const {
        const HeaderFacts& header = capture_.header;
        return capture_.late_start() ? header.initial_until_ticket : 0;
    }

    Json::Object headline_json() const {
        const Headline told = headline(capture_, analysis_, names_, ReportSymbols(kStyle.utf8));
        std::string cause = told.cause;
        if (!told.unexcluded.empty()) cause += ", " + told.unexcluded;
        return {{"title", told.title},
                {"event", told.event + told.beside},
                {"cause", or_null(cause)},
                {"at", or_null(sites_.place(kPlaceColumns))}};
    }

    std::vector<std::string> notes_of() {
        for (const std::string_view sentence : source_sentences(capture_.header))
            notes_.emplace_back(sentence);
        extent_notes();
        loss_notes();
        observation_notes();
        // The report's lines, without their indent.
        for (const std::vector<std::string>& lines :
             {blind_lines(capture_, analysis_.replay, names_), sites_.blind()}) {
            for (const std::string& line : lines)
                notes_.push_back(line.substr(line.find_first_not_of(' ')));
        }
        return std::move(notes_);
    }

    // How much of the job the page shows.
    void extent_notes() {
        const WindowFacts& facts = window_.facts;
        if (from_keyframe())
            note("the ring does not hold the failing instant: these are the {} that were kept with it",
                 counted(facts.accepted_count, "event"));
        if (scope_.exact_event_count < facts.accepted_count)
            note(
                "of {} events {} are here one by one, from event {} on; all of them are summed up in {}, "
                "with the least, the greatest and the last value of each",
                grouped(facts.accepted_count), grouped(scope_.exact_event_count), scope_.exact_first_ticket,
                counted(analysis_.levels.runs.size(), "run"));
        const uint64_t first = window_.events.begin_ticket();
        if (!from_keyframe() && first != 0)
            note("events before {} are not in the ring, and what was live then is known", first);
        if (analysis_.levels.devices.size() > 1)
            note("{} cards: each has lanes and a map of its own", analysis_.levels.devices.size());
    }

    // The word of the recorder on what it could not keep.
    void loss_notes() {
        const WindowFacts& facts = window_.facts;
        if (facts.missing_count != 0)
            note("{} missing in the window, {} of them torn",
                 facts.missing_count == 1 ? "1 event is" : grouped(facts.missing_count) + " events are",
                 grouped(facts.torn_count));
        if (facts.unknown_kind_count != 0)
            note("{} of kinds that this build does not know left out",
                 facts.unknown_kind_count == 1 ? "1 event is"
                                               : grouped(facts.unknown_kind_count) + " events are");
        const uint64_t lost = capture_.header.counters.lost;
        if (lost != 0) note("the recorder had no place for {}", counted(lost, "event"));
        constexpr std::pair<Uncertainty, std::string_view> kTold[] = {
            {Uncertainty::late_start, "recording began in a running process: what was there is told in part"},
            {Uncertainty::table_incomplete, "the table of what is live was full for some time"},
            {Uncertainty::copied_while_written, "the file was copied while the job wrote it"},
            {Uncertainty::recording_dormant, "no ring was kept: the recorder was in standby"}};
        for (const auto& [uncertainty, sentence] : kTold) {
            // In standby a failure has a window of its own, which lacks nothing; the file has no ring.
            const bool of_file = uncertainty == Uncertainty::recording_dormant;
            if ((of_file ? capture_.window.facts : facts).is_uncertain(uncertainty))
                notes_.emplace_back(sentence);
        }
        const auto& tolerated = analysis_.replay.tolerated;
        const uint64_t count = std::accumulate(tolerated.begin(), tolerated.end(), uint64_t{0});
        if (count != 0)
            note(
                "{} at odds with the state before {}, and tolerated: a loss was declared, or the driver "
                "alone is concerned",
                count == 1 ? "1 event is" : grouped(count) + " events are", count == 1 ? "it" : "them");
    }

    void observation_notes() {
        if (!clock_known()) notes_.emplace_back("times are not known: the axis is the order of events");
        for (const DeviceLevels& device : analysis_.levels.devices) {
            const bool known = std::ranges::any_of(device.ranges, [](const LaneRanges& ranges) {
                return ranges[static_cast<size_t>(LevelLane::used)].known;
            });
            if (!known)
                note(
                    "no answer in the window tells what is free on cuda:{}: what the device used is not "
                    "known",
                    device.device);
        }
    }

    template <class... T>
    void note(fmt::format_string<T...> format, T&&... values) {
        notes_.push_back(fmt::format(format, std::forward<T>(values)...));
    }

    const Capture& capture_;
    const Window& window_;
    const Analysis& analysis_;
    const Naming& naming_;
    const PageScope& scope_;
    const bool told_;
    const Names& names_;
    SiteNames resolved_;
    const SiteReport sites_;
    std::vector<std::string> notes_;
};

const Names Outline::kNoNames = {};

}  // namespace

std::string page_outline(const Capture& capture, const Window& window, const Analysis& analysis,
                         const Naming& naming, const PageScope& scope) {
    return Outline(capture, window, analysis, naming, scope).run();
}

}  // namespace memsnap
