// SPDX-License-Identifier: Apache-2.0
//
// A log from its first byte to its last. The rule: it is read once, in bounded memory; where in the log a
// message stands, and in what pieces it came, changes nothing of it; what is printed twice is one message,
// and what there is no room for is counted.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "triage_message.h"
#include "triage_normalise.h"
#include "triage_phrase.h"
#include "triage_recognise.h"

namespace memsnap {

struct LogFindings {
    uint64_t bytes_read = 0;
    uint64_t line_count = 0;
    std::vector<LogMessage> messages;      // in the order of the log
    std::deque<LogStatistics> statistics;  // the newest
    std::deque<LogRefusal> refusals;       // the newest
    std::vector<LogRecording> recordings;
    std::vector<LogUnrecognised> unrecognised;
    uint64_t omitted_count = 0;  // for which there was no room
};

class LogScanner {
  public:
    LogScanner();
    void feed(std::string_view bytes);
    LogFindings finish();

  private:
    void scan(bool last);
    // Nothing: more of the log is needed.
    std::optional<Recognised> recognised(LogPhrase phrase, size_t begin, size_t behind, bool last);
    bool is_done(size_t at) const;
    void drop_front();
    void keep(Recognised found);
    void keep_open();  // nothing known stood beside it
    void add(LogMessage message);
    void add(LogUnrecognised unrecognised);
    void add(LogStatistics statistics);
    void add(LogRefusal refusal);

    LogNormaliser normaliser_;
    TightText text_;
    const PhraseFinder finder_;
    PhraseFinder::State state_ = 0;
    size_t at_ = 0;                        // in the text: the next letter to look at
    size_t reach_;                         // letters behind the phrase there, for the next try
    std::map<uint32_t, size_t> done_;      // by label: behind what was recognised
    std::optional<LogUnrecognised> open_;  // unless a known message stands in the same quote
    size_t open_end_ = 0;
    LogFindings findings_;
};

}  // namespace memsnap
