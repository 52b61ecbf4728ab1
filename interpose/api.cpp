// SPDX-License-Identifier: Apache-2.0
#include "api.h"

#include "early_marks.h"
#include "initial_ledger.h"
#include "late_attach.h"
#include "marks.h"
#include "phases.h"
#include "steps.h"
#include "tap.h"

namespace memsnap::recorder {
namespace {

constexpr uint32_t kApiVersion = 1;

wire::Family told_family(uint32_t family) {
    for (wire::Family known : {wire::Family::optimizer, wire::Family::range, wire::Family::collection}) {
        if (family == static_cast<uint32_t>(known)) return known;
    }
    return wire::Family::none;
}

int8_t narrow(int32_t device) {
    return device < 0 || device >= static_cast<int32_t>(wire::kDeviceCapacity) ? int8_t{-1}
                                                                               : static_cast<int8_t>(device);
}

}  // namespace
}  // namespace memsnap::recorder

using namespace memsnap::recorder;
namespace wire = memsnap::wire;

extern "C" {

uint32_t memsnap1_version() {
    return kApiVersion;
}

int memsnap1_recording() {
    return current_recorder() != nullptr ? 1 : 0;
}

uint64_t memsnap1_begin(uint32_t family, const char* name, size_t name_bytes, uint64_t detail) {
    uint64_t handle = next_handle();
    EventScope scope(Start::never);
    if (!scope.entered()) return handle;
    Range range;
    range.family = told_family(family);
    range.collection_off = range.family == wire::Family::optimizer && (detail & 1) != 0;
    if (range.family != wire::Family::collection) detail = 0;
    if (scope.recorder() == nullptr) {
        keep_early_range(handle, range, name, name_bytes, detail);
        return handle;
    }
    range.names = ids_of_text(*scope.recorder(), name, name_bytes);
    return open_range(*scope.recorder(), handle, range, detail);
}

void memsnap1_end(uint64_t range) {
    EventScope scope(Start::never);
    if (scope.recorder() != nullptr) {
        close_range(*scope.recorder(), range);
    } else if (scope.entered()) {
        forget_early_range(range);
    }
}

void memsnap1_step(const char* name, size_t name_bytes, uint32_t flags) {
    EventScope scope(Start::never);
    note_told_steps();
    if (scope.recorder() != nullptr) end_step(*scope.recorder(), name, name_bytes, flags);
}

void memsnap1_mark(const char* name, size_t name_bytes) {
    EventScope scope(Start::never);
    if (scope.recorder() != nullptr)
        write_mark(*scope.recorder(), ids_of_text(*scope.recorder(), name, name_bytes));
}

void memsnap1_note(const char* dimension, size_t dimension_bytes, int64_t value) {
    EventScope scope(Start::never);
    if (scope.recorder() != nullptr) {
        write_note(*scope.recorder(), dimension, dimension_bytes, value);
    } else if (scope.entered()) {
        keep_early_note(dimension, dimension_bytes, value);
    }
}

void memsnap1_category(int32_t device, uint64_t address, uint64_t size_bytes, uint32_t category) {
    EventScope scope(Start::never);
    if (scope.recorder() != nullptr && category <= UINT16_MAX)
        write_category(*scope.recorder(), narrow(device), address, size_bytes,
                       static_cast<uint16_t>(category));
}

void memsnap1_cap(int32_t device, uint64_t limit_bytes, uint32_t source) {
    EventScope scope(Start::never);
    if (source > UINT16_MAX) return;
    if (scope.recorder() != nullptr) {
        write_cap(*scope.recorder(), narrow(device), limit_bytes, static_cast<uint16_t>(source));
    } else if (scope.entered()) {
        keep_early_cap(narrow(device), limit_bytes, static_cast<uint16_t>(source));
    }
}

void memsnap1_tap(uint32_t kind, int32_t device, uint64_t address, uint64_t size_bytes, uint64_t link,
                  uint64_t stream, uint32_t pool, uint32_t code) {
    if (!is_tap_kind(kind) || code > UINT16_MAX) return;
    auto known_kind = static_cast<wire::Kind>(kind);
    EventScope scope(start_of_tap_word(known_kind));
    if (scope.recorder() == nullptr) return;
    auto known_pool = static_cast<uint16_t>(pool < wire::kPoolUnknown ? pool : wire::kPoolUnknown);
    write_tap_word(*scope.recorder(), {known_kind, narrow(device), known_pool, static_cast<uint16_t>(code),
                                       address, size_bytes, link, stream});
}

int memsnap1_tap_may_repeat(uint32_t record_count) {
    EventScope scope(Start::if_needed);
    return scope.recorder() != nullptr && may_repeat_tap_words(*scope.recorder(), record_count) ? 1 : 0;
}

void memsnap1_tap_state(uint32_t state) {
    if (state <= static_cast<uint32_t>(wire::TapState::off))
        note_tap_state(static_cast<wire::TapState>(state));
}

uint32_t memsnap1_attach(const char* settings, size_t settings_bytes) {
    return attach_late(settings, settings_bytes);
}

uint32_t memsnap1_detach() {
    return detach_late();
}

int memsnap1_initial_begin() {
    return begin_initial() ? 1 : 0;
}

void memsnap1_initial(uint32_t told, int32_t device, uint64_t address, uint64_t size_bytes) {
    add_initial(told, device, address, size_bytes);
}

uint32_t memsnap1_initial_end() {
    return end_initial();
}
}
