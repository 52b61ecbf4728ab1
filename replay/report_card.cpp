// SPDX-License-Identifier: Apache-2.0
//
// Rows of the split, in the order of who is asked first.
#include "report_card.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "report_text.h"

namespace memsnap {
namespace {

constexpr size_t kLibrariesShown_count = 6;
constexpr unsigned kBarColumns = 24;
constexpr unsigned kNarrowBarColumns = 16;

struct Row {
    std::string label;
    std::string note;
    Wide now_bytes = 0;
    Wide peak_bytes = 0;
    bool always = false;  // also when it is 0
};

struct Held {
    uint16_t library = 0;
    uint64_t now_bytes = 0;
    uint64_t peak_bytes = 0;
};

// Most bytes first.
std::vector<Held> libraries_of(const Balance& now, const Balance& peak) {
    std::map<uint16_t, Held> by_library;
    for (const ForeignBytes& held : now.libraries)
        by_library[held.library].now_bytes = held.bytes;
    for (const ForeignBytes& held : peak.libraries)
        by_library[held.library].peak_bytes = held.bytes;
    std::vector<Held> list;
    for (auto& [library, held] : by_library) {
        held.library = library;
        list.push_back(held);
    }
    std::ranges::stable_sort(list, std::greater{},
                             [](const Held& held) { return std::max(held.now_bytes, held.peak_bytes); });
    return list;
}

std::string_view when_asked(BalanceSource source) {
    switch (source) {
        case BalanceSource::observed:
            return "";
        case BalanceSource::carried:
            return "by the last answer before it";
        case BalanceSource::carried_back:
            return "by the first answer after it";
        case BalanceSource::unknown:
            break;
    }
    return "";
}

class CardRows {
  public:
    CardRows(const Capture& capture, const Names& names, const CardView& view, Letters letters)
        : capture_(capture),
          names_(names),
          view_(view),
          now_(view.now),
          peak_(view.peak),
          letters_(letters) {}

    std::vector<Row> run() {
        add_torch();
        add_libraries();
        const bool known = now_.others_bytes.has_value();
        if (now_.unattributed_bytes) {
            add(known ? "context, modules" : "context, neighbours",
                known ? "residual" : "residual: nobody told of others", *now_.unattributed_bytes,
                peak_.unattributed_bytes.value_or(0));
        }
        std::string count;
        if (view_.other_process_count)
            count = fmt::format("{} process{}", *view_.other_process_count,
                                *view_.other_process_count == 1 ? "" : "es");
        add("other processes", count, now_.others_bytes.value_or(0), peak_.others_bytes.value_or(0));
        add("free", now_.source == BalanceSource::observed ? "on the device" : "residual: not asked then",
            *now_.free_bytes, peak_.free_bytes.value_or(0));
        rows_.back().always = true;
        return std::move(rows_);
    }

  private:
    void add(std::string label, std::string note, Wide now_bytes, Wide peak_bytes) {
        rows_.push_back({std::move(label), std::move(note), now_bytes, peak_bytes});
    }

    void add_torch() {
        std::string in_use = "tensors in use";
        if (view_.waiting_bytes != 0)
            in_use = fmt::format("{} of it waits for a stream", size_text(view_.waiting_bytes));
        if (now_.unseen_bytes != 0)
            in_use = fmt::format("{} from before recording", size_text(now_.unseen_bytes));
        add("active", in_use, now_.active_bytes, peak_.active_bytes);
        rows_.back().always = true;
        const bool asked = view_.request_bytes.has_value();
        add("fragmented",
            asked ? "free, in holes below " + size_text(*view_.request_bytes) : "in segments nobody saw",
            now_.fragmented_bytes, peak_.fragmented_bytes);
        add("reusable", asked ? "free, in holes that may fit" : "free, in PyTorch's segments",
            now_.reusable_bytes, peak_.reusable_bytes);
        add("incompatible", "free, in other pools or classes", now_.incompatible_bytes,
            peak_.incompatible_bytes);
    }

