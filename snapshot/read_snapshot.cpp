// SPDX-License-Identifier: Apache-2.0
//
// The whole of a snapshot from its parts. The rule: each part has one place; what lies where it cannot be, or
// in two places, is refused with its path.
#include "read_snapshot.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "read_rest.h"
#include "read_tables.h"

namespace memsnap::snapshot {

namespace {

// What a dictionary is told by.
const char* wanted(Kind kind) {
    if (kind == Kind::entry) return "a trace entry, which has an `action`";
    if (kind == Kind::segment) return "a segment, which has a `total_size`";
    if (kind == Kind::block) return "a block, which has a `state`";
    return "an annotation, which has a `stage`";
}

constexpr size_t kIgnoredName_bytes_most = 100;

// The first bytes of a text, up to a whole character.
std::string_view beginning(std::string_view text, size_t bytes_most) {
    if (text.size() <= bytes_most) return text;
    size_t size = bytes_most;
    while (size > 0 && (static_cast<uint8_t>(text[size]) & 0xC0U) == 0x80U)
        --size;
    return text.substr(0, size);
}

class Assembly {
  public:
    Assembly(Snapshot& out, Tables& tables) : out_(out), tables_(tables) {}

    bool whole(const Value& top);
    const Error& error() const { return error_; }

  private:
    bool not_a_snapshot(const Value& top);
    bool wrong(const std::string& path, const std::string& detail, std::optional<uint64_t> offset_bytes = {});
    bool wrong(const std::string& path, const Problem& problem);
    bool wrong_part(const std::string& path, const Value& part, const char* wanted);
    template <class F>
    bool each(const std::string& path, const Value& list, Kind kind, Kind many, F&& part);

    bool traces(const Value& value);
    bool trace(const std::string& path, const Value& value, std::vector<TraceEntry>& entries);
    bool host_traces(const Value& value);
    bool segments(const std::string& path, const Value& value, std::vector<Segment>& segments,
                  std::vector<Block>& blocks);
    bool blocks_of(const std::string& path, const ReadSegment& read, Segment& segment,
                   std::vector<Block>& blocks);
    bool annotations(const Value& value);
    void ignored(const Value& top);

