// SPDX-License-Identifier: Apache-2.0
//
// Dictionaries to rows. The rule: what every release since 1.13 wrote is known here; what a newer one adds is
// noted by name and left out.
#include "read_tables.h"

#include <fmt/format.h>

namespace memsnap::snapshot {

namespace {

constexpr size_t kUnknownMembersMost = 1000;
constexpr size_t kUseValuesMost = 16;

constexpr uint64_t kFrameMembers =
    mask_of({Word::filename, Word::name, Word::line, Word::fx_node_op, Word::fx_node_name,
             Word::fx_node_target, Word::fx_node_info, Word::fx_original_trace});
constexpr uint64_t kEntryMembers = mask_of(
    {Word::action, Word::addr, Word::size, Word::stream, Word::time_us, Word::frames, Word::cpp_frames,
     Word::pool_id, Word::segment_pool_id, Word::user_metadata, Word::compile_context, Word::device_free});
constexpr uint64_t kBlockMembers = mask_of({Word::address, Word::size, Word::requested_size, Word::state,
                                            Word::frames, Word::history, Word::user_metadata});
constexpr uint64_t kSegmentMembers =
    mask_of({Word::device, Word::address, Word::total_size, Word::allocated_size, Word::active_size,
             Word::requested_size, Word::stream, Word::segment_type, Word::segment_pool_id,
             Word::is_expandable, Word::registration_counter, Word::frames, Word::blocks});
constexpr uint64_t kAnnotationMembers = mask_of({Word::name, Word::stage, Word::device, Word::time_us});

Action action_of(Word word) {
    // clang-format off
    if (word == Word::alloc) return Action::alloc;
    if (word == Word::free_requested) return Action::free_requested;
    if (word == Word::free_completed || word == Word::free) return Action::free_completed;
    if (word == Word::segment_alloc) return Action::segment_alloc;
    if (word == Word::segment_free) return Action::segment_free;
    if (word == Word::segment_map) return Action::segment_map;
    if (word == Word::segment_unmap) return Action::segment_unmap;
    if (word == Word::snapshot) return Action::snapshot;
    if (word == Word::oom) return Action::oom;
    if (word == Word::annotate) return Action::annotate;
    // clang-format on
    return Action::unknown;
}

bool is_bad(const Value& value, Kind kind) {
    return value.kind == Kind::bad && value.low == static_cast<uint32_t>(kind);
}

}  // namespace

uint64_t Entries::add(const TraceEntry& entry) {
    const uint64_t index = taken_.size();
    if (index % kPiece_entries == 0) pieces_.push_back({std::make_unique<TraceEntry[]>(kPiece_entries), 0});
    pieces_.back().entries[index % kPiece_entries] = entry;
    taken_.push_back(false);
    return index;
}

std::optional<TraceEntry> Entries::take(uint64_t index) {
    if (taken_[index]) return std::nullopt;
    taken_[index] = true;
    Piece& piece = pieces_[index / kPiece_entries];
    const TraceEntry entry = piece.entries[index % kPiece_entries];
    if (++piece.taken_count == kPiece_entries) piece.entries.reset();
    return entry;
}

std::optional<Value> Tables::list(std::span<const Value> items, uint64_t offset_bytes) {
    if (items.empty()) return std::nullopt;
    const Value first = items[0];
    if (first.kind == Kind::frame || is_bad(first, Kind::frame)) return frames_list(items);
    offset_bytes_ = offset_bytes;
    Kind many = Kind::list;
    if (first.kind == Kind::entry) many = Kind::entries;
    if (first.kind == Kind::block) many = Kind::blocks;
    if (first.kind == Kind::segment) many = Kind::segments;
    if (first.kind == Kind::annotation) many = Kind::annotations;
    if (many == Kind::list) return std::nullopt;
    for (size_t at = 0; at < items.size(); ++at)
        if (items[at].kind != first.kind || items[at].wide != first.wide + at) return std::nullopt;
    return Value::run(many, first.wide, items.size());
}

std::optional<Value> Tables::frames_list(std::span<const Value> items) {
    frames_.clear();
    for (size_t at = 0; at < items.size(); ++at) {
        if (is_bad(items[at], Kind::frame))
            return bad(Kind::stack, problem_within(fmt::format("[{}]", at), items[at]));
        if (items[at].kind != Kind::frame) return std::nullopt;
        frames_.push_back(items[at].as_frame());
    }
    return Value{Kind::stack, 0, stacks_.add(frames_), 0};
}

std::optional<Value> Tables::dict(std::span<const Value> pairs, uint64_t offset_bytes) {
    offset_bytes_ = offset_bytes;
    members_.take(pairs);
    if (members_.has(Word::action)) {
        note_unknown(pairs, kEntryMembers, "device_traces[][]");
        return entry();
    }
    if (members_.has(Word::total_size)) {
        note_unknown(pairs, kSegmentMembers, "segments[]");
        return segment();
    }
    if (members_.has(Word::state)) {
        note_unknown(pairs, kBlockMembers, "segments[].blocks[]");
        return block();
    }
    if (members_.has(Word::stage)) {
        note_unknown(pairs, kAnnotationMembers, "external_annotations[]");
        return annotation();
    }
    if (members_.has(Word::filename) || (members_.has(Word::name) && members_.has(Word::line))) {
        note_unknown(pairs, kFrameMembers, "frames[]");
        return frame();
    }
    return std::nullopt;
}

Value Tables::frame() {
    const Frame frame = {members_.text(Word::filename), members_.text(Word::name), members_.line()};
    return members_.problem() ? bad(Kind::frame, *members_.problem()) : Value::frame(frame);
}

Value Tables::entry() {
    TraceEntry entry;
    if (members_.at(Word::action).kind != Kind::text) members_.wrong(Word::action, "a text");
    entry.action = action_of(word_of(members_.at(Word::action)));
    const bool is_about_memory = entry.action < Action::snapshot;
    if (entry.action == Action::oom) {
        // memsnap writes -1 where nobody told it.
        const Value free = members_.at(Word::device_free);
        const bool is_told =
            free.kind != Kind::none && !(free.kind == Kind::integer && free.as_integer() == -1);
        entry.address = is_told ? members_.size(Word::device_free) : kFreeUnknown;
    } else if (is_about_memory || members_.has(Word::addr)) {
        entry.address = members_.address(Word::addr);
    }
    if (is_about_memory || entry.action == Action::oom || members_.has(Word::size))
        entry.size_bytes = members_.size(Word::size);
    entry.stream = members_.optional_address(Word::stream).value_or(0);
    const auto time_us = members_.time(Word::time_us);
    entry.time_us = time_us.value_or(0);
    entry.has_time = time_us.has_value();
    entry.user_metadata = members_.text(Word::user_metadata);
    entry.pool = members_.pool(members_.has(Word::pool_id) ? Word::pool_id : Word::segment_pool_id);
    entry.stack = stack_member();
    if (members_.problem()) return bad(Kind::entry, *members_.problem());
    return {Kind::entry, 0, 1, entries.add(entry)};
}

Value Tables::block() {
    ReadBlock read;
    read.block.size_bytes = members_.size(Word::size);
    read.block.requested_bytes = members_.optional_size(Word::requested_size);
    const auto address = members_.optional_address(Word::address);
    read.block.address = address.value_or(0);
    read.has_address = address.has_value();
    read.block.user_metadata = members_.text(Word::user_metadata);
    const Word state = word_of(members_.at(Word::state));
    if (state == Word::active_allocated) {
        read.block.state = BlockState::active_allocated;
    } else if (state == Word::active_pending_free || state == Word::active_awaiting_free) {
        read.block.state = BlockState::active_pending_free;
    } else if (state != Word::inactive) {
        members_.wrong(Word::state, "a state of a block");
    }
    read.block.stack = stack_member();
    if (members_.has(Word::history)) newest_of_history(read.block);
    if (members_.problem()) return bad(Kind::block, *members_.problem());
    blocks.push_back(read);
    return {Kind::block, 0, 1, blocks.size() - 1};
}

// Up to 2.0: what the block was used for, the newest use first.
void Tables::newest_of_history(Block& block) {
    const Value history = members_.at(Word::history);
    if (history.kind != Kind::list) return members_.wrong(Word::history, "a list of uses");
    if (history.items().empty()) return;
    const Value newest = history.items()[0];
    if (newest.kind != Kind::dict) return members_.wrong(Word::history, "a list of uses");
    // A dictionary may be the newest use of any number of blocks.
    const auto pairs = newest.items().first(std::min(newest.items().size(), kUseValuesMost));
    for (size_t at = 0; at + 1 < pairs.size(); at += 2) {
        const Word word = word_of(pairs[at]);
        if (word == Word::frames && block.stack == 0) block.stack = stack_of(Word::history, pairs[at + 1]);
        if (word != Word::real_size || block.requested_bytes || block.state == BlockState::inactive) continue;
        block.requested_bytes = as_size(pairs[at + 1]);
        if (!block.requested_bytes) members_.wrong(Word::history, "a list of uses with their sizes");
    }
}

Value Tables::segment() {
    ReadSegment read;
    Segment& segment = read.segment;
    segment.device = members_.device();
    segment.address = members_.address(Word::address);
    segment.total_bytes = members_.size(Word::total_size);
    const auto allocated_bytes = members_.optional_size(Word::allocated_size);
    const auto active_bytes = members_.optional_size(Word::active_size);
    read.has_allocated = allocated_bytes.has_value();
    read.has_active = active_bytes.has_value();
    segment.allocated_bytes = allocated_bytes.value_or(0);
    segment.active_bytes = active_bytes.value_or(0);
    segment.requested_bytes = members_.optional_size(Word::requested_size);
    segment.stream = members_.optional_address(Word::stream).value_or(0);
    segment.pool = members_.pool(Word::segment_pool_id);
    segment.expandable = members_.truth(Word::is_expandable);
    segment.stack = stack_member();
    const Word type = word_of(members_.at(Word::segment_type));
    segment.small = type == Word::small;
    if (members_.has(Word::segment_type) && type != Word::small && type != Word::large)
        members_.wrong(Word::segment_type, "small or large");
    read.blocks = members_.at(Word::blocks);
    if (read.blocks.kind != Kind::blocks && read.blocks.kind != Kind::list)
        members_.wrong(Word::blocks, "a list of blocks");
    read.offset_bytes = offset_bytes_;
    if (members_.problem()) return bad(Kind::segment, *members_.problem());
    segments.push_back(read);
    return {Kind::segment, 0, 1, segments.size() - 1};
}

Value Tables::annotation() {
    Annotation annotation;
    annotation.name = members_.text(Word::name);
    annotation.time_us = members_.time(Word::time_us).value_or(0);
    annotation.device = members_.device();
    const Word stage = word_of(members_.at(Word::stage));
    if (stage != Word::START && stage != Word::END) members_.wrong(Word::stage, "START or END");
    annotation.starts = stage == Word::START;
    if (members_.problem()) return bad(Kind::annotation, *members_.problem());
    annotations.push_back(annotation);
    return {Kind::annotation, 0, 1, annotations.size() - 1};
}

StackId Tables::stack_member() {
    const Word word = members_.has(Word::frames) ? Word::frames : Word::cpp_frames;
    return stack_of(word, members_.at(word));
}

StackId Tables::stack_of(Word word, const Value& value) {
    if (value.kind == Kind::stack) return value.low;
    if (value.kind == Kind::none) return 0;
    if (value.kind == Kind::list && value.items().empty()) {
        frames_.clear();
        return stacks_.add(frames_);
    }
    if (is_bad(value, Kind::stack)) {
        members_.wrong_within(problem_within(std::string(text_of(word)), value));
    } else {
        members_.wrong(word, "a list of frames");
    }
    return 0;
}

Value Tables::bad(Kind kind, Problem problem) {
    if (!problem.offset_bytes) problem.offset_bytes = offset_bytes_;
    problems.push_back(std::move(problem));
    return {Kind::bad, 0, static_cast<uint32_t>(kind), problems.size() - 1};
}

Problem Tables::problem_within(const std::string& path, const Value& bad) const {
    Problem problem = problems[bad.wide];
    if (!problem.path.starts_with('[')) problem.path.insert(0, ".");
    problem.path.insert(0, path);
    return problem;
}

void Tables::note_unknown(std::span<const Value> pairs, uint64_t known, const char* where) {
    // The common case by one comparison: every member is known, none was told twice.
    if ((members_.present() & ~known) == 0 &&
        static_cast<size_t>(std::popcount(members_.present())) * 2 == pairs.size())
        return;
    for (size_t at = 0; at + 1 < pairs.size() && unknown_members.size() < kUnknownMembersMost; at += 2) {
        const Value& key = pairs[at];
        const bool is_known = key.kind == Kind::text && key.low < kMembersEnd && (known >> key.low & 1) == 1;
        if (key.kind == Kind::text && !is_known) unknown_members.insert({where, key.low});
    }
}

}  // namespace memsnap::snapshot