    void add_libraries() {
        Held rest;
        size_t shown = 0, left_out = 0;
        for (const Held& held : libraries_of(now_, peak_)) {
            if (shown++ < kLibrariesShown_count) {
                add(library_label(capture_, names_, held.library, letters_), "of this process",
                    held.now_bytes, held.peak_bytes);
            } else {
                rest.now_bytes += held.now_bytes;
                rest.peak_bytes += held.peak_bytes;
                ++left_out;
            }
        }
        if (left_out != 0)
            add("other libraries", fmt::format("{} of this process", left_out), rest.now_bytes,
                rest.peak_bytes);
    }

    const Capture& capture_;
    const Names& names_;
    const CardView& view_;
    const Balance& now_;
    const Balance& peak_;
    const Letters letters_;
    std::vector<Row> rows_;
};

std::vector<int64_t> rounded(const std::vector<Row>& rows, Wide Row::*bytes) {
    std::vector<Wide> parts;
    for (const Row& row : rows)
        parts.push_back(row.*bytes);
    return hundredths_of_parts(parts);
}

}  // namespace

std::string library_label(const Capture& capture, const Names& names, uint16_t library, Letters letters) {
    if (library == 0) return "unknown library";
    const std::string* const name = names.of_library(capture, library);
    if (name == nullptr) return fmt::format("library {}", library);
    return cut_to_columns(shown_text(*name, letters), kCardLabelColumns);
}

std::vector<std::string> card_lines(const Capture& capture, const Names& names, const ReportStyle& style,
                                    const CardView& view) {
    if (!view.now.free_bytes) return {};
    const std::vector<Row> rows = CardRows(capture, names, view, letters(style.utf8)).run();
    const std::vector<int64_t> now = rounded(rows, &Row::now_bytes);
    const std::vector<int64_t> peak = rounded(rows, &Row::peak_bytes);
    const bool two = view.peak.total_bytes && peak != now;
    // Where nobody told the card's size, what is not a row here is not known.
    Wide whole_bytes = view.now.total_bytes.value_or(0);
    if (!view.now.total_bytes) {
        for (const Row& row : rows)
            whole_bytes += std::max(Wide{0}, row.now_bytes);
    }
    std::vector<std::string> lines;
    if (two) {
        const std::string_view asked = when_asked(view.peak.source);
        lines.push_back(fmt::format("  {:<{}} {:>12}  {:>8}  {:<{}}  {}", "", kCardLabelColumns,
                                    view.now.instant == BalanceInstant::failure ? "failure" : "end", "peak",
                                    "", kNarrowBarColumns,
                                    asked.empty() ? "" : fmt::format("peak: {}", asked)));
    }
    const unsigned columns = two ? kNarrowBarColumns : kBarColumns;
    for (size_t index = 0; index < rows.size(); ++index) {
        const Row& row = rows[index];
        if (now[index] == 0 && (!two || peak[index] == 0) && !row.always) continue;
        const auto length = static_cast<uint64_t>(std::clamp(row.now_bytes, Wide{0}, Wide{UINT64_MAX}));
        const auto whole = static_cast<uint64_t>(std::min(whole_bytes, Wide{UINT64_MAX}));
        const std::string drawn = bar(length, whole, columns, style.utf8);
        const std::string beside = two ? fmt::format("{:>8}  ", hundredths_text(peak[index])) : "";
        lines.push_back(fmt::format("  {:<{}} {:>8} GiB  {}{:<{}}  {}", row.label, kCardLabelColumns,
                                    hundredths_text(now[index]), beside, drawn, columns, row.note));
    }
    if (!view.now.total_bytes)
        lines.push_back(fmt::format("  {:<{}} {:>12}  the card's size is unknown", "everything else",
                                    kCardLabelColumns, "unknown"));
    return lines;
}

std::vector<std::string_view> source_sentences(const HeaderFacts& header) {
    std::vector<std::string_view> sentences;
    switch (header.origin) {
        case Origin::recorder:
            break;
        case Origin::torch_snapshot:
            sentences.emplace_back(
                "from a memory snapshot of PyTorch's: what other libraries and processes hold is not in it");
            break;
        case Origin::profiler_trace:
            sentences.emplace_back(
                "from a trace of PyTorch's profiler: what other libraries and processes hold is not in it");
            break;
        case Origin::unknown:
            sentences.emplace_back("not from memsnap's recorder, but from a program that is not known here");
            break;
    }
    if (header.total_stated)
        sentences.emplace_back("the card's size was stated by whoever asked, and observed by nobody");
    return sentences;
}

std::vector<std::string_view> arming_sentences(const Capture& capture) {
    const HeaderFacts& header = capture.header;
    std::vector<std::string_view> sentences;
    if (header.origin != Origin::recorder) return sentences;
    if (capture.late_start())
        sentences.emplace_back(
            "armed in a running process: what was there before is known as far as it was told");
    if (capture.window.facts.is_uncertain(Uncertainty::recording_dormant)) {
        sentences.emplace_back(
            "in standby: no events are kept, but what is live, exact peaks and failures are");
    } else if (header.arm_state == ArmState::standby) {
        sentences.emplace_back("disarmed, and in standby again: its events end there");
    } else if (header.arm_state == ArmState::cold) {
        sentences.emplace_back("disarmed: nothing was recorded from there on");
    }
    if (header.superseded) sentences.emplace_back("the process was armed again: a newer recording goes on");
    return sentences;
}

std::string requested_line(const Requests& requests) {
    if (!requests.requested_bytes || requests.granted_bytes == 0) return {};
    if (*requests.requested_bytes > Wide{requests.granted_bytes}) {
        return fmt::format("  {:<{}} {:>12}  more than the live blocks that are known hold", "requested",
                           kCardLabelColumns, wide_size_text(*requests.requested_bytes));
    }
    const Wide share_permyriad = *requests.requested_bytes * 10000 / requests.granted_bytes;
    std::string note = fmt::format("{}.{:02}% of live blocks", to_decimal(share_permyriad / 100),
                                   static_cast<int>(share_permyriad % 100));
    if (requests.told_granted_bytes == requests.granted_bytes) {
        note += fmt::format("; rounding {}, kept {}", wide_size_text(requests.told_rounding_bytes),
                            wide_size_text(requests.told_kept_bytes()));
    }
    return fmt::format("  {:<{}} {:>12}  {}", "requested", kCardLabelColumns,
                       wide_size_text(*requests.requested_bytes), note);
}

std::vector<std::string> beside_lines(const Balance& balance) {
    std::vector<std::string> lines;
    const auto add = [&](std::string_view label, Wide bytes, std::string_view note) {
        if (bytes == 0) return;
        lines.push_back(fmt::format("  {:<{}} {:>12}  beside the card: {}", label, kCardLabelColumns,
                                    wide_size_text(bytes), note));
    };
    const BesideBytes& beside = balance.beside;
    add("managed", beside.managed_bytes, "the driver moves it between host and device");
    add("pinned", beside.pinned_bytes, "on the host");
    add("imported", beside.imported_bytes,
        fmt::format("{} of other processes, counted there", beside.imported_count));
    add("graph nodes", beside.graph_bytes, "memory only while a graph runs");
    return lines;
}

std::vector<std::string> blind_lines(const Capture& capture, const ReplayOutcome& outcome,
                                     const Names& names) {
    std::vector<std::string> lines;
    switch (capture.header.sampling) {
        case Sampling::off:
            lines.emplace_back("  NVML was switched off: nothing tells of other processes");
            break;
        case Sampling::nvml_missing:
            lines.emplace_back("  NVML was not found: nothing tells of other processes");
            break;
        case Sampling::nvml_failed:
            lines.emplace_back("  NVML refused: nothing tells of other processes");
            break;
        case Sampling::unknown:
        case Sampling::nvml:
            break;
    }
    std::vector<std::string> reasons;
    for (size_t code = 1; code < kBlindCount; ++code) {
        if (outcome.blind[code] != 0)
            reasons.push_back(fmt::format("{} ({})", name(static_cast<Blind>(code)), outcome.blind[code]));
    }
    if (!reasons.empty()) lines.push_back(fmt::format("  not hooked: {}", fmt::join(reasons, ", ")));
    if (!names.problem.empty())
        lines.push_back(fmt::format("  libraries go by number: the file of names beside the recording {}",
                                    names.problem));
    return lines;
}

}  // namespace memsnap
