// SPDX-License-Identifier: Apache-2.0
//
// Shapes of the members.
#include "write_snapshot.h"

#include <utility>

namespace memsnap::snapshot {
namespace {

constexpr int kRoundupClasses = 16;  // of request sizes, by powers of two from 1 MiB on

std::string_view word(Action action) {
    switch (action) {
        case Action::alloc:
            return "alloc";
        case Action::free_requested:
            return "free_requested";
        case Action::free_completed:
            return "free_completed";
        case Action::segment_alloc:
            return "segment_alloc";
        case Action::segment_free:
            return "segment_free";
        case Action::segment_map:
            return "segment_map";
        case Action::segment_unmap:
            return "segment_unmap";
        case Action::snapshot:
            return "snapshot";
        case Action::oom:
            return "oom";
        case Action::annotate:
            return "annotate";
        case Action::unknown:
            break;
    }
    return "unknown";
}

std::string_view word(BlockState state) {
    switch (state) {
        case BlockState::active_allocated:
            return "active_allocated";
        case BlockState::active_pending_free:
            return "active_pending_free";
        case BlockState::inactive:
            break;
    }
    return "inactive";
}

// PyTorch's pair of a number; (0, 0) where it is not known.
std::pair<uint64_t, uint64_t> pool_pair(uint16_t number) {
    constexpr uint16_t kFirstOfGraphs = 32768;
    if (number == kPoolUnknown) return {0, 0};
    if (number < kFirstOfGraphs) return {number, 0};
    return {0, number - kFirstOfGraphs};
}

}  // namespace

SnapshotWriter::SnapshotWriter(ByteSink sink, FramesOf frames_of)
    : pickle_(std::move(sink)), frames_of_(std::move(frames_of)) {
    pickle_.open_dictionary();
}

void SnapshotWriter::open(std::string_view member) {
    pickle_.text(member);
    pickle_.open_list();
}

void SnapshotWriter::close() {
    pickle_.close_list();
}

void SnapshotWriter::open_trace() {
    pickle_.item();
    pickle_.open_list();
}

SnapshotWriter::WrittenFrame& SnapshotWriter::known(const NamedFrame& frame) {
    const auto [found, fresh] = frames_[{frame.function, frame.file}].try_emplace(frame.line);
    if (fresh) found->second.number = frame_count_++;
    return found->second;
}

void SnapshotWriter::frame(const NamedFrame& frame, WrittenFrame& written) {
    if (written.memo) {
        pickle_.recall(*written.memo);
        return;
    }
    pickle_.open_dictionary();
    pickle_.text("name");
    pickle_.text(frame.function);
    pickle_.text("filename");
    pickle_.text(frame.file);
    member("line", frame.line);
    pickle_.close_dictionary();
    written.memo = pickle_.remember();
}

void SnapshotWriter::frames(uint64_t stack) {
    if (const auto found = stacks_.find(stack); found != stacks_.end()) {
        pickle_.recall(found->second);
        return;
    }
    const std::vector<NamedFrame> list = stack == 0 ? std::vector<NamedFrame>{} : frames_of_(stack);
    std::vector<uint32_t> numbers;
    for (const NamedFrame& one : list)
        numbers.push_back(known(one).number);
    if (const auto equal = lists_.find(numbers); equal != lists_.end()) {
        stacks_.emplace(stack, equal->second);
        pickle_.recall(equal->second);
        return;
    }
    pickle_.open_list();
    for (const NamedFrame& one : list) {
        pickle_.item();
        frame(one, known(one));
    }
    pickle_.close_list();
    const PickleWriter::Memo memo = pickle_.remember();
    stacks_.emplace(stack, memo);
    lists_.emplace(std::move(numbers), memo);
}

void SnapshotWriter::pool(uint16_t pool) {
    const auto pair = pool_pair(pool);
    const uint16_t number = pool == kPoolUnknown ? uint16_t{0} : pool;
    if (const auto found = pools_.find(number); found != pools_.end()) {
        pickle_.recall(found->second);
        return;
    }
    pickle_.pair(pair.first, pair.second);
    pools_.emplace(number, pickle_.remember());
}

void SnapshotWriter::entry(const WrittenEntry& entry) {
    ++entry_count_;
    pickle_.item();
    pickle_.open_dictionary();
    pickle_.text("action");
    pickle_.text(word(entry.action));
    if (entry.action != Action::oom) {
        member("addr", entry.address);
    } else if (entry.device_free_bytes) {
        member("device_free", *entry.device_free_bytes);
    } else {
        pickle_.text("device_free");
        pickle_.signed_number(-1);
    }
    member("size", entry.size_bytes);
    member("stream", entry.stream);
    if (entry.time_us) member("time_us", *entry.time_us);
    pickle_.text("pool_id");
    pool(entry.pool);
    if (!entry.user_metadata.empty()) {
        pickle_.text("user_metadata");
        pickle_.text(entry.user_metadata);
    }
    if (entry.stack) {
        pickle_.text("frames");
        frames(*entry.stack);
    }
    pickle_.close_dictionary();
}

void SnapshotWriter::block(const WrittenBlock& block) {
    pickle_.item();
    pickle_.open_dictionary();
    member("address", block.address);
    member("size", block.size_bytes);
    member("requested_size", block.requested_bytes);
    pickle_.text("state");
    pickle_.text(word(block.state));
    pickle_.text("frames");
    frames(block.stack);
    pickle_.close_dictionary();
}

void SnapshotWriter::segment(const WrittenSegment& segment) {
    uint64_t allocated_bytes = 0, active_bytes = 0, requested_bytes = 0;
    for (const WrittenBlock& block : segment.blocks) {
        if (block.state == BlockState::inactive) continue;
        active_bytes += block.size_bytes;
        requested_bytes += block.requested_bytes;
        if (block.state == BlockState::active_allocated) allocated_bytes += block.size_bytes;
    }
    ++segment_count_;
    pickle_.item();
    pickle_.open_dictionary();
    pickle_.text("device");
    pickle_.signed_number(segment.device);
    member("address", segment.address);
    member("total_size", segment.size_bytes);
    member("allocated_size", allocated_bytes);
    member("active_size", active_bytes);
    member("requested_size", requested_bytes);
    member("stream", segment.stream);
    pickle_.text("segment_type");
    pickle_.text(segment.small ? "small" : "large");
    pickle_.text("segment_pool_id");
    pool(segment.pool);
    pickle_.text("is_expandable");
    pickle_.boolean(segment.expandable);
    pickle_.text("frames");
    frames(segment.stack);
    pickle_.text("blocks");
    pickle_.open_list();
    for (const WrittenBlock& one : segment.blocks)
        block(one);
    pickle_.close_list();
    pickle_.close_dictionary();
}

void SnapshotWriter::annotation(const WrittenAnnotation& annotation) {
    pickle_.item();
    pickle_.open_dictionary();
    pickle_.text("name");
    pickle_.text(annotation.name);
    pickle_.text("stage");
    pickle_.text(annotation.starts ? "START" : "END");
    pickle_.text("device");
    pickle_.signed_number(annotation.device);
    member("time_us", annotation.time_us);
    pickle_.close_dictionary();
}

void SnapshotWriter::settings(const Settings& settings) {
    pickle_.text("allocator_settings");
    pickle_.open_dictionary();
    if (settings.known) {
        pickle_.text("expandable_segments");
        pickle_.boolean(settings.expandable_segments);
        pickle_.text("max_split_size");
        if (settings.max_split_size_bytes) {
            pickle_.number(*settings.max_split_size_bytes);
        } else {
            pickle_.signed_number(-1);
        }
        pickle_.text("garbage_collection_threshold");
        pickle_.real(settings.gc_threshold_permille.value_or(0) / 1000.0);
        if (!settings.roundup_power2_divisions.empty()) {
            pickle_.text("roundup_power2_divisions");
            pickle_.open_dictionary();
            for (int at = 0; at < kRoundupClasses; ++at) {
                pickle_.text(std::to_string(1 << at));
                pickle_.number(settings.roundup_power2_divisions.front().second);
            }
            pickle_.close_dictionary();
        }
    }
    pickle_.close_dictionary();
}

void SnapshotWriter::memsnap(bool tap, const std::vector<Observation>& observations) {
    pickle_.text("memsnap");
    pickle_.open_dictionary();
    member("version", 1);
    pickle_.text("tap");
    pickle_.boolean(tap);
    pickle_.text("observations");
    pickle_.open_list();
    for (const Observation& observation : observations) {
        pickle_.item();
        pickle_.open_dictionary();
        pickle_.text("device");
        pickle_.signed_number(observation.device);
        member("before_entry", observation.before_entry);
        member("total_bytes", observation.total_bytes);
        member("free_bytes", observation.free_bytes);
        pickle_.close_dictionary();
    }
    pickle_.close_list();
    pickle_.close_dictionary();
}

bool SnapshotWriter::finish() {
    pickle_.close_dictionary();
    return pickle_.finish();
}

}  // namespace memsnap::snapshot
