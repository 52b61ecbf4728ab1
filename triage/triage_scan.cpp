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

// A message is often printed again without the prefix of its writer, by a launcher that sums up.
bool may_be_one(const LogLabel& one, const LogLabel& other) {
    return one == other || one.none() || other.none();
}

}  // namespace

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
    const size_t reach = last ? 0 : kRecogniserReach;
    const size_t end = text_.size() > reach ? text_.size() - reach : 0;
    const std::string_view letters = text_.letters();
    PhraseFinder::State state = state_;
    for (; at_ < end; ++at_) {
        state = finder_.step(state, letters[at_]);
        const LogPhrase phrase = finder_.phrase(state);
        if (phrase == LogPhrase::none) continue;
        const size_t begin = at_ + 1 - finder_.length(state);
        if (is_done(begin)) continue;
        Recognised found = recognise(text_, phrase, begin, at_ + 1);
        const bool unrecognised = std::holds_alternative<LogUnrecognised>(found.what);
        size_t& done = done_[text_.run_of(begin).label];
        done = std::max(done, unrecognised ? at_ + 1 : found.end);
        keep(std::move(found));
    }
    state_ = state;
    drop_front();
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
