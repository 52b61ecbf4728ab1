// SPDX-License-Identifier: Apache-2.0
//
// Lines of JSON, and the nesting of slices.
#include "perfetto_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace memsnap {
namespace {

constexpr size_t kBuffer_bytes = 65536;
constexpr size_t kCutSlices_most = 16;  // that one end may cut in two

std::string quoted(std::string_view text) {
    return Json(text).text();
}

}  // namespace

PerfettoWriter::PerfettoWriter(snapshot::ByteSink sink) : sink_(std::move(sink)) {
    buffer_ = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n";
}

void PerfettoWriter::line(std::string_view text) {
    if (!std::exchange(first_, false)) buffer_ += ",\n";
    buffer_ += text;
    if (buffer_.size() >= kBuffer_bytes) flush();
}

void PerfettoWriter::flush() {
    if (open_) open_ = sink_(buffer_);
    buffer_.clear();
}

void PerfettoWriter::event(char phase, TraceTime time, int process, int thread, std::string_view rest) {
    last_ns_ = std::max(last_ns_, time.ns);
    line(fmt::format("{{\"ph\":\"{}\",\"ts\":{}.{:03},\"pid\":{},\"tid\":{}{}}}", phase, last_ns_ / 1000,
                     last_ns_ % 1000, process, thread, rest));
}

void PerfettoWriter::process(int process, const std::string& name) {
    line(fmt::format(R"({{"ph":"M","pid":{},"tid":0,"name":"process_name","args":{{"name":{}}}}})", process,
                     quoted(name)));
    line(
        fmt::format(R"({{"ph":"M","pid":{},"tid":0,"name":"process_sort_index","args":{{"sort_index":{}}}}})",
                    process, process));
}

void PerfettoWriter::thread(int thread, const std::string& name) {
    line(fmt::format(R"({{"ph":"M","pid":{},"tid":{},"name":"thread_name","args":{{"name":{}}}}})",
                     kJobProcess, thread, quoted(name)));
}

void PerfettoWriter::counter(TraceTime time, int process, std::string_view name, uint64_t value) {
    event('C', time, process, 0, fmt::format(R"(,"name":{},"args":{{"bytes":{}}})", quoted(name), value));
}

void PerfettoWriter::instant(TraceTime time, int process, std::string_view name,
                             const Json::Object& arguments) {
    event('i', time, process, 0,
          fmt::format(R"(,"s":"p","name":{},"args":{})", quoted(name), Json(arguments).text()));
}

void PerfettoWriter::begin(TraceTime time, int thread, const std::string& name) {
    event('B', time, kJobProcess, thread, fmt::format(R"(,"name":{})", quoted(name)));
}

void PerfettoWriter::end(TraceTime time, int thread) {
    event('E', time, kJobProcess, thread, "");
}

void PerfettoWriter::slice_begins(TraceTime time, int thread, uint64_t id, const std::string& name) {
    begin(time, thread, name);
    slices_[thread].push_back({id, name});
}

void PerfettoWriter::slice_ends(TraceTime time, int thread, uint64_t id) {
    std::vector<Slice>& open = slices_[thread];
    const auto found = std::ranges::lower_bound(open, id, {}, &Slice::id);
    if (found == open.end() || found->id != id || found->ended) return;
    if (static_cast<size_t>(open.end() - found) > kCutSlices_most + 1) {
        found->ended = true;
        return;
    }
    for (auto inner = open.end(); inner != found; --inner)
        end(time, thread);
    for (auto inner = open.erase(found); inner != open.end(); ++inner)
        begin(time, thread, inner->name);
    while (!open.empty() && open.back().ended) {
        end(time, thread);
        open.pop_back();
    }
}

bool PerfettoWriter::finish(TraceTime time, const Json::Object& metadata) {
    for (const auto& [thread, open] : slices_) {
        for (size_t left = open.size(); left != 0; --left)
            end(time, thread);
    }
    buffer_ += "\n],\"metadata\":" + Json(metadata).text() + "}\n";
    flush();
    return open_;
}

}  // namespace memsnap
