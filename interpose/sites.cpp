// SPDX-License-Identifier: Apache-2.0
#include "sites.h"

#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "interned.h"
#include "loaded_objects.h"
#include "names.h"
#include "native_frames.h"
#include "side_thread.h"

namespace memsnap::recorder {
namespace {

// Both sorts of frames behind each other, as they go into the hash: a Python frame as it comes, a native one
// as its address with the generation in the bits that no address uses.
constexpr size_t kWordsPerPythonFrame = 2;
constexpr unsigned kGenerationShift = 48;
static_assert(sizeof(PythonFrame) == kWordsPerPythonFrame * sizeof(uint64_t) &&
              std::has_unique_object_representations_v<PythonFrame>);

bool wants_python(wire::StackWish wish) {
    return wish == wire::StackWish::automatic || wish == wire::StackWish::python ||
           wish == wire::StackWish::both;
}

bool wants_native(wire::StackWish wish, SiteOf what, bool has_python) {
    switch (wish) {
        case wire::StackWish::automatic:
            return what == SiteOf::foreign_call || !has_python;
        case wire::StackWish::native:
        case wire::StackWish::both:
            return true;
        case wire::StackWish::off:
        case wire::StackWish::python:
            return false;
    }
    return false;
}

// XXH3 is at its best up to this size; for longer input it prepares itself first.
constexpr size_t kChunk_bytes = 240;

uint64_t hash_of(const void* keys, size_t size_bytes) {
    const auto* at = static_cast<const unsigned char*>(keys);
    uint64_t hash = 0;
    for (; size_bytes > kChunk_bytes; at += kChunk_bytes, size_bytes -= kChunk_bytes) {
        hash = XXH3_64bits_withSeed(at, kChunk_bytes, hash);
    }
    hash = XXH3_64bits_withSeed(at, size_bytes, hash);
    return hash == 0 ? 1 : hash;  // 0 is the token of no stack
}

__attribute__((noinline)) uint64_t token_with_native(const PythonStack& python, const NativeStack& native,
                                                     uint32_t generation) {
    uint64_t keys[(kWordsPerPythonFrame + 1) * kMaxFrames];
    size_t count = kWordsPerPythonFrame * python.count;
    memcpy(keys, python.frames, count * sizeof *keys);
    for (uint32_t i = 0; i < native.count; ++i) {
        keys[count++] = native.addresses[i] ^ uint64_t { generation & 0xffff } << kGenerationShift;
    }
    return hash_of(keys, count * sizeof *keys);
}

uint64_t token_of(const PythonStack& python, const NativeStack& native, uint32_t generation) {
    if (native.count != 0) return token_with_native(python, native, generation);
    if (python.count == 0) return 0;
    return hash_of(python.frames, python.count * sizeof *python.frames);
}

// ---- the first sight of a stack

void enter_code(Recorder& recorder, const PythonFrame& frame, uint64_t id) {
    constexpr size_t kSmall_bytes = 2048;
    for (Scratch& scratch : recorder.interned->scratch) {
        if (scratch.busy.exchange(1, std::memory_order_acquire) != 0) continue;
        size_t size = describe_code(frame.code, scratch.bytes, sizeof scratch.bytes);
        if (size != 0) intern(recorder, wire::NameKind::code, id, scratch.bytes, size);
        if (size == 0) bump(recorder.header->counters.names_dropped);
        scratch.busy.store(0, std::memory_order_release);
        return;
    }
    unsigned char payload[kSmall_bytes];
    size_t size = describe_code(frame.code, payload, sizeof payload);
    if (size != 0) intern(recorder, wire::NameKind::code, id, payload, size);
    if (size == 0) bump(recorder.header->counters.names_dropped);
}

// 0 when the table is full.
uint32_t code_id(Recorder& recorder, const PythonFrame& frame) {
    const uint64_t key[2] = {reinterpret_cast<uint64_t>(frame.code), frame.generation};
    uint64_t place = 0;
    WordSet::Found found = recorder.interned->codes.add(hash_of(key, sizeof key), place);
    if (found == WordSet::Found::full) return 0;
    if (found == WordSet::Found::added) enter_code(recorder, frame, place + 1);
    return static_cast<uint32_t>(place + 1);
}

void enter_stack(Recorder& recorder, uint64_t token, const PythonStack& python, const NativeStack& native,
                 uint32_t generation) {
    struct {
        wire::StackEntry entry;
        uint64_t words[2 * kMaxFrames];
    } payload;
    payload.entry.python_count = static_cast<uint16_t>(python.count);
    payload.entry.native_count = static_cast<uint16_t>(native.count);
    payload.entry.flags = static_cast<uint16_t>((python.cut ? wire::kStackPythonCut : 0) |
                                                (native.cut ? wire::kStackNativeCut : 0));
    payload.entry.generation = static_cast<uint16_t>(generation);
    uint32_t count = 0;
    for (uint32_t i = 0; i < python.count; ++i) {
        const PythonFrame& frame = python.frames[i];
        payload.words[count++] = uint64_t{code_id(recorder, frame)} << 32 | frame.instruction;
    }
    for (uint32_t i = 0; i < native.count; ++i) {
        payload.words[count++] = native.addresses[i];
    }
    intern(recorder, wire::NameKind::stack, token, &payload, sizeof payload.entry + count * sizeof(uint64_t));
}

// The token under which the stack is known from now on.
__attribute__((noinline)) uint64_t learn_stack(Recorder& recorder, uint64_t token, const PythonStack& python,
                                               const NativeStack& native, uint32_t generation) {
    if (native.count != 0) {
        if (notice_unloading() || generation != object_generation()) {
            generation = object_generation();
            token = token_of(python, native, generation);
        }
        if (!note_walked(recorder, native.addresses, native.count)) wake_side_thread();
    }
    uint64_t place = 0;
    switch (recorder.interned->stacks.add(token, place)) {
        case WordSet::Found::known:
            break;
        case WordSet::Found::added:
            enter_stack(recorder, token, python, native, generation);
            break;
        case WordSet::Found::full:
            bump(recorder.header->counters.names_dropped);
            break;
    }
    return token;
}

// ---- sites seen before

// Where a birth is, before anything is walked.
struct Origin {
    SiteOf what;
    uintptr_t innermost;    // Python frame, 0: none
    const uint64_t* frame;  // of site_of_birth: saved frame pointer, return address
};

RecalledSites* recalled_sites(Recorder& recorder, ThreadState& state) {
    if (state.recalled != nullptr || state.is_recall_refused) [[likely]]
        return state.recalled;
    const uint32_t index = recorder.interned->recalling_count.fetch_add(1, std::memory_order_relaxed);
    state.is_recall_refused = index >= Interned::kRecallingThreads;
    if (!state.is_recall_refused) state.recalled = &recorder.interned->recalled[index];
    return state.recalled;
}

uint64_t key_of(wire::StackWish wish, const Origin& origin) {
    constexpr uint64_t kGolden = 0x9e3779b97f4a7c15;
    uint64_t key = python_key(origin.innermost);
    if (wants_native(wish, origin.what, origin.innermost != 0))
        key ^= reinterpret_cast<uint64_t>(origin.frame);
    key = (key ^ key >> 32) * kGolden;
    return key == 0 ? 1 : key;
}

bool is_same(wire::StackWish wish, const Origin& origin, const RecalledSite& site, ModuleCall& module) {
    if (site.what != origin.what) return false;
    if (site.has_native &&
        (site.object_generation != object_generation() || !site.native.is_same(origin.frame, walk_epoch())))
        return false;
    if (wants_python(wish)) return is_same_python(origin.innermost, site.python, module);
    module = outermost_module_call();
    return true;
}

// ---- a site that has to be walked

void remember(wire::StackWish wish, const Origin& origin, const PythonStack& python,
              const NativeStack& native, uint32_t generation, uint64_t token, RecalledSite& site) {
    site.what = origin.what;
    site.has_native = native.count != 0;
    site.object_generation = generation;
    if (site.has_native ? !site.native.is_whole() : wants_native(wish, origin.what, python.count != 0))
        return;
    if (wants_python(wish) && !remember_python(origin.innermost, python, site.python)) return;
    site.token = token;
}

__attribute__((noinline)) uint64_t walk_site(Recorder& recorder, ThreadState* state, const Origin& origin,
                                             ModuleCall& module, RecalledSite* to_remember) {
    const wire::StackWish wish = recorder.stack_wish;
    PythonStack python;
    NativeStack native;
    if (wants_python(wish)) {
        walk_python_from(origin.innermost, recorder.stack_depth, python);
        module = python.outermost_module;
    } else {
        module = outermost_module_call();
    }
    uint32_t generation = 0;
    if (state != nullptr && wants_native(wish, origin.what, python.count != 0)) {
        generation = object_generation();
        WordsRead read_once;
        WordsRead& read = to_remember == nullptr ? read_once : to_remember->native;
        walk_native(*state, origin.frame, recorder.stack_depth, native, read);
    }
    const uint64_t token = token_of(python, native, generation);
    if (token == 0) {
        bool is_expected = wish == wire::StackWish::python && python_stacks() == wire::PythonStacks::none;
        if (!is_expected) bump(recorder.header->counters.no_stack);
        return 0;
    }
    if (recorder.interned == nullptr) return token;
    if (recorder.interned->stacks.contains(token)) {
        if (to_remember != nullptr) remember(wish, origin, python, native, generation, token, *to_remember);
        return token;
    }
    const uint64_t learnt = learn_stack(recorder, token, python, native, generation);
    // What calls modules may have been learnt of a code object only just now.
    if (python.count != 0 && module.frame == nullptr) module = outermost_module_call();
    return learnt;
}

}  // namespace

uint64_t site_of_birth(Recorder& recorder, SiteOf what, ModuleCall& module) {
    module = {};
    const wire::StackWish wish = recorder.stack_wish;
    if (wish == wire::StackWish::off) return 0;
    const Origin origin{what, wants_python(wish) ? innermost_python_frame() : 0,
                        static_cast<const uint64_t*>(__builtin_frame_address(0))};
    ThreadState* state = thread_state(recorder, thread_index(recorder));
    RecalledSite* to_remember = nullptr;
    if (state != nullptr && recorder.interned != nullptr) {
        if (RecalledSites* recalled = recalled_sites(recorder, *state)) {
            const uint64_t key = key_of(wish, origin);
            RecalledSite& site = recalled->at(key);
            if (site.key == key && site.token != 0) {
                if (is_same(wish, origin, site, module)) return site.token;
            } else if (site.key == key) {
                to_remember = &site;
            }
            site.key = key;
            site.token = 0;
        }
    }
    return walk_site(recorder, state, origin, module, to_remember);
}

}  // namespace memsnap::recorder
