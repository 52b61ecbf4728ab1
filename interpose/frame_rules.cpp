// SPDX-License-Identifier: Apache-2.0
#include "frame_rules.h"

#include <sys/mman.h>

#include <atomic>

#include "cpu.h"
#include "loaded_objects.h"
#include "native_frames.h"

namespace memsnap::recorder {
namespace {

// Of libunwind.h.
constexpr int kInMemory = 1;
struct Cursor {
    uint64_t words[127];
};
struct SavedAt {
    int kind;
    uint64_t address;
    char unused;
};
struct Libunwind {
    int (*init)(Cursor*, ucontext_t*);
    int (*step)(Cursor*);
    int (*get)(Cursor*, int number, uint64_t*);
    int (*find_saved)(Cursor*, int number, SavedAt*);
    void (*flush)(void* address_space, uint64_t begin, uint64_t end);
    void** address_space;
};
Libunwind g_libunwind;
std::atomic<uint32_t> g_flushed_epoch{0};  // libunwind knows nothing that is older

// Memory of zeros that a made-up stack and frame pointer lie in, far enough apart that no frame is larger.
constexpr uint64_t kZeros_bytes = uint64_t{256} << 20;
constexpr uint64_t kStackAt_bytes = uint64_t{64} << 20;
constexpr uint64_t kFrameAt_bytes = uint64_t{192} << 20;
constexpr uint64_t kLargestFrame_bytes = uint64_t{60} << 20;
uint64_t g_zeros;

// ---- rules

enum class Leave : uint8_t {
    unknown,
    from_stack_pointer,
    from_frame_pointer,
    nowhere,  // the outermost frame, or one that nobody can leave
    by_libunwind,
};

// One word: so a thread sees all of a rule or none.
struct Rule {
    Leave leave;
    bool is_frame_pointer_saved;
    int16_t saved_words;  // from the caller's frame, in words
    int32_t distance_bytes;

