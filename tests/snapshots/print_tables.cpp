// SPDX-License-Identifier: Apache-2.0
//
// The tables of a snapshot as lines of text, for tests: `snapshot_tables FILE`. Each line is a kind of row
// and its values; `-` is what the file does not tell. Texts are hexadecimal behind `'`, stacks
// `file:line:function,...`, innermost first.
#include <fmt/format.h>

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>

#include "../../snapshot/read_snapshot.h"

namespace {

using namespace memsnap::snapshot;

constexpr const char* kActions[] = {"alloc",        "free_requested", "free_completed", "segment_alloc",
                                    "segment_free", "segment_map",    "segment_unmap",  "snapshot",
                                    "oom",          "annotate",       "unknown"};
constexpr const char* kStates[] = {"active_allocated", "active_pending_free", "inactive"};

class Printer {
  public:
    explicit Printer(const Snapshot& snapshot) : snapshot_(snapshot) {}

    void all() const {
        segments("segment", snapshot_.segments, snapshot_.blocks);
        segments("host_segment", snapshot_.host_segments, snapshot_.host_blocks);
        for (size_t device = 0; device < snapshot_.traces.size(); ++device) {
            fmt::print("trace {}\n", device);
            entries(snapshot_.traces[device]);
        }
        fmt::print("host_trace\n");
        entries(snapshot_.host_trace);
        for (const Annotation& one : snapshot_.annotations)
            fmt::print("annotation {} {} {} {}\n", text(one.name), one.starts ? "START" : "END", one.device,
                       one.time_us);
        for (const Observation& one : snapshot_.observations)
            fmt::print("observation {} {} {} {}\n", one.device, one.before_entry, one.total_bytes,
                       one.free_bytes);
        settings(snapshot_.settings);
        fmt::print("tap {}\n", snapshot_.tap);
        for (const std::string& name : snapshot_.ignored)
            fmt::print("ignored {}\n", name);
    }

  private:
    std::string text(TextId id) const {
        std::string shown = "'";
        for (const char c : snapshot_.texts.text(id))
            shown += fmt::format("{:02x}", static_cast<unsigned char>(c));
        return shown;
    }
    std::string stack(StackId id) const {
        if (id == 0) return "-";
        std::string shown = "[";
        for (const Frame& frame : snapshot_.stacks.frames(id))
            shown += fmt::format("{}{}:{}:{}", shown.size() == 1 ? "" : ",", text(frame.file), frame.line,
                                 text(frame.function));
        return shown + "]";
    }
    static std::string pool(uint16_t number) {
        return number == kPoolUnknown ? "-" : fmt::format("{}", number);
    }
    static std::string optional(const std::optional<uint64_t>& number) {
        return number ? fmt::format("{}", *number) : "-";
    }

    void segments(const char* kind, const std::vector<Segment>& segments,
                  const std::vector<Block>& blocks) const {
        for (const Segment& one : segments) {
            fmt::print("{} {} {} {} {} {} {} {} {} {} {} {}\n", kind, one.device, one.address,
                       one.total_bytes, one.allocated_bytes, one.active_bytes, optional(one.requested_bytes),
                       one.stream, pool(one.pool), one.small ? "small" : "large",
                       one.expandable ? "expandable" : "fixed", stack(one.stack));
            for (uint32_t at = one.first_block; at < one.first_block + one.block_count; ++at) {
                const Block& block = blocks[at];
                fmt::print("block {} {} {} {} {} {}\n", block.address, block.size_bytes,
                           optional(block.requested_bytes), kStates[static_cast<size_t>(block.state)],
                           text(block.user_metadata), stack(block.stack));
            }
        }
    }
    void entries(const std::vector<TraceEntry>& entries) const {
        for (const TraceEntry& one : entries)
            fmt::print("entry {} {} {} {} {} {} {} {}\n", kActions[static_cast<size_t>(one.action)],
                       one.address, one.size_bytes, one.stream,
                       one.has_time ? fmt::format("{}", one.time_us) : "-", pool(one.pool),
                       text(one.user_metadata), stack(one.stack));
    }
    static void settings(const Settings& one) {
        if (!one.known) return;
        fmt::print("settings {} {} {}\n", one.expandable_segments ? "expandable" : "fixed",
                   optional(one.max_split_size_bytes),
                   optional(one.gc_threshold_permille ? std::optional<uint64_t>(*one.gc_threshold_permille)
                                                      : std::nullopt));
        for (const auto& [bound, divisions] : one.roundup_power2_divisions)
            fmt::print("roundup {} {}\n", bound, divisions);
    }

    const Snapshot& snapshot_;
};

// Of this program alone: getrusage() would begin with that of whoever started it.
uint64_t peak_kib() {
    std::ifstream status("/proc/self/status");
    std::string word;
    while (status >> word && word != "VmHWM:") {
    }
    uint64_t kib = 0;
    status >> kib;
    return kib;
}

}  // namespace

int main(int argc, char** argv) {
    const bool is_count = argc == 3 && std::string_view(argv[1]) == "--count";
    if (argc != 2 && !is_count) {
        std::fprintf(stderr, "usage: snapshot_tables [--count] FILE\n");
        return 2;
    }
    const auto snapshot = read_snapshot(argv[argc - 1]);
    if (!snapshot) {
        std::fprintf(stderr, "%s\n", memsnap::describe(snapshot.error()).c_str());
        return static_cast<int>(snapshot.error().code);
    }
    if (is_count) {
        size_t entries = 0;
        for (const auto& trace : snapshot->traces)
            entries += trace.size();
        fmt::print("{} entries, {} blocks, {} stacks, {} texts, peak {} KiB\n", entries,
                   snapshot->blocks.size(), snapshot->stacks.count(), snapshot->texts.count(), peak_kib());
    } else {
        Printer(*snapshot).all();
    }
}
