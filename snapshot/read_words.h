// SPDX-License-Identifier: Apache-2.0
//
// The words of a snapshot, as numbers. The rule: they are the first texts of a reading, so that a member is
// told by comparing numbers.
#pragma once

#include <cstdint>

#include "pickle_value.h"
#include "snapshot.h"

namespace memsnap::snapshot {

// Members of trace entries, frames, blocks, segments and annotations; then those of the rest; then values.
// clang-format off
#define MEMSNAP_SNAPSHOT_MEMBERS(W) \
    W(action) W(addr) W(size) W(stream) W(time_us) W(frames) W(cpp_frames) W(pool_id) W(user_metadata) \
    W(compile_context) W(device_free) W(filename) W(name) W(line) W(fx_node_op) W(fx_node_name) \
    W(fx_node_target) W(fx_node_info) W(fx_original_trace) W(address) W(requested_size) W(state) W(history) \
    W(real_size) W(device) W(total_size) W(allocated_size) W(active_size) W(segment_type) \
    W(segment_pool_id) W(is_expandable) W(registration_counter) W(blocks) W(stage)
#define MEMSNAP_SNAPSHOT_WORDS(W) \
    MEMSNAP_SNAPSHOT_MEMBERS(W) \
    W(segments) W(device_traces) W(allocator_settings) W(external_annotations) W(host_segments) \
    W(host_traces) W(memsnap) W(max_split_size) W(garbage_collection_threshold) W(expandable_segments) \
    W(roundup_power2_divisions) W(version) W(tap) W(observations) W(before_entry) W(total_bytes) \
    W(free_bytes) \
    W(alloc) W(free) W(free_requested) W(free_completed) W(segment_alloc) W(segment_free) W(segment_map) \
    W(segment_unmap) W(snapshot) W(oom) W(annotate) W(active_allocated) W(active_pending_free) \
    W(active_awaiting_free) W(inactive) W(small) W(large) W(START) W(END)
// clang-format on

enum class Word : TextId {
    none,
#define MEMSNAP_WORD(word) word,
    MEMSNAP_SNAPSHOT_WORDS(MEMSNAP_WORD)
#undef MEMSNAP_WORD
};
inline constexpr auto kMembersEnd = static_cast<TextId>(Word::segments);
static_assert(kMembersEnd <= 64);

constexpr std::string_view text_of(Word word) {
    constexpr std::string_view texts[] = {"",
#define MEMSNAP_WORD(word) #word,
                                          MEMSNAP_SNAPSHOT_WORDS(MEMSNAP_WORD)
#undef MEMSNAP_WORD
    };
    return texts[static_cast<size_t>(word)];
}

// To an empty table of texts.
inline void add_words(Texts& texts) {
    for (TextId id = 1; id <= static_cast<TextId>(Word::END); ++id)
        texts.add(text_of(static_cast<Word>(id)));
}

inline Word word_of(const Value& value) {
    return value.kind == Kind::text && value.low <= static_cast<TextId>(Word::END)
               ? static_cast<Word>(value.low)
               : Word::none;
}

}  // namespace memsnap::snapshot
