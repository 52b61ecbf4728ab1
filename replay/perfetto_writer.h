// SPDX-License-Identifier: Apache-2.0
//
// Events of a trace in Chrome's JSON form, one a line. The rule: an event is written when it is told, with a
// time that is at least that of the event before it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "../snapshot/pickle_writer.h"
#include "json.h"

namespace memsnap {

// Of the trace: each device is one, and the job that the threads belong to.
inline constexpr int kJobProcess = 1;
inline constexpr int kFirstDeviceProcess = 2;

struct TraceTime {
    uint64_t ns = 0;  // from the first event
};

class PerfettoWriter {
  public:
    explicit PerfettoWriter(snapshot::ByteSink sink);

    void process(int process, const std::string& name);
    void thread(int thread, const std::string& name);
    void counter(TraceTime time, int process, std::string_view name, uint64_t value);
    void instant(TraceTime time, int process, std::string_view name, const Json::Object& arguments);
    // Slices of one thread of the job. What ends before those inside it are over cuts them in two.
    void slice_begins(TraceTime time, int thread, uint64_t id, const std::string& name);
    void slice_ends(TraceTime time, int thread, uint64_t id);

    bool open() const { return open_; }
    // Ends what is open. False: the sink had enough.
    bool finish(TraceTime time, const Json::Object& metadata);

  private:
    struct Slice {
        uint64_t id = 0;
        std::string name;
        bool ended = false;  // too deep inside others to be cut out
    };
    void event(char phase, TraceTime time, int process, int thread, std::string_view rest);
    void begin(TraceTime time, int thread, const std::string& name);
    void end(TraceTime time, int thread);
    void line(std::string_view text);
    void flush();

    snapshot::ByteSink sink_;
    std::string buffer_;
    std::map<int, std::vector<Slice>> slices_;  // open ones by thread
    uint64_t last_ns_ = 0;
    bool first_ = true;
    bool open_ = true;
};

}  // namespace memsnap
