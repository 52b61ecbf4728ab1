// SPDX-License-Identifier: Apache-2.0
//
// Letters through the automaton; at a phrase the recogniser, once enough of the log lies behind it.
#include "triage_scan.h"

#include <algorithm>
#include <functional>
#include <string>
#include <utility>

#include "triage_statistics.h"

namespace memsnap {
namespace {

constexpr size_t kKept_most = 1000;
constexpr size_t kPiece_bytes = 1 << 16;
constexpr size_t kBehind_letters = 512;  // that a recogniser may look back
// That it may look ahead, in letters and in lines. A try that met the end of its letters is done again with
// twice as many: few messages need more than the least.
constexpr size_t kAhead_least_letters = 1 << 13;
constexpr size_t kAhead_most_letters = 1 << 18;
constexpr size_t kAhead_most_lines = 4096;
static_assert(kAhead_least_letters > kQuoteBehind_most);

// A message is often printed again without the prefix of its writer, by a launcher that sums up.
bool may_be_one(const LogLabel& one, const LogLabel& other) {
    return one == other || one.none() || other.none();
}

}  // namespace

LogScanner::LogScanner() : reach_(kAhead_least_letters) {}

void LogScanner::feed(std::string_view bytes) {
    for (; !bytes.empty(); bytes.remove_prefix(std::min(bytes.size(), kPiece_bytes))) {
        normaliser_.feed(bytes.substr(0, kPiece_bytes), false, text_);
        scan(false);
    }
}

LogFindings LogScanner::finish() {
    normaliser_.feed({}, true, text_);
    scan(true);
    keep_open();
    findings_.bytes_read = normaliser_.bytes_read();
    findings_.line_count = normaliser_.line_count();
    return std::move(findings_);
}

void LogScanner::scan(bool last) {
    const std::string_view letters = text_.letters();
    PhraseFinder::State before = state_;
    for (; at_ < letters.size(); ++at_) {
        const PhraseFinder::State state = finder_.step(before, letters[at_]);
        const LogPhrase phrase = finder_.phrase(state);
        if (phrase != LogPhrase::none) {
            const size_t begin = at_ + 1 - finder_.length(state);
            if (!is_done(begin)) {
                auto found = recognised(phrase, begin, at_ + 1, last);
                if (!found) break;
                const bool unrecognised = std::holds_alternative<LogUnrecognised>(found->what);
                size_t& done = done_[text_.run_of(begin).label];
                done = std::max(done, unrecognised ? at_ + 1 : found->end);
                keep(std::move(*found));
            }
        }
        before = state;
    }
    state_ = before;
    drop_front();
}

std::optional<Recognised> LogScanner::recognised(LogPhrase phrase, size_t begin, size_t behind, bool last) {
    const auto& runs = text_.runs();
    const size_t run = text_.run_index(begin);
    const bool many_lines = runs.size() - run > kAhead_most_lines;
    for (;; reach_ *= 2) {
        LogHorizon horizon{behind + reach_};
        if (many_lines) horizon.end = std::min(horizon.end, runs[run + kAhead_most_lines].begin);
        if (horizon.end > text_.size() && !last) return std::nullopt;
        horizon.end = std::min(horizon.end, text_.size());
        Recognised found = recognise(text_, phrase, begin, behind, horizon);
        const bool more = horizon.end == behind + reach_ && reach_ < kAhead_most_letters;
        if (horizon.met && more) continue;
        reach_ = kAhead_least_letters;
        return found;
    }
}

// Inside what was recognised of this writer; lines of nobody may belong to any.
bool LogScanner::is_done(size_t at) const {
    const uint32_t label = text_.run_of(at).label;
    if (const auto own = done_.find(label); own != done_.end() && at < own->second) return true;
    return label == TightText::kNoLabel &&
           std::ranges::any_of(done_, [&](const auto& one) { return at < one.second; });
}

void LogScanner::drop_front() {
    if (at_ <= kBehind_letters) return;
    const size_t dropped = at_ - kBehind_letters;
    text_.drop_front(dropped);
    at_ -= dropped;
    open_end_ -= std::min(open_end_, dropped);
    for (auto& [label, done] : done_)
        done -= std::min(done, dropped);
    std::erase_if(done_, [](const auto& one) { return one.second == 0; });
}

void LogScanner::keep(Recognised found) {
    if (open_ && found.begin >= open_end_) keep_open();
    if (auto* const message = std::get_if<LogMessage>(&found.what)) {
        open_.reset();
        add(std::move(*message));
    } else if (auto* const statistics = std::get_if<LogStatistics>(&found.what)) {
        add(std::move(*statistics));
    } else if (auto* const refusal = std::get_if<LogRefusal>(&found.what)) {
        add(std::move(*refusal));
    } else if (auto* const recording = std::get_if<LogRecording>(&found.what)) {
        if (findings_.recordings.size() < kKept_most) findings_.recordings.push_back(*recording);
    } else if (auto* const unrecognised = std::get_if<LogUnrecognised>(&found.what); unrecognised && !open_) {
        open_ = std::move(*unrecognised);
        open_end_ = found.end;
    }
}

void LogScanner::keep_open() {
    if (open_) add(std::move(*open_));
    open_.reset();
}

void LogScanner::add(LogMessage message) {
    message.fingerprint = message.numbers_fingerprint();
    for (LogMessage& known : findings_.messages) {
        if (known.fingerprint != message.fingerprint) continue;
        if (!known.same_numbers(message) || !may_be_one(known.place.label, message.place.label)) continue;
        // Without a number nothing tells two errors of one format apart.
        if (known.format != message.format && !message.asked.known()) continue;
        ++known.seen_count;
        if (known.place.label.none()) known.place.label = message.place.label;
        return;
    }
    if (findings_.messages.size() == kKept_most) {
        ++findings_.omitted_count;
    } else {
        findings_.messages.push_back(std::move(message));
    }
}

void LogScanner::add(LogUnrecognised unrecognised) {
    unrecognised.fingerprint = std::hash<std::string>{}(unrecognised.quote);
    for (LogUnrecognised& known : findings_.unrecognised) {
        if (known.fingerprint != unrecognised.fingerprint) continue;
        if (known.kind != unrecognised.kind || known.quote != unrecognised.quote) continue;
        ++known.seen_count;
        return;
    }
    if (findings_.unrecognised.size() == kKept_most) {
        ++findings_.omitted_count;
    } else {
        findings_.unrecognised.push_back(std::move(unrecognised));
    }
}

void LogScanner::add(LogStatistics statistics) {
    if (!statistics.table) {
        // Prints of several writers may be interleaved.
        size_t tries = 0;
        for (auto known = findings_.statistics.rbegin(); known != findings_.statistics.rend() && tries < 64;
             ++known, ++tries) {
            if (known->table || known->place.label != statistics.place.label) continue;
            if (!continues(*known, statistics)) break;
            join(*known, statistics);
            return;
        }
    }
    // The newest are wanted: those around the last failures.
    if (findings_.statistics.size() == kKept_most) findings_.statistics.pop_front();
    findings_.statistics.push_back(std::move(statistics));
}

void LogScanner::add(LogRefusal refusal) {
    if (findings_.refusals.size() == kKept_most) findings_.refusals.pop_front();
    findings_.refusals.push_back(std::move(refusal));
}

}  // namespace memsnap
