// SPDX-License-Identifier: Apache-2.0
#include "tap.h"

namespace memsnap::recorder {

Start start_of_tap_word(wire::Kind kind) {
    return kind == wire::Kind::tap_alloc || kind == wire::Kind::tap_segment_alloc ||
                   kind == wire::Kind::tap_segment_map || kind == wire::Kind::tap_oom
               ? Start::if_needed
               : Start::never;
}

void write_tap_word(Recorder& recorder, const TapWord& word) {
    Event event;
    event.kind = word.kind;
    event.flags = wire::kFlagFromTorch;
    event.thread = thread_index(recorder);
    event.time = read_counter();
    event.address = word.address;
    event.size = word.size_bytes;
    event.link = word.link;
    event.set_extra(word.stream, word.pool);
    event.device = word.device;
    event.code = word.code;
    recorder.ring.commit(event);
}

bool may_repeat_tap_words(const Recorder& recorder, uint32_t record_count) {
    constexpr uint64_t kRingPart = 16;
    return record_count <= recorder.ring.slot_count() / kRingPart;
}

void note_tap_state(wire::TapState state) {
    g_process.tap_state.store(state, std::memory_order_release);
    if (Recorder* recorder = current_recorder()) show_tap_state(*recorder);
}

void show_tap_state(Recorder& recorder) {
    auto* field = reinterpret_cast<uint32_t*>(&recorder.header->tap);
    std::atomic_ref<uint32_t>(*field).store(
        static_cast<uint32_t>(g_process.tap_state.load(std::memory_order_acquire)),
        std::memory_order_relaxed);
}

}  // namespace memsnap::recorder
