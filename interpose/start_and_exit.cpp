// SPDX-License-Identifier: Apache-2.0
//
// The library's own first and last moments in a process. The rules: at start nothing is opened, created or
// printed, since most processes that inherit LD_PRELOAD never touch a GPU; at exit nothing is unmapped, since
// other threads and later handlers may still free memory.
#include <sys/auxv.h>
#include <sys/mman.h>

#include <initializer_list>

#include "anchors.h"
#include "arming.h"
#include "asking.h"
#include "blind_scan.h"
#include "elf_lookup.h"
#include "glibc_compat.h"
#include "loaded_objects.h"
#include "names.h"
#include "notice.h"
#include "nvtx_injection.h"
#include "process.h"
#include "settings.h"
#include "side_thread.h"

namespace memsnap::recorder {
namespace {

// Other threads may still write this many while we punch.
constexpr uint64_t kPunchMargin_records = 65536;
constexpr uint64_t kPunchMargin_boundaries = 1024;

void punch(unsigned char* begin, uint64_t bytes) {
    madvise(begin, bytes, MADV_REMOVE);
}

unsigned char* area_begin(const Recorder& recorder, wire::AreaId id) {
    auto* file = reinterpret_cast<unsigned char*>(recorder.header);
    return file + recorder.header->areas[static_cast<uint32_t>(id)].offset_bytes;
}

void punch_behind(const Recorder& recorder, wire::AreaId id, uint64_t used) {
    used = (used + wire::kAreaAlignment_bytes - 1) / wire::kAreaAlignment_bytes * wire::kAreaAlignment_bytes;
    uint64_t bytes = recorder.header->areas[static_cast<uint32_t>(id)].size_bytes;
    if (used < bytes) punch(area_begin(recorder, id) + used, bytes - used);
}

// All but the places of the tickets from `first` up to `end`, which the program's other threads may pass.
void punch_ring(const Recorder& recorder, uint64_t first, uint64_t end) {
    constexpr uint64_t kStep_records = wire::kAreaAlignment_bytes / sizeof(wire::Record);
    const uint64_t slot_count = recorder.ring.slot_count();
    first = first / kStep_records * kStep_records;
    end = (end + kPunchMargin_records + kStep_records - 1) / kStep_records * kStep_records;
    if (end - first >= slot_count) return;
    unsigned char* ring = area_begin(recorder, wire::AreaId::ring);
    auto punch_slots = [ring](uint64_t begin, uint64_t stop) {
        if (begin < stop) punch(ring + begin * sizeof(wire::Record), (stop - begin) * sizeof(wire::Record));
    };
    const uint64_t unused_begin = recorder.ring.slot_of(end);
    const uint64_t unused_end = recorder.ring.slot_of(first);
    if (unused_begin < unused_end) return punch_slots(unused_begin, unused_end);
    punch_slots(unused_begin, slot_count);
    punch_slots(0, unused_end);
}

void punch_ring(const Recorder& recorder) {
    const wire::Header& header = *recorder.header;
    if (recorder.ring.slots() != nullptr)
        return punch_ring(recorder, header.armed_from, recorder.ring.head());
    // In standby: the window that was armed last.
    if (recorder.ring_slots != nullptr && header.disarmed_at != 0)
        punch_ring(recorder, header.armed_from, header.disarmed_at - 1);
}

// Nobody writes keyframes any more. The state in which the recording was disarmed stays.
void punch_keyframes(const Recorder& recorder) {
    const wire::Area& area = recorder.header->areas[static_cast<uint32_t>(wire::AreaId::keyframes)];
    punch(area_begin(recorder, wire::AreaId::keyframes), uint64_t{area.entry_bytes} * wire::kKeyframeSlots);
}

void punch_boundaries(const Recorder& recorder) {
    uint64_t used = std::atomic_ref<uint32_t>(recorder.header->boundary_count).load();
    punch_behind(recorder, wire::AreaId::boundaries,
                 (used + kPunchMargin_boundaries) * sizeof(wire::Boundary));
}

// Pages of the table that no entry ever touched. Their slots are held meanwhile, so that nobody writes there.
void punch_table(Recorder& recorder) {
    const auto page_bytes = static_cast<uint32_t>(getauxval(AT_PAGESZ));
    const uint32_t slots_per_page = page_bytes / sizeof(wire::LiveEntry);
    unsigned char* table = area_begin(recorder, wire::AreaId::table);
    for (uint32_t slot = 0; slot + slots_per_page <= recorder.table.slot_count(); slot += slots_per_page) {
        if (!recorder.table.reserve_unused(slot, slots_per_page)) continue;
        punch(table + uint64_t{slot} * sizeof(wire::LiveEntry), page_bytes);
        recorder.table.release_reserved(slot, slots_per_page);
    }
}

void punch_names(const Recorder& recorder) {
    if (recorder.names == nullptr) return;
    uint64_t unused = unused_names_offset(recorder);
    punch(reinterpret_cast<unsigned char*>(recorder.names) + unused, recorder.names_bytes - unused);
}

// A clean run gives back the space it did not need.
void give_back_unused(Recorder& recorder) {
    punch_ring(recorder);
    punch_table(recorder);
    punch_names(recorder);
    punch_boundaries(recorder);
    punch_keyframes(recorder);
}

// From here on a record could land in a hole, and a hole on a full disk is SIGBUS.
void stop_recording() {
    g_process.phase.store(Phase::off, std::memory_order_release);
    g_process.recorder.store(nullptr, std::memory_order_release);
}

void say_exit(Recorder& recorder, int status) {
    wire::Header& header = *recorder.header;
    std::atomic_ref<int32_t>(header.exit_status).store(status, std::memory_order_release);
    std::atomic_ref<uint64_t>(header.exit_mark).store(recorder.ring.head() + 1, std::memory_order_release);
}

// A file that was never armed tells nothing; a recording that ended earlier tells how its process did.
void leave_dormant(int status) {
    Recorder* newest = g_process.newest.load(std::memory_order_acquire);
    if (newest->pinned == nullptr) {
        remove_waiting_file();
    } else {
        say_exit(*newest, status);
    }
}

void at_exit(int status, void*) {
    if (g_process.exiting.exchange(1) != 0) return;
    wake_side_thread();
    stop_asking();
    print_due_notice();
    wait_for_notice();
    if (is_dormant()) return leave_dormant(status);
    // Null in a child that never had an event of its own: it leaves no mark in its parent's file.
    Recorder* recorder = current_recorder();
    if (recorder == nullptr) return;
    map_loaded_objects(*recorder);  // what a job of less than a second loaded
    scan_blind_spots(*recorder);
    wire::Header& header = *recorder->header;
    add_anchor(*recorder);
    say_exit(*recorder, status);
    bool clean = status == 0 && std::atomic_ref<uint32_t>(header.failure_count).load() == 0;
    if (clean && !keep_whole_file()) {
        stop_recording();
        give_back_unused(*recorder);
    }
}

__attribute__((constructor)) void at_start() {
    prepare_process_region();
    remember_startup_objects();
    g_may_record.store(!is_loaded_late(), std::memory_order_relaxed);
    if (!is_loaded_late()) offer_nvtx_injection();
    remember_stderr();
    // Registered here and not at the first event: that may come under a lock, or in a child forked while
    // another thread held the C library's list of handlers.
    at_exit_call(at_exit);
}

}  // namespace
}  // namespace memsnap::recorder
