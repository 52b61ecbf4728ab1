// SPDX-License-Identifier: Apache-2.0
//
// Prints what a ring file says as one JSON object: ring_check FILE. For the tests written in Python.
#include <fmt/format.h>

#include <cstdio>
#include <string>

#include "ring_view.h"

namespace {

using memsnap::test::RingView;
using namespace memsnap;

std::string quoted(const std::string& text) {
    return fmt::format("\"{}\"", text);
}

std::string record_json(const wire::Record& one) {
    uint64_t extra = 0;
    uint64_t allocated = 0;
    uint64_t reserved = 0;
    uint16_t extra16 = 0;
    __builtin_memcpy(&extra, one.tail, 8);
    __builtin_memcpy(&extra16, one.tail + 8, 2);
    __builtin_memcpy(&allocated, one.tail, 5);
    __builtin_memcpy(&reserved, one.tail + 5, 5);
    return fmt::format(
        R"({{"ticket":{},"kind":{},"flags":{},"thread":{},"time":{},"address":{},"size":{},"link":{},"extra":{},"extra16":{},)"
        R"("allocated":{},"reserved":{},"device":{},"op":{},"library":{},"code":{}}})",
        one.seq - 1, static_cast<int>(one.kind), one.flags, one.thread, one.time, one.address, one.size,
        one.link, extra, extra16, allocated * wire::kTotalsUnit_bytes, reserved * wire::kTotalsUnit_bytes,
        one.device, static_cast<int>(one.op), one.library, one.code);
}

std::string header_json(const wire::Header& header) {
    return fmt::format(
        R"({{"file_bytes":{},"pid":{},"parent_pid":{},"rank":{},"local_rank":{},"world_size":{},"start_ticks":{},"job_key":{},)"
        R"("job_key_source":{},"torch_version":{},"cudart_version":{},"driver_version":{},"clock_source":{},"config_flags":{},)"
        R"("head":{},"exit_mark":{},"exit_status":{},"trouble":{},"failure_count":{},"library_count":{},"thread_count":{},)"
        R"("incomplete_from":{},"lost":{},"lapped":{},"reentrant":{},"table_full":{},"keyframes_skipped":{},)"
        R"("sidecar":{},"names_dropped":{},"blind":{},"originals_missing":{},"unknown_frees":{},"device_unknown":{},"threads_unlisted":{},)"
        R"("boundary_stride":{},"boundary_count":{},"boundaries_dropped":{},"samples_failed":{},"sampling":{},"sample_period_ms":{},"stacks":{},"python_version":{},"no_stack":{},"arm_state":{},"armed_from":{},"disarmed_at":{},"start_mode":{},"superseded":{}}})",
        header.file_bytes, header.pid, header.parent_pid, header.rank, header.local_rank, header.world_size,
        header.process_start_ticks, header.job_key, static_cast<int>(header.job_key_source),
        header.torch_version, header.cudart_version, header.driver_version,
        static_cast<int>(header.clock_source), header.config.flags, header.head, header.exit_mark,
        header.exit_status, static_cast<int>(header.trouble), header.failure_count, header.library_count,
        header.thread_count, header.incomplete_from, header.counters.lost, header.counters.lapped,
        header.counters.reentrant, header.counters.table_full, header.counters.keyframes_skipped,
        static_cast<int>(header.sidecar), header.counters.names_dropped, header.counters.blind,
        header.counters.originals_missing, header.counters.unknown_frees, header.counters.device_unknown,
        header.counters.threads_unlisted, header.boundary_stride, header.boundary_count,
        header.counters.boundaries_dropped, header.counters.samples_failed, static_cast<int>(header.sampling),
        header.sample_period_ms, header.stacks, header.python_version, header.counters.no_stack,
        static_cast<int>(header.arm_state), header.armed_from, header.disarmed_at,
        static_cast<int>(header.start_mode), header.superseded);
}

template <typename Range, typename Print>
std::string list_json(const Range& range, Print print) {
    std::string text = "[";
    for (const auto& one : range) {
        if (text.size() > 1) text += ",\n";
        text += print(one);
    }
    return text + "]";
}

std::string keyframe_json(const RingView& ring, uint32_t slot) {
    const wire::Keyframe* found = ring.keyframe(slot);
    if (found == nullptr) return "null";
    const auto* start = reinterpret_cast<const unsigned char*>(found);
    const auto* calls = reinterpret_cast<const wire::Record*>(start + found->operation_offset_bytes);
    const auto* last = reinterpret_cast<const wire::Record*>(start + found->ring_offset_bytes);
    return fmt::format(
        R"({{"begin_ticket":{},"end_ticket":{},"failure":{},"entries":{},"entries_dropped":{},"operation":{},"ring":{}}})",
        found->begin_ticket, found->end_ticket, record_json(found->failure), found->entry_count,
        found->entries_dropped,
        list_json(std::vector<wire::Record>(calls, calls + found->operation_count), record_json),
        list_json(std::vector<wire::Record>(last, last + found->ring_count), record_json));
}

uint64_t load_u40(const uint8_t (&bytes)[5]) {
    uint64_t value = 0;
    __builtin_memcpy(&value, bytes, 5);
    return value;
}

std::string boundary_json(const wire::Boundary& one) {
    uint64_t device_free = load_u40(one.device_free);
    std::string free_bytes = device_free == (uint64_t{1} << 40) - 1
                                 ? "null"
                                 : std::to_string(device_free * wire::kTotalsUnit_bytes);
    return fmt::format(
        R"({{"ticket":{},"time":{},"opened":{},"age":{},"ordinal":{},"dimensions":{},"name":{},"folded":{},)"
        R"("thread":{},"family":{},"device":{},"allocated":{},"reserved":{},"free":{},"depth":{}}})",
        one.state - 1, one.time, one.opened_ticket, one.free_age, one.ordinal, one.dimensions, one.name,
        one.folded_name, one.thread, one.family, one.device,
        load_u40(one.allocated) * wire::kTotalsUnit_bytes, load_u40(one.reserved) * wire::kTotalsUnit_bytes,
        free_bytes, one.depth);
}

std::string copy_json(const wire::Record& copy) {
    return copy.seq == 0 ? std::string("null") : record_json(copy);
}

std::string pinned_json(const wire::PinnedDevice& pinned) {
    const auto* records = reinterpret_cast<const wire::Record*>(&pinned);
    return list_json(std::vector<wire::Record>(records, records + 17), copy_json);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) {
        std::fputs("usage: ring_check FILE\n", stderr);
        return 2;
    }
    std::vector<unsigned char> bytes = memsnap::test::read_file(argv[1]);
    RingView ring(bytes.data(), bytes.size());
    if (std::string reason = ring.unreadable(); !reason.empty()) {
        fmt::print("{{\"unreadable\":{}}}\n", quoted(reason));
        return 1;
    }
    if (ring.is_header_alone()) {
        fmt::print("{{\"waiting\":true,\n\"header\":{}}}\n", header_json(ring.header()));
        return 0;
    }
    std::vector<uint32_t> slots = {0, 1, 2, 3};
    std::vector<uint32_t> libraries;
    for (uint32_t i = 0; i < ring.header().library_count; ++i) {
        libraries.push_back(i);
    }
    fmt::print("{{\"violations\":{},\n\"gap_count\":{},\n\"header\":{},\n",
               list_json(ring.violations(), quoted), ring.gap_count(), header_json(ring.header()));
    fmt::print("\"live\":{},\n", list_json(ring.redone_table(), [](const auto& one) {
                   return fmt::format(R"({{"birth":{},"address":{},"size":{}}})", one.first,
                                      one.second.address, one.second.size);
               }));
    fmt::print("\"window\":[{},{}],\n\"closed\":{},\n", ring.oldest_ticket(), ring.end_ticket(),
               ring.is_closed());
    fmt::print("\"table\":{},\n", list_json(ring.live_entries(), [](const wire::LiveEntry& one) {
                   return fmt::format(R"({{"object":{},"address":{},"size":{}}})",
                                      static_cast<int>(one.object), one.address, one.size);
               }));
    fmt::print("\"places\":{},\n", list_json(ring.live_entries(), [](const wire::LiveEntry& one) {
                   return fmt::format(R"({{"birth":{},"step":{},"phase":{}}})", one.birth_ticket, one.step,
                                      one.phase);
               }));
    fmt::print("\"boundaries\":{},\n", list_json(ring.boundaries(), boundary_json));
    fmt::print("\"table_count\":{},\n", ring.live_entry_count());
    fmt::print("\"roles\":{},\n", list_json(libraries, [&ring](uint32_t index) {
                   return fmt::format("{}", static_cast<int>(ring.library(index).role));
               }));
    fmt::print("\"entry_points\":{},\n", list_json(libraries, [&ring](uint32_t index) {
                   return fmt::format("{}", ring.library(index).entry_point_count);
               }));
    fmt::print("\"keyframes\":{},\n",
               list_json(slots, [&ring](uint32_t slot) { return keyframe_json(ring, slot); }));
    fmt::print("\"pinned\":{},\n", pinned_json(ring.pinned(0)));
    fmt::print("\"sample_count\":{},\n\"samples\":{},\n", ring.pinned(0).sample_count,
               list_json(ring.pinned(0).samples, copy_json));
    fmt::print("\"records\":{}}}\n", list_json(ring.records(), record_json));
    return 0;
}