    uint64_t pack(uint32_t epoch) const {
        return static_cast<uint64_t>(leave) | uint64_t{is_frame_pointer_saved} << 7 |
               uint64_t{static_cast<uint8_t>(saved_words)} << 8 | uint64_t{epoch & 0xffff} << 16 |
               uint64_t{static_cast<uint32_t>(distance_bytes)} << 32;
    }
};

struct Place {
    std::atomic<uint64_t> address;
    std::atomic<uint64_t> rule;
};
constexpr uint64_t kPlaces = 65536;
constexpr uint64_t kProbes = 16;
Place* g_places;

uint64_t hash_of(uint64_t address) {
    return address * 0x9e3779b97f4a7c15 >> 40;
}

Place* find_place(uint64_t address) {
    const uint64_t hash = hash_of(address);
    for (uint64_t i = 0; i < kProbes; ++i) {
        Place& place = g_places[(hash + i) % kPlaces];
        uint64_t found = place.address.load(std::memory_order_relaxed);
        if (found == address) return &place;
        if (found == 0 && place.address.compare_exchange_strong(found, address)) return &place;
        if (found == address) return &place;
    }
    return nullptr;
}

// What libunwind itself remembers of frames may be as untrue as our rules. This only makes it forget later.
void flush_before(uint32_t epoch) {
    if (g_flushed_epoch.exchange(epoch, std::memory_order_acq_rel) == epoch) return;
    g_libunwind.flush(*g_libunwind.address_space, 0, 0);
}

// libunwind leaves a made-up frame; where it then looks tells the rule.
Rule learn(uint64_t address) {
    const Rule by_libunwind{Leave::by_libunwind, false, 0, 0};
    const Rule nowhere{Leave::nowhere, false, 0, 0};
    ucontext_t context = {};
    Cursor cursor;
    const uint64_t stack = g_zeros + kStackAt_bytes;
    const uint64_t frame = g_zeros + kFrameAt_bytes;
    const uint64_t* kept = make_frame(context, address, stack, frame);
    if (g_libunwind.init(&cursor, &context) < 0 || g_libunwind.step(&cursor) < 0) return by_libunwind;
    uint64_t caller = 0;
    SavedAt instruction{};
    SavedAt frame_pointer{};
    if (g_libunwind.get(&cursor, kUnwinding.stack_pointer, &caller) < 0 ||
        g_libunwind.find_saved(&cursor, kUnwinding.instruction, &instruction) < 0 ||
        g_libunwind.find_saved(&cursor, kUnwinding.frame_pointer, &frame_pointer) < 0)
        return by_libunwind;
    if (instruction.kind != kInMemory || frame_pointer.kind != kInMemory) return nowhere;
    if (instruction.address != caller - sizeof(uint64_t)) return by_libunwind;
    Rule rule = by_libunwind;
    if (caller > stack && caller - stack < kLargestFrame_bytes) {
        rule.leave = Leave::from_stack_pointer;
        rule.distance_bytes = static_cast<int32_t>(caller - stack);
    } else if (caller > frame - kLargestFrame_bytes && caller < frame + kLargestFrame_bytes) {
        rule.leave = Leave::from_frame_pointer;
        rule.distance_bytes = static_cast<int32_t>(static_cast<int64_t>(caller - frame));
    }
    if (frame_pointer.address == reinterpret_cast<uint64_t>(kept)) return rule;
    const auto offset_bytes = static_cast<int64_t>(frame_pointer.address - caller);
    if (offset_bytes >= 0 || offset_bytes < -8 * 128 || offset_bytes % 8 != 0) return by_libunwind;
    rule.is_frame_pointer_saved = true;
    rule.saved_words = static_cast<int16_t>(offset_bytes / 8);
    return rule;
}

bool is_of(uint64_t rule, uint32_t epoch) {
    return rule != 0 && (rule >> 16 & 0xffff) == (epoch & 0xffff);
}

// 0: not known, and not to be learnt just now.
__attribute__((noinline)) uint64_t look_up(ThreadState& state, uint64_t address, uint32_t epoch) {
    Place* place = find_place(address);
    if (place == nullptr) return static_cast<uint64_t>(Leave::by_libunwind);
    uint64_t rule = place->rule.load(std::memory_order_relaxed);
    if (is_of(rule, epoch)) return rule;
    UnwindingScope scope(state);
    if (!scope.may()) return 0;
    flush_before(epoch);
    rule = learn(address).pack(epoch);
    place->rule.store(rule, std::memory_order_relaxed);
    return rule;
}

// The table of all threads is large, and its places lie far from each other: each thread keeps a few at hand.
uint64_t rule_of(ThreadState& state, uint64_t address, uint32_t epoch) {
    KnownRule& known = state.known_rules[hash_of(address) % kKnownRules];
    if (known.address == address && is_of(known.rule, epoch)) [[likely]]
        return known.rule;
    known = KnownRule{address, look_up(state, address, epoch)};
    return known.rule;
}

// Callers lie above, and not far.
bool is_plausible(ThreadState& state, uint64_t stack, uint64_t caller) {
    return caller > stack && caller - stack <= kLargestFrame_bytes && caller % sizeof(uint64_t) == 0 &&
           state.proven_stack.may_read(caller - sizeof(uint64_t));
}

struct Registers {
    uint64_t instruction, stack, frame_pointer;
};

// From a frame without a rule, such as a signal handler's caller, libunwind goes on: slower, and since each
// word is checked before it is read, as safely.
__attribute__((noinline)) Walked step_on(ThreadState& state, const Registers& registers, void** addresses,
                                         int count, int capacity) {
    UnwindingScope scope(state);
    if (!scope.may()) return {0, false};
    ucontext_t context = {};
    Cursor cursor;
    make_frame(context, registers.instruction, registers.stack, registers.frame_pointer);
    if (g_libunwind.init(&cursor, &context) < 0) return {count, true};
    uint64_t stack = registers.stack;
    while (count < capacity) {
        const int result = g_libunwind.step(&cursor);
        uint64_t instruction = 0;
        uint64_t caller = 0;
        if (result == 0) return {count, false};
        if (result < 0 || g_libunwind.get(&cursor, kUnwinding.instruction, &instruction) < 0 ||
            g_libunwind.get(&cursor, kUnwinding.stack_pointer, &caller) < 0 ||
            !is_plausible(state, stack, caller))
            return {count, true};
        if (instruction == 0) return {count, false};
        addresses[count++] = reinterpret_cast<void*>(instruction);
        stack = caller;
    }
    return {count, false};
}

}  // namespace

bool prepare_frame_rules(void* library, void* (*symbol)(void* library, const char* name)) {
    auto find = [library, symbol]<typename Function>(Function*& function, const char* name) {
        function = reinterpret_cast<Function*>(symbol(library, name));
        return function != nullptr;
    };
    if (kUnwinding.init == nullptr) return false;
    g_libunwind.address_space = static_cast<void**>(symbol(library, kUnwinding.address_space));
    if (g_libunwind.address_space == nullptr || !find(g_libunwind.init, kUnwinding.init) ||
        !find(g_libunwind.step, kUnwinding.step) || !find(g_libunwind.get, kUnwinding.get_register) ||
        !find(g_libunwind.find_saved, kUnwinding.find_saved) || !find(g_libunwind.flush, kUnwinding.flush))
        return false;
    constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void* zeros = mmap(nullptr, kZeros_bytes, PROT_READ, kFlags, -1, 0);
    void* places = mmap(nullptr, kPlaces * sizeof(Place), PROT_READ | PROT_WRITE, kFlags, -1, 0);
    if (zeros == MAP_FAILED || places == MAP_FAILED) return false;
    madvise(zeros, kZeros_bytes, MADV_DONTDUMP);
    g_zeros = reinterpret_cast<uint64_t>(zeros);
    g_places = static_cast<Place*>(places);
    return true;
}

void warm_up_frame_rules() {
    learn(reinterpret_cast<uint64_t>(&warm_up_frame_rules) + 1);
}

Walked walk_by_rules(ThreadState& state, const uint64_t* frame, void** addresses, int capacity,
                     WordsRead& read) {
    const uint32_t epoch = walk_epoch();
    const uint64_t* frame_pointer_at = frame;  // null once it is among the words read
    uint64_t frame_pointer = frame[0];
    uint64_t address = frame[1];
    auto stack = reinterpret_cast<uint64_t>(frame + 2);
    state.proven_stack.begin_at(reinterpret_cast<uint64_t>(frame));
    read.begin(epoch);
    read.add(frame + 1, address);
    int count = 0;
    while (count < capacity && address >= 4096) {
        addresses[count++] = reinterpret_cast<void*>(address);
        const uint64_t rule = rule_of(state, address, epoch);
        const auto leave = static_cast<Leave>(rule & 0x7f);
        if (leave == Leave::nowhere) break;
        if (leave == Leave::unknown) return {0, false};
        if (leave == Leave::by_libunwind) {
            read.begin(0);
            return step_on(state, {address, stack, frame_pointer}, addresses, count, capacity);
        }
        if (leave == Leave::from_frame_pointer && frame_pointer_at != nullptr) {
            read.add(frame_pointer_at, frame_pointer);
            frame_pointer_at = nullptr;
        }
        const uint64_t base = leave == Leave::from_stack_pointer ? stack : frame_pointer;
        const uint64_t caller = base + static_cast<uint64_t>(int64_t{static_cast<int32_t>(rule >> 32)});
        if (!is_plausible(state, stack, caller)) {
            read.begin(0);
            return {count, true};
        }
        const auto* words = reinterpret_cast<const uint64_t*>(caller);
        if ((rule & 0x80) != 0) {
            frame_pointer_at = &words[static_cast<int8_t>(rule >> 8)];
            if (!state.proven_stack.may_read(reinterpret_cast<uint64_t>(frame_pointer_at))) {
                read.begin(0);
                return {count, true};
            }
            frame_pointer = *frame_pointer_at;
        }
        address = words[-1];
        read.add(&words[-1], address);
        stack = caller;
    }
    return {count, false};
}

}  // namespace memsnap::recorder
