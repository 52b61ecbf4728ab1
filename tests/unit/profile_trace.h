// SPDX-License-Identifier: Apache-2.0
//
// Traces of PyTorch's profiler as texts, and what is read out of them.
#pragma once

#include <fstream>
#include <string>
#include <vector>

#include "../../snapshot/read_profile.h"
#include "catch.h"
#include "ring_fixture.h"

namespace memsnap::test {

struct TraceText {
    std::string events;

    TraceText& add(const std::string& event) {
        events += events.empty() ? event : ",\n" + event;
        return *this;
    }
    // `bytes` below 0: a free. The totals are those after the event.
    TraceText& memory(const std::string& time_us, uint64_t address, int64_t bytes, uint64_t allocated_bytes,
                      uint64_t reserved_bytes, int device = 0) {
        return add(
            R"({"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": 7, "tid": 8, "ts": )" +
            time_us + R"(, "args": {"Total Reserved": )" + std::to_string(reserved_bytes) +
            R"(, "Total Allocated": )" + std::to_string(allocated_bytes) + R"(, "Bytes": )" +
            std::to_string(bytes) + R"(, "Device Id": )" + std::to_string(device) +
            R"(, "Device Type": 1, "Addr": )" + std::to_string(address) + R"(, "Ev Idx": 3}})");
    }
    TraceText& oom(const std::string& time_us, const std::string& bytes, uint64_t allocated_bytes,
                   uint64_t reserved_bytes) {
        return add(R"({"name": "[OutOfMemory]", "ph": "i", "pid": 7, "ts": )" + time_us +
                   R"(, "args": {"Total Reserved": )" + std::to_string(reserved_bytes) +
                   R"(, "Total Allocated": )" + std::to_string(allocated_bytes) + bytes +
                   R"(, "Device Id": 0, "Device Type": 1}})");
    }
    TraceText& range(const std::string& name, const std::string& begin_us, const std::string& duration_us,
                     const std::string& category = "user_annotation") {
        return add(R"({"ph": "X", "cat": ")" + category + R"(", "name": ")" + name +
                   R"(", "pid": 7, "ts": )" + begin_us + R"(, "dur": )" + duration_us + "}");
    }
    std::string text() const {
        return R"({"schemaVersion": 1, "deviceProperties": [{"id": 0}], "baseTimeNanoseconds": 1000, "traceEvents": [)" +
               events + R"(], "traceName": "trace.json"})";
    }
};

inline Result<snapshot::Profile> read_text(const std::string& content) {
    const Folder folder;
    std::ofstream(folder.file("trace.json"), std::ios::binary) << content;
    return snapshot::read_profile(folder.file("trace.json"));
}

}  // namespace memsnap::test