    Snapshot& out_;
    Tables& tables_;
    Error error_;
};

bool Assembly::not_a_snapshot(const Value& top) {
    error_.code = ErrorCode::not_memsnap;
    error_.rule = "snapshot";
    error_.detail = fmt::format("is a pickle of {}, not a memory snapshot", noun_of(top));
    error_.way_out = "save a snapshot with torch.cuda.memory._dump_snapshot";
    return false;
}

bool Assembly::wrong(const std::string& path, const std::string& detail,
                     std::optional<uint64_t> offset_bytes) {
    error_.code = ErrorCode::corrupt;
    error_.rule = "snapshot";
    error_.offset_bytes = offset_bytes;
    error_.detail = path + " " + detail;
    error_.way_out = "the file was changed or is of an unknown release: save it again, unchanged";
    return false;
}

bool Assembly::wrong(const std::string& path, const Problem& problem) {
    const bool joined = problem.path.empty() || problem.path.starts_with('[');
    return wrong(path + (joined ? "" : ".") + problem.path, problem.detail, problem.offset_bytes);
}

bool Assembly::wrong_part(const std::string& path, const Value& part, const char* wanted) {
    if (part.kind == Kind::bad) return wrong(path, tables_.problems[part.wide]);
    return wrong(path, fmt::format("is {}, not {}", noun_of(part), wanted));
}

// Calls `part` with the number of each part of a list: consecutive ones, or a list of single ones.
template <class F>
bool Assembly::each(const std::string& path, const Value& list, Kind kind, Kind many, F&& part) {
    if (list.kind == many) {
        for (uint64_t at = 0; at < list.low; ++at)
            if (!part(at, list.wide + at)) return false;
        return true;
    }
    if (list.kind == Kind::none) return true;
    if (list.kind != Kind::list) return wrong_part(path, list, "a list of its parts");
    const auto items = list.items();
    for (uint64_t at = 0; at < items.size(); ++at) {
        if (items[at].kind != kind)
            return wrong_part(fmt::format("{}[{}]", path, at), items[at], wanted(kind));
        if (!part(at, items[at].wide)) return false;
    }
    return true;
}

bool Assembly::trace(const std::string& path, const Value& value, std::vector<TraceEntry>& entries) {
    if (value.kind == Kind::entries || value.kind == Kind::list) entries.reserve(value.low);
    return each(path, value, Kind::entry, Kind::entries, [&](uint64_t at, uint64_t number) {
        const auto entry = tables_.entries.take(number);
        if (!entry) return wrong(fmt::format("{}[{}]", path, at), "is in two places");
        entries.push_back(*entry);
        return true;
    });
}

bool Assembly::traces(const Value& value) {
    if (value.kind == Kind::none) return true;
    if (value.kind != Kind::list) return wrong_part("device_traces", value, "a list of traces");
    const auto items = value.items();
    out_.traces.resize(items.size());
    for (size_t device = 0; device < items.size(); ++device)
        if (!trace(fmt::format("device_traces[{}]", device), items[device], out_.traces[device]))
            return false;
    return true;
}

// One list; or, as for devices, a list of lists.
bool Assembly::host_traces(const Value& value) {
    const bool is_nested = value.kind == Kind::list && !value.items().empty() &&
                           (value.items()[0].kind == Kind::entries || value.items()[0].kind == Kind::list);
    if (!is_nested) return trace("host_traces", value, out_.host_trace);
    std::vector<TraceEntry> one;
    for (size_t at = 0; at < value.items().size(); ++at) {
        one.clear();
        if (!trace(fmt::format("host_traces[{}]", at), value.items()[at], one)) return false;
        out_.host_trace.insert(out_.host_trace.end(), one.begin(), one.end());
    }
    return true;
}

bool Assembly::segments(const std::string& path, const Value& value, std::vector<Segment>& segments,
                        std::vector<Block>& blocks) {
    const bool is_read = each(path, value, Kind::segment, Kind::segments, [&](uint64_t at, uint64_t number) {
        ReadSegment& read = tables_.segments[number];
        const std::string place = fmt::format("{}[{}]", path, at);
        if (read.is_taken) return wrong(place, "is in two places", read.offset_bytes);
        read.is_taken = true;
        if (read.segment.address + read.segment.total_bytes < read.segment.address)
            return wrong(place + ".total_size", "reaches beyond the last address", read.offset_bytes);
        segments.push_back(read.segment);
        return blocks_of(place, read, segments.back(), blocks);
    });
    std::ranges::stable_sort(segments, [](const Segment& a, const Segment& b) {
        return std::pair(a.device, a.address) < std::pair(b.device, b.address);
    });
    return is_read;
}

bool Assembly::blocks_of(const std::string& path, const ReadSegment& read, Segment& segment,
                         std::vector<Block>& blocks) {
    segment.first_block = static_cast<uint32_t>(blocks.size());
    uint64_t next_address = segment.address, allocated_bytes = 0, active_bytes = 0;
    const std::string place = path + ".blocks";
    const bool is_read =
        each(place, read.blocks, Kind::block, Kind::blocks, [&](uint64_t at, uint64_t number) {
            ReadBlock& one = tables_.blocks[number];
            if (one.is_taken) return wrong(fmt::format("{}[{}]", place, at), "is in two places");
            one.is_taken = true;
            if (!one.has_address) one.block.address = next_address;
            next_address = one.block.address + one.block.size_bytes;
            if (next_address < one.block.address)
                return wrong(fmt::format("{}[{}].size", place, at), "reaches beyond the last address");
            if (one.block.state == BlockState::active_allocated) allocated_bytes += one.block.size_bytes;
            if (one.block.state != BlockState::inactive) active_bytes += one.block.size_bytes;
            blocks.push_back(one.block);
            return true;
        });
    if (!read.has_allocated) segment.allocated_bytes = allocated_bytes;
    if (!read.has_active) segment.active_bytes = active_bytes;
    segment.block_count = static_cast<uint32_t>(blocks.size() - segment.first_block);
    std::stable_sort(blocks.begin() + segment.first_block, blocks.end(),
                     [](const Block& a, const Block& b) { return a.address < b.address; });
    return is_read;
}

bool Assembly::annotations(const Value& value) {
    return each("external_annotations", value, Kind::annotation, Kind::annotations,
                [&](uint64_t, uint64_t number) {
                    if (out_.annotations.size() == tables_.annotations.size())
                        return wrong("external_annotations", "has one annotation in two places");
                    out_.annotations.push_back(tables_.annotations[number]);
                    return true;
                });
}

void Assembly::ignored(const Value& top) {
    constexpr Word known[] = {Word::segments,      Word::device_traces, Word::allocator_settings,
                              Word::host_segments, Word::host_traces,   Word::external_annotations,
                              Word::memsnap};
    constexpr size_t most = 1000;
    const auto name_of = [&](TextId id) {
        return std::string(beginning(out_.texts.text(id), kIgnoredName_bytes_most));
    };
    const auto pairs = top.items();
    for (size_t at = 0; at + 1 < pairs.size() && out_.ignored.size() < most; at += 2)
        if (pairs[at].kind == Kind::text && std::ranges::find(known, word_of(pairs[at])) == std::end(known))
            out_.ignored.push_back(name_of(pairs[at].low));
    for (const auto& [where, name] : tables_.unknown_members)
        out_.ignored.push_back(fmt::format("{}.{}", where, name_of(name)));
    std::ranges::sort(out_.ignored);
    const auto twice = std::ranges::unique(out_.ignored);
    out_.ignored.erase(twice.begin(), twice.end());
}

bool Assembly::whole(const Value& top) {
    // 1.13: the segments alone.
    if (top.kind == Kind::segments || top.kind == Kind::list) {
        const bool is_of_segments =
            top.kind == Kind::segments || std::ranges::all_of(top.items(), [](const Value& item) {
                return item.kind == Kind::segment ||
                       (item.kind == Kind::bad && item.low == static_cast<uint32_t>(Kind::segment));
            });
        if (!is_of_segments) return not_a_snapshot(top);
        if (!segments("segments", top, out_.segments, out_.blocks)) return false;
        ignored({});
        return true;
    }
    const auto member = [&](Word word) { return member_of(top, word); };
    if (top.kind != Kind::dict || (!member(Word::segments) && !member(Word::device_traces)))
        return not_a_snapshot(top);
    const auto value = [&](Word word) { return member(word).value_or(Value{}); };
    if (!traces(value(Word::device_traces)) || !host_traces(value(Word::host_traces)) ||
        !segments("segments", value(Word::segments), out_.segments, out_.blocks) ||
        !segments("host_segments", value(Word::host_segments), out_.host_segments, out_.host_blocks) ||
        !annotations(value(Word::external_annotations)))
        return false;
    if (auto problem = read_settings(value(Word::allocator_settings), out_))
        return wrong("allocator_settings", *problem);
    if (auto problem = read_own_member(value(Word::memsnap), out_)) return wrong("memsnap", *problem);
    ignored(top);
    return true;
}

}  // namespace

Result<Snapshot> read_snapshot(const std::string& path) {
    const auto file = RingFile::open(path);
    if (!file) return failure(file.error());
    return read_snapshot(*file);
}

Result<Snapshot> read_snapshot(const RingFile& file) {
    const auto named = [&](Error error) {
        error.file = file.path();
        return failure(std::move(error));
    };
    PickleInput input(file);
    Snapshot snapshot;
    add_words(snapshot.texts);
    Tables tables(snapshot.stacks);
    PickleMachine machine(input, snapshot.texts, tables);
    const auto top = machine.run();
    if (!top) return named(top.error());
    Assembly assembly(snapshot, tables);
    if (!assembly.whole(*top)) return named(assembly.error());
    return snapshot;
}

bool looks_like_pickle(std::string_view head) {
    const auto follows = [&](size_t at, std::string_view letters) {
        return head.size() > at && letters.find(head[at]) != std::string_view::npos;
    };
    // The version is checked by the reader, which can say what is wrong with it.
    if (head.starts_with('\x80')) return head.size() > 1 && head[1] >= 0 && head[1] < 16;
    // Protocol 1, and 0: an empty container put into the memo, filled or ended.
    if (follows(0, "]}")) return follows(1, "qr(.");
    if (!follows(0, "(") || !follows(1, "dl")) return false;
    return follows(2, "p") ? follows(3, "0123456789") : follows(2, "(.SUVX");
}

}  // namespace memsnap::snapshot
