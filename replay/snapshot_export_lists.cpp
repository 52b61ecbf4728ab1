// SPDX-License-Identifier: Apache-2.0
//
// Begins and ends in the order of the recording, with times that never go back.
#include "snapshot_export_lists.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "window_builder.h"

namespace memsnap {
namespace {

using snapshot::Action;

bool is_annotated(RangeFamily family) {
    return family == RangeFamily::range || family == RangeFamily::optimizer;
}

class AnnotationWriter {
  public:
    AnnotationWriter(const Capture& capture, const ExportSurvey& survey, ExportNames& names,
                     snapshot::SnapshotWriter& out)
        : capture_(capture), names_(names), out_(out) {
        while (first_device_ < survey.device_count() && !survey.used[static_cast<size_t>(first_device_)])
            ++first_device_;
        if (first_device_ == survey.device_count()) first_device_ = 0;
        look_for_step(capture.window.events.begin_ticket());
    }

    void take(const Event& event) {
        if (event.ticket == 0 && next_step_) step_begins(event);
        const bool of_block = event.kind == Kind::block_alloc || event.kind == Kind::block_free;
        if (of_block && event.device >= 0) devices_[event.thread] = event.device;
        if (event.kind == Kind::step) {
            take_step(event);
        } else if (event.kind == Kind::phase_begin && is_annotated(event.family())) {
            open_.insert(event.ticket);
            write(event, names_.of_range(event.exact_name()), true);
        } else if (event.kind == Kind::phase_end && open_.erase(event.address) != 0) {
            write(event, names_.of_range(event.exact_name()), false);
        }
    }

  private:
    void take_step(const Event& event) {
        if (step_open_) write(event, step_name_, false);
        step_open_ = false;
        look_for_step(event.ticket + 1);
        if (next_step_) step_begins(event);
    }

    void step_begins(const Event& event) {
        step_name_ = fmt::format("step {}", *next_step_);
        step_open_ = true;
        write(event, step_name_, true);
    }

    // The number of the step that ends next.
    void look_for_step(uint64_t from) {
        const EventStream& events = capture_.window.events;
        next_step_.reset();
        for (uint64_t ticket = from; ticket < events.end_ticket(); ++ticket) {
            Event event;
            if (events.kind(ticket) != Kind::step || !events.read(ticket, event)) continue;
            next_step_ = event.size_bytes;
            return;
        }
    }

    // Of an event of no device: the one that its thread used last.
    int device_of(const Event& event) const {
        if (event.device >= 0) return event.device;
        const auto used = devices_.find(event.thread);
        return used == devices_.end() ? first_device_ : used->second;
    }

    void write(const Event& event, std::string_view name, bool starts) {
        const auto time_ns = capture_.realtime_ns(event.time_counter);
        if (!time_ns) return;
        last_time_us_ = std::max(last_time_us_, *time_ns / 1000);
        out_.annotation(
            {.name = name, .time_us = last_time_us_, .device = device_of(event), .starts = starts});
    }

    const Capture& capture_;
    ExportNames& names_;
    snapshot::SnapshotWriter& out_;
    std::unordered_set<uint64_t> open_;          // begins
    std::unordered_map<uint16_t, int> devices_;  // by thread
    int first_device_ = 0;
    std::optional<uint64_t> next_step_;
    std::string step_name_;
    bool step_open_ = false;
    uint64_t last_time_us_ = 0;
};

struct HostMemory {
    uint64_t address = 0;
    uint64_t size_bytes = 0;
    uint64_t site = 0;
};
using HostMemories = std::map<uint64_t, HostMemory>;  // live, by birth ticket

// An import has no memory of others.
bool is_torchs(const Capture& capture, uint16_t library) {
    const LibraryRole role = capture.library_role(library);
    return capture.header.origin != Origin::recorder || role == LibraryRole::torch ||
           role == LibraryRole::torch_allocator;
}

HostMemories at_begin(const Capture& capture) {
    HostMemories live;
    for (const LiveObject& object : capture.window.objects) {
        if (object.live_at_begin && object.object == Object::host && is_torchs(capture, object.library))
            live[object.birth_ticket] = {object.address, object.size_bytes, object.site};
    }
    return live;
}

// f(event, memory, begins) of what is made and ended.
template <class F>
void for_each_host_event(const Capture& capture, HostMemories& live, F&& f) {
    std::map<uint64_t, HostMemory> ended;  // by the last call of their thread, in case it refuses
    capture.window.events.for_each([&](const Event& event) {
        if (is_birth(event) && object_of(event) == Object::host && is_torchs(capture, event.library)) {
            const HostMemory& memory = live[event.ticket] = {event.address, event.size_bytes, event.site()};
            f(event, memory, true);
        } else if (event.kind == Kind::free && is_death(event)) {
            auto found = live.extract(event.birth_ticket());
            if (found.empty()) return true;
            f(event, found.mapped(), false);
            ended.clear();
            ended.insert(std::move(found));
        } else if (is_refused_death(event)) {
            auto found = ended.extract(event.birth_ticket());
            if (found.empty()) return true;
            f(event, found.mapped(), true);
            live.insert(std::move(found));
        }
        return true;
    });
}

}  // namespace

void write_annotations(const Capture& capture, const ExportSurvey& survey, ExportNames& names,
                       snapshot::SnapshotWriter& out) {
    AnnotationWriter writer(capture, survey, names, out);
    out.open("external_annotations");
    capture.window.events.for_each([&](const Event& event) {
        writer.take(event);
        return out.wants_more();
    });
    out.close();
}

void write_host_memory(const Capture& capture, const ExportSurvey& survey, snapshot::SnapshotWriter& out) {
    HostMemories live = at_begin(capture);
    out.open("host_traces");
    for_each_host_event(capture, live, [&](const Event& event, const HostMemory& memory, bool begins) {
        if (event.ticket < survey.begin_ticket) return;
        snapshot::WrittenEntry entry;
        entry.action = begins ? Action::segment_alloc : Action::segment_free;
        entry.address = memory.address;
        entry.size_bytes = memory.size_bytes;
        if (const auto time_ns = capture.realtime_ns(event.time_counter)) entry.time_us = *time_ns / 1000;
        if (begins) entry.stack = memory.site;
        out.entry(entry);
    });
    out.close();
    out.open("host_segments");
    std::vector<HostMemory> held;
    for (const auto& [birth, memory] : live)
        held.push_back(memory);
    std::ranges::stable_sort(held, {}, &HostMemory::address);
    for (const HostMemory& memory : held) {
        snapshot::WrittenSegment segment;
        segment.device = -1;
        segment.address = memory.address;
        segment.size_bytes = memory.size_bytes;
        segment.stack = memory.site;
        segment.blocks.push_back({.address = memory.address,
                                  .size_bytes = memory.size_bytes,
                                  .requested_bytes = memory.size_bytes,
                                  .stack = memory.site,
                                  .state = snapshot::BlockState::active_allocated});
        out.segment(segment);
    }
    out.close();
}

}  // namespace memsnap
