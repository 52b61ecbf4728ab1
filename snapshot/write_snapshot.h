// SPDX-License-Identifier: Apache-2.0
//
// A memory snapshot in the shape that PyTorch 2.14 writes, member by member. The rule: every member that
// PyTorch's viewer and its script look at is there; stacks and texts are written once, so memory and file
// follow their number, not that of the events.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "pickle_writer.h"
#include "snapshot.h"

namespace memsnap::snapshot {

struct NamedFrame {
    std::string function, file;
    uint32_t line = 0;
};
// Innermost first. Asked for once a stack.
using FramesOf = std::function<std::vector<NamedFrame>(uint64_t stack)>;

struct WrittenEntry {
    Action action = Action::unknown;
    uint64_t address = 0;  // not of oom
    uint64_t size_bytes = 0;
    uint64_t stream = 0;
    uint16_t pool = kPoolUnknown;
    std::optional<uint64_t> time_us;
    std::optional<uint64_t> stack;  // 0: none recorded, an empty list; nullopt: no such member
    std::string_view user_metadata;
    std::optional<uint64_t> device_free_bytes;  // of oom
};

struct WrittenBlock {
    uint64_t address = 0;
    uint64_t size_bytes = 0;
    uint64_t requested_bytes = 0;  // 0: inactive
    uint64_t stack = 0;
    BlockState state = BlockState::inactive;
};

// Its sums are those of its blocks.
struct WrittenSegment {
    int device = 0;
    uint64_t address = 0;
    uint64_t size_bytes = 0;
    uint64_t stream = 0;
    uint16_t pool = kPoolUnknown;
    uint64_t stack = 0;
    bool small = false;
    bool expandable = false;
    std::vector<WrittenBlock> blocks;  // without gaps
};

struct WrittenAnnotation {
    std::string_view name;
    uint64_t time_us = 0;
    int device = 0;
    bool starts = false;
};

// Members in the order of the calls; each list is opened by the name of its member.
class SnapshotWriter {
  public:
    SnapshotWriter(ByteSink sink, FramesOf frames_of);

    void open(std::string_view member);
    void close();
    void open_trace();  // of the next device, in `device_traces`
    void close_trace() { pickle_.close_list(); }
    void entry(const WrittenEntry& entry);
    void segment(const WrittenSegment& segment);
    void annotation(const WrittenAnnotation& annotation);
    void settings(const Settings& settings);
    // The member that PyTorch does not have.
    void memsnap(bool tap, const std::vector<Observation>& observations);

    // Of what was written, to compare with what is read of it.
    uint64_t entry_count() const { return entry_count_; }
    uint64_t segment_count() const { return segment_count_; }
    bool wants_more() const { return pickle_.open(); }
    bool finish();

  private:
    struct WrittenFrame {
        uint32_t number = 0;
        std::optional<PickleWriter::Memo> memo;  // once it is written
    };

    void frames(uint64_t stack);
    void frame(const NamedFrame& frame, WrittenFrame& written);
    WrittenFrame& known(const NamedFrame& frame);
    void pool(uint16_t pool);
    void block(const WrittenBlock& block);
    void member(std::string_view name, uint64_t value) {
        pickle_.text(name);
        pickle_.number(value);
    }

    PickleWriter pickle_;
    FramesOf frames_of_;
    std::unordered_map<uint64_t, PickleWriter::Memo> stacks_;
    std::map<std::pair<std::string, std::string>, std::map<uint32_t, WrittenFrame>> frames_;
    std::map<std::vector<uint32_t>, PickleWriter::Memo> lists_;  // of equal frames, whatever their stacks
    uint32_t frame_count_ = 0;
    std::map<uint16_t, PickleWriter::Memo> pools_;
    uint64_t entry_count_ = 0, segment_count_ = 0;
};

}  // namespace memsnap::snapshot
