// SPDX-License-Identifier: Apache-2.0
#include "early_marks.h"

#include <cstring>

#include "glibc_compat.h"
#include "marks.h"
#include "phases.h"

namespace memsnap::recorder {
namespace {

// Takes a place away from all others, if it is in that state.
bool claim(EarlyMark& place, uint32_t state) {
    return place.state.load(std::memory_order_relaxed) == state &&
           place.state.compare_exchange_strong(state, EarlyMark::kBusy, std::memory_order_acq_rel);
}

void give_up(EarlyMark& place) {
    place.state.store(EarlyMark::kFree, std::memory_order_release);
    g_process.early_marks.count.fetch_sub(1, std::memory_order_relaxed);
}

struct Told {
    EarlyMark::Content content;
    uint32_t tid;
    uint64_t handle;
    const char* text;
    size_t text_bytes;
};

void fill(EarlyMark& place, const Told& told) {
    const Range& range = told.content.range;
    place.tid.store(told.tid, std::memory_order_relaxed);
    place.domain.store(range.pushed ? range.domain + 1U : 0, std::memory_order_relaxed);
    place.handle.store(told.handle, std::memory_order_relaxed);
    place.content = told.content;
    place.text_bytes = told.text_bytes;
    if (told.text_bytes != 0) memcpy(place.text, told.text, told.text_bytes);
    place.state.store(EarlyMark::kTold, std::memory_order_release);
}

bool is_same(const EarlyMark& place, const Told& told) {
    const EarlyMark::Content& there = place.content;
    if (there.kind != told.content.kind) return false;
    if (there.kind == EarlyMark::Kind::cap)
        return there.device == told.content.device && there.source == told.content.source;
    return place.text_bytes == told.text_bytes && memcmp(place.text, told.text, told.text_bytes) == 0;
}

bool replace(const Told& told) {
    for (EarlyMark& place : g_process.early_marks.places) {
        if (place.tid.load(std::memory_order_relaxed) != 0 || !claim(place, EarlyMark::kTold)) continue;
        bool same = place.tid.load(std::memory_order_relaxed) == 0 && is_same(place, told);
        if (same) fill(place, told);
        if (!same) place.state.store(EarlyMark::kTold, std::memory_order_release);
        if (same) return true;
    }
    return false;
}

bool place_anew(const Told& told) {
    for (EarlyMark& place : g_process.early_marks.places) {
        if (!claim(place, EarlyMark::kFree)) continue;
        g_process.early_marks.count.fetch_add(1, std::memory_order_relaxed);
        fill(place, told);
        return true;
    }
    return false;
}

void keep(Told told) {
    if (g_process.phase.load(std::memory_order_relaxed) == Phase::off) return;
    told.text_bytes = kept_bytes(told.text, told.text_bytes);
    bool kept = (told.tid == 0 && replace(told)) || place_anew(told);
    if (!kept) g_process.early_marks.dropped_count.fetch_add(1, std::memory_order_relaxed);
    // The recording may have begun meanwhile, and everybody looked here already.
    Recorder* recorder = current_recorder();
    if (recorder == nullptr) return;
    thread_index(*recorder);
    write_early_marks(*recorder);
}

// Claims the told mark with the least handle (the greatest with `last`) that fits; null: there is none.
template <typename Fits>
EarlyMark* claim_in_order(bool last, Fits fits) {
    for (uint32_t tries = 0; tries < EarlyMarks::kCapacity; ++tries) {
        EarlyMark* best = nullptr;
        uint64_t best_handle = 0;
        for (EarlyMark& place : g_process.early_marks.places) {
            if (place.state.load(std::memory_order_acquire) != EarlyMark::kTold || !fits(place)) continue;
            uint64_t handle = place.handle.load(std::memory_order_relaxed);
            if (best != nullptr && (last ? handle < best_handle : handle > best_handle)) continue;
            best = &place;
            best_handle = handle;
        }
        if (best == nullptr) return nullptr;
        if (!claim(*best, EarlyMark::kTold)) continue;
        if (best->handle.load(std::memory_order_relaxed) == best_handle) return best;
        best->state.store(EarlyMark::kTold, std::memory_order_release);
    }
    return nullptr;
}

void write(Recorder& recorder, const EarlyMark& mark) {
    const EarlyMark::Content& content = mark.content;
    Range range = content.range;
    switch (content.kind) {
        case EarlyMark::Kind::range:
            range.names = ids_of_text(recorder, mark.text, mark.text_bytes);
            open_range(recorder, mark.handle.load(std::memory_order_relaxed), range, content.value);
            return;
        case EarlyMark::Kind::note:
            return write_note(recorder, mark.text, mark.text_bytes, static_cast<int64_t>(content.value));
        case EarlyMark::Kind::cap:
            return write_cap(recorder, content.device, content.value, content.source);
    }
}

}  // namespace

void keep_early_range(uint64_t handle, const Range& range, const char* name, size_t name_bytes,
                      uint64_t detail) {
    keep({{EarlyMark::Kind::range, -1, 0, detail, range}, current_thread_id(), handle, name, name_bytes});
}

void keep_early_note(const char* dimension, size_t dimension_bytes, int64_t value) {
    keep({{EarlyMark::Kind::note, -1, 0, static_cast<uint64_t>(value), {}},
          0,
          next_handle(),
          dimension,
          dimension_bytes});
}

void keep_early_cap(int8_t device, uint64_t limit_bytes, uint16_t source) {
    keep({{EarlyMark::Kind::cap, device, source, limit_bytes, {}}, 0, next_handle(), nullptr, 0});
}

void forget_early_range(uint64_t handle) {
    EarlyMark* found = claim_in_order(false, [handle](const EarlyMark& mark) {
        return mark.tid.load(std::memory_order_relaxed) != 0 &&
               mark.handle.load(std::memory_order_relaxed) == handle;
    });
    if (found != nullptr) give_up(*found);
}

void forget_early_push(uint8_t domain) {
    uint32_t tid = current_thread_id();
    EarlyMark* found = claim_in_order(true, [tid, domain](const EarlyMark& mark) {
        return mark.tid.load(std::memory_order_relaxed) == tid &&
               mark.domain.load(std::memory_order_relaxed) == domain + 1U;
    });
    if (found != nullptr) give_up(*found);
}

void write_early_marks(Recorder& recorder) {
    EarlyMarks& marks = g_process.early_marks;
    uint32_t dropped = marks.dropped_count.exchange(0, std::memory_order_relaxed);
    std::atomic_ref<uint64_t>(recorder.header->counters.boundaries_dropped)
        .fetch_add(dropped, std::memory_order_relaxed);
    if (marks.count.load(std::memory_order_relaxed) == 0) return;
    uint32_t tid = current_thread_id();
    auto is_due = [tid](const EarlyMark& mark) {
        uint32_t owner = mark.tid.load(std::memory_order_relaxed);
        return owner == 0 || owner == tid;
    };
    while (EarlyMark* mark = claim_in_order(false, is_due)) {
        write(recorder, *mark);
        give_up(*mark);
    }
}

}  // namespace memsnap::recorder
