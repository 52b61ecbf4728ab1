// SPDX-License-Identifier: Apache-2.0
#include "frame_rules.h"

#include <sys/mman.h>

#include <atomic>

#include "loaded_objects.h"

#if defined(__x86_64__)
#include <ucontext.h>
#endif

namespace memsnap::recorder {

#if defined(__x86_64__)
namespace {

// Of libunwind.h for this processor.
constexpr int kFramePointer = 6;
constexpr int kStackPointer = 7;
constexpr int kInstruction = 16;
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
};
Libunwind g_libunwind;

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

// libunwind leaves a made-up frame; where it then looks tells the rule.
Rule learn(uint64_t address) {
    const Rule by_libunwind{Leave::by_libunwind, false, 0, 0};
    const Rule nowhere{Leave::nowhere, false, 0, 0};
    ucontext_t context = {};
    Cursor cursor;
    const uint64_t stack = g_zeros + kStackAt_bytes;
    const uint64_t frame = g_zeros + kFrameAt_bytes;
    auto* registers = context.uc_mcontext.gregs;
    registers[REG_RIP] = static_cast<greg_t>(address);
    registers[REG_RSP] = static_cast<greg_t>(stack);
    registers[REG_RBP] = static_cast<greg_t>(frame);
    if (g_libunwind.init(&cursor, &context) < 0 || g_libunwind.step(&cursor) < 0) return by_libunwind;
    uint64_t caller = 0;
    SavedAt instruction{};
    SavedAt frame_pointer{};
    if (g_libunwind.get(&cursor, kStackPointer, &caller) < 0 ||
        g_libunwind.find_saved(&cursor, kInstruction, &instruction) < 0 ||
        g_libunwind.find_saved(&cursor, kFramePointer, &frame_pointer) < 0)
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
    const auto* kept = reinterpret_cast<const uint64_t*>(&registers[REG_RBP]);
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

__attribute__((noinline)) uint64_t look_up(uint64_t address, uint32_t epoch) {
    Place* place = find_place(address);
    if (place == nullptr) return static_cast<uint64_t>(Leave::by_libunwind);
    uint64_t rule = place->rule.load(std::memory_order_relaxed);
    if (is_of(rule, epoch)) return rule;
    rule = learn(address).pack(epoch);
    place->rule.store(rule, std::memory_order_relaxed);
    return rule;
}

// The table of all threads is large, and its places lie far from each other: each thread keeps a few at hand.
uint64_t rule_of(ThreadState& state, uint64_t address, uint32_t epoch) {
    KnownRule& known = state.known_rules[hash_of(address) % kKnownRules];
    if (known.address == address && is_of(known.rule, epoch)) [[likely]]
        return known.rule;
    known = KnownRule{address, look_up(address, epoch)};
    return known.rule;
}

}  // namespace

bool prepare_frame_rules(void* library, void* (*symbol)(void* library, const char* name)) {
    auto find = [library, symbol]<typename Function>(Function*& function, const char* name) {
        function = reinterpret_cast<Function*>(symbol(library, name));
        return function != nullptr;
    };
    if (!find(g_libunwind.init, "_ULx86_64_init_local") || !find(g_libunwind.step, "_ULx86_64_step") ||
        !find(g_libunwind.get, "_ULx86_64_get_reg") ||
        !find(g_libunwind.find_saved, "_ULx86_64_get_save_loc"))
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

int walk_by_rules(ThreadState& state, const uint64_t* frame, void** addresses, int capacity) {
    const uint32_t epoch = walk_epoch();
    uint64_t frame_pointer = frame[0];
    uint64_t address = frame[1];
    auto stack = reinterpret_cast<uint64_t>(frame + 2);
    int count = 0;
    while (count < capacity && address >= 4096) {
        addresses[count++] = reinterpret_cast<void*>(address);
        const uint64_t rule = rule_of(state, address, epoch);
        const auto leave = static_cast<Leave>(rule & 0x7f);
        if (leave == Leave::nowhere) break;
        if (leave != Leave::from_stack_pointer && leave != Leave::from_frame_pointer) return -1;
        const uint64_t base = leave == Leave::from_stack_pointer ? stack : frame_pointer;
        const uint64_t caller = base + static_cast<uint64_t>(int64_t{static_cast<int32_t>(rule >> 32)});
        // Callers lie above, and not far.
        if (caller <= stack || caller - stack > kLargestFrame_bytes || caller % sizeof(uint64_t) != 0)
            return -1;
        const auto* words = reinterpret_cast<const uint64_t*>(caller);
        if ((rule & 0x80) != 0) frame_pointer = words[static_cast<int8_t>(rule >> 8)];
        address = words[-1];
        stack = caller;
    }
    return count;
}

#else

bool prepare_frame_rules(void*, void* (*)(void*, const char*)) {
    return false;
}

int walk_by_rules(ThreadState&, const uint64_t*, void**, int) {
    return -1;
}

#endif

}  // namespace memsnap::recorder
