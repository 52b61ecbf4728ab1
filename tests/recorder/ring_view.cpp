// SPDX-License-Identifier: Apache-2.0
#include "ring_view.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <set>

namespace memsnap::test {
namespace {

using wire::Kind;

uint32_t check_of(const wire::Record& record) {
    const auto* bytes = reinterpret_cast<const unsigned char*>(&record);
    return crc32c(bytes + 12, 52, crc32c(bytes, 8));
}

uint32_t check_of(const wire::LiveEntry& entry) {
    return crc32c(reinterpret_cast<const unsigned char*>(&entry) + 8, 52);
}

uint32_t check_of(const wire::Boundary& entry) {
    const auto* bytes = reinterpret_cast<const unsigned char*>(&entry);
    return crc32c(bytes + 36, 28, crc32c(bytes + 8, 24));
}

bool allocates(wire::Op op) {
    auto number = static_cast<uint32_t>(op);
    return (number >= 1 && number <= 20) || (number >= 96 && number <= 126);
}

std::string at(uint64_t ticket) {
    return " (ticket " + std::to_string(ticket) + ")";
}

}  // namespace

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) static uint32_t crc32c_instruction(const unsigned char* bytes, size_t size,
                                                                     uint32_t state) {
    state = ~state;
    for (; size >= 4; size -= 4, bytes += 4) {
        uint32_t word = 0;
        std::memcpy(&word, bytes, 4);
        state = __builtin_ia32_crc32si(state, word);
    }
    return ~state;
}
#endif

uint32_t crc32c(const unsigned char* bytes, size_t size, uint32_t state) {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("sse4.2")) return crc32c_instruction(bytes, size, state);
#endif
    static const auto table = [] {
        std::vector<uint32_t> entries(256);
        for (uint32_t i = 0; i < 256; ++i) {
            uint32_t value = i;
            for (int bit = 0; bit < 8; ++bit) {
                value = (value & 1) != 0 ? (value >> 1) ^ 0x82f63b78 : value >> 1;
            }
            entries[i] = value;
        }
        return entries;
    }();
    state = ~state;
    for (size_t i = 0; i < size; ++i) {
        state = table[(state ^ bytes[i]) & 0xff] ^ (state >> 8);
    }
    return ~state;
}

Effect effect_of(const wire::Record& record) {
    if (record.kind == Kind::block_alloc || record.kind == Kind::initial ||
        record.kind == Kind::initial_segment)
        return Effect::birth;
    if (record.kind == Kind::ok && allocates(record.op) && record.address != 0) return Effect::birth;
    if (record.kind == Kind::block_free || record.kind == Kind::free) return Effect::death;
    if (record.kind == Kind::free_fail) return Effect::death_undone;
    return Effect::none;
}

RingView::RingView(const unsigned char* bytes, size_t size) : bytes_(bytes), size_(size) {
    if (!unreadable().empty()) return;
    const auto* slots = reinterpret_cast<const wire::Record*>(area_begin(wire::AreaId::ring));
    uint64_t slot_count = capacity();
    oldest_ticket_ = find_oldest_ticket();
    for (uint64_t ticket = oldest_ticket(); ticket < end_ticket(); ++ticket) {
        const wire::Record& slot = slots[ticket % slot_count];
        if (slot.seq == 0) continue;
        if (slot.check != check_of(slot)) {
            torn_.push_back("slot " + std::to_string(ticket % slot_count) + " is torn");
        } else if (slot.seq == ticket + 1) {
            records_.push_back(slot);
        } else if ((slot.seq - 1) % slot_count != ticket % slot_count || slot.seq > head()) {
            torn_.push_back("slot " + std::to_string(ticket % slot_count) + " has a foreign ticket");
        }
    }
}

std::string RingView::unreadable() const {
    if (size_ < sizeof(wire::Header)) return "shorter than a header";
    if (std::memcmp(header().magic, wire::kMagic, sizeof wire::kMagic) != 0) return "no magic";
    if (header().version_major != wire::kVersionMajor) return "another version";
    if (header().byte_order != wire::kByteOrder) return "byte order";
    if (header().header_bytes != sizeof(wire::Header) || header().record_bytes != sizeof(wire::Record))
        return "sizes";
    if (header().file_bytes > size_) return "truncated";
    for (const wire::Area& one : header().areas) {
        if (one.offset_bytes % wire::kAreaAlignment_bytes != 0) return "unaligned area";
        if (one.offset_bytes + one.size_bytes > size_) return "area outside the file";
        if (uint64_t{one.entry_bytes} * one.entry_count > one.size_bytes) return "area too small";
    }
    return "";
}

bool RingView::waits_with_a_table() const {
    return area(wire::AreaId::keyframes).entry_count > wire::kDisarmedSlot;
}

bool RingView::is_closed() const {
    const uint64_t disarmed_at = header().disarmed_at;
    if (!waits_with_a_table() || disarmed_at == 0 || disarmed_at - 1 < header().armed_from) return false;
    const wire::Keyframe* state = keyframe(wire::kDisarmedSlot);
    return state != nullptr && state->end_ticket + 1 == disarmed_at;
}

uint64_t RingView::end_ticket() const {
    if (is_closed()) return header().disarmed_at - 1;
    bool open = capacity() != 0 && (!waits_with_a_table() || header().arm_state == wire::ArmState::recording);
    return open ? head() : header().armed_from;
}

uint64_t RingView::find_oldest_ticket() const {
    const uint64_t end = end_ticket();
    uint64_t oldest = header().armed_from;
    if (end > capacity() && end - capacity() > oldest) oldest = end - capacity();
    const auto* slots = reinterpret_cast<const wire::Record*>(area_begin(wire::AreaId::ring));
    // What hooks under way stored after the end took the places of older records.
    for (uint64_t i = 0; is_closed() && i < capacity(); ++i) {
        if (slots[i].seq > end && slots[i].seq - capacity() > oldest) oldest = slots[i].seq - capacity();
    }
    return oldest < end ? oldest : end;
}

const wire::Record* RingView::record(uint64_t ticket) const {
    const auto* slots = reinterpret_cast<const wire::Record*>(area_begin(wire::AreaId::ring));
    const wire::Record& slot = slots[ticket % capacity()];
    return slot.seq == ticket + 1 && slot.check == check_of(slot) ? &slot : nullptr;
}

const wire::PinnedDevice& RingView::pinned(uint32_t device) const {
    return reinterpret_cast<const wire::PinnedDevice*>(area_begin(wire::AreaId::pinned))[device];
}

const wire::Keyframe* RingView::keyframe(uint32_t slot) const {
    const auto* found = reinterpret_cast<const wire::Keyframe*>(
        area_begin(wire::AreaId::keyframes) + uint64_t{slot} * area(wire::AreaId::keyframes).entry_bytes);
    return found->begin != 0 && found->begin == found->end ? found : nullptr;
}

std::vector<wire::LiveEntry> RingView::keyframe_entries(uint32_t slot) const {
    const wire::Keyframe* found = keyframe(slot);
    if (found == nullptr) return {};
    const auto* begin = reinterpret_cast<const wire::LiveEntry*>(
        reinterpret_cast<const unsigned char*>(found) + found->table_offset_bytes);
    return {begin, begin + found->entry_count};
}

const wire::Library& RingView::library(uint32_t index) const {
    return reinterpret_cast<const wire::Library*>(area_begin(wire::AreaId::libraries))[index];
}

uint32_t RingView::live_entry_count() const {
    std::vector<std::string> broken;
    return static_cast<uint32_t>(table(broken).size());
}

std::vector<wire::LiveEntry> RingView::live_entries() const {
    const auto* entries = reinterpret_cast<const wire::LiveEntry*>(area_begin(wire::AreaId::table));
    std::vector<wire::LiveEntry> live;
    for (uint32_t i = 0; i < area(wire::AreaId::table).entry_count; ++i) {
        if ((entries[i].state & 1) != 0) live.push_back(entries[i]);
    }
    return live;
}

std::vector<wire::Boundary> RingView::boundaries() const {
    const auto* entries = reinterpret_cast<const wire::Boundary*>(area_begin(wire::AreaId::boundaries));
    std::vector<wire::Boundary> found;
    for (uint32_t i = 0; i < area(wire::AreaId::boundaries).entry_count; ++i) {
        if (entries[i].state != 0) found.push_back(entries[i]);
    }
    std::sort(found.begin(), found.end(), [](const wire::Boundary& a, const wire::Boundary& b) {
        return std::pair(a.ordinal, a.device) < std::pair(b.ordinal, b.device);
    });
    return found;
}

void RingView::check_boundaries(std::vector<std::string>& broken) const {
    std::vector<wire::Boundary> found = boundaries();
    for (size_t i = 0; i < found.size(); ++i) {
        if (found[i].check != check_of(found[i]))
            broken.push_back("boundary " + std::to_string(found[i].ordinal) + " has a wrong check");
        if (found[i].state > head()) broken.push_back("a boundary of the future" + at(found[i].state - 1));
        if (i != 0 && found[i].ordinal == found[i - 1].ordinal && found[i].device == found[i - 1].device)
            broken.push_back("two boundaries with ordinal " + std::to_string(found[i].ordinal));
    }
    if (found.size() > header().boundary_count) broken.push_back("more boundaries than places were used");
}

LiveSet RingView::table(std::vector<std::string>& broken) const {
    LiveSet live;
    const auto* entries = reinterpret_cast<const wire::LiveEntry*>(area_begin(wire::AreaId::table));
    uint32_t entry_count = area(wire::AreaId::table).entry_count;
    const std::vector<wire::LiveEntry> kept =
        is_closed() ? keyframe_entries(wire::kDisarmedSlot) : std::vector<wire::LiveEntry>{};
    if (is_closed()) {
        entries = kept.data();
        entry_count = static_cast<uint32_t>(kept.size());
    }
    for (uint32_t i = 0; i < entry_count; ++i) {
        const wire::LiveEntry& entry = entries[i];
        if ((entry.state & 1) == 0) continue;
        if (entry.check != check_of(entry)) {
            broken.push_back("live entry " + std::to_string(i) + " has a wrong check");
            continue;
        }
        LiveObject object{entry.address, entry.size, (entry.state >> 1) - 1};
        if (!live.emplace(entry.birth_ticket, object).second) {
            broken.push_back("two live entries with one birth" + at(entry.birth_ticket));
        }
    }
    return live;
}

LiveSet RingView::redone_table() const {
    std::vector<std::string> broken;
    LiveSet live = table(broken);
    std::map<uint64_t, uint64_t> last_death;
    for (const wire::Record& one : records()) {
        if (effect_of(one) == Effect::death) last_death[one.link] = one.seq - 1;
    }
    for (const wire::Record& one : records()) {
        uint64_t ticket = one.seq - 1;
        Effect effect = effect_of(one);
        uint64_t birth = effect == Effect::birth ? ticket : one.link;
        auto entry = live.find(birth);
        bool died_later = last_death.contains(birth) && last_death[birth] > ticket;
        if ((effect == Effect::birth || effect == Effect::death_undone) && birth != wire::kNoTicket &&
            entry == live.end() && !died_later) {
            live[birth] = LiveObject{one.address, one.size, ticket};
        }
        if (effect == Effect::death && entry != live.end() && entry->second.last_ticket < ticket)
            live.erase(entry);
    }
    return live;
}

void RingView::replay_window(const LiveSet& final_state, std::vector<std::string>& broken) const {
    const uint64_t first = header().armed_from;
    uint64_t begin = oldest_ticket() == first ? first : oldest_ticket() + capacity() / wire::kWindowDivisor;
    LiveSet live = final_state;
    std::vector<wire::Record> window;
    std::set<uint64_t> births;  // tickets, of the window and of the ring before it
    for (const wire::Record& one : records_) {
        if (effect_of(one) == Effect::birth) births.insert(births.end(), one.seq - 1);
        if (one.seq - 1 >= begin) window.push_back(one);
    }
    for (const wire::Record& one : window) {
        if (effect_of(one) != Effect::death || one.link == wire::kNoTicket) continue;
        bool beside = (one.flags & wire::kFlagBirthFollows) != 0;
        const wire::Record* copy = beside ? record(one.seq) : nullptr;
        if (copy != nullptr && copy->kind != Kind::birth)
            broken.push_back("no birth beside the free" + at(one.seq - 1));
        if (!beside && !births.contains(one.link))
            broken.push_back("a free without a birth" + at(one.seq - 1));
        live[one.link] = LiveObject{one.address, one.size, 0};
    }
    for (const wire::Record& one : window) {
        if (effect_of(one) == Effect::birth) live.erase(one.seq - 1);
    }
    if (begin == 0 && !waits_with_a_table() && !live.empty())
        broken.push_back("an object lived before the first record");
    for (const wire::Record& one : window) {
        Effect effect = effect_of(one);
        LiveObject object{one.address, one.size, 0};
        if (effect == Effect::birth) live[one.seq - 1] = object;
        if (one.link == wire::kNoTicket) continue;
        if (effect == Effect::death_undone) live[one.link] = object;
        if (effect == Effect::death && live.erase(one.link) == 0)
            broken.push_back("a free of a dead object" + at(one.seq - 1));
    }
    if (live != final_state) {
        broken.push_back("the window ends with " + std::to_string(live.size()) +
                         " live objects, the table with " + std::to_string(final_state.size()));
    }
}

std::vector<std::string> RingView::violations() const {
    std::string reason = unreadable();
    if (!reason.empty()) return {reason};
    std::vector<std::string> broken = torn_;
    table(broken);
    check_boundaries(broken);
    replay_window(redone_table(), broken);
    return broken;
}

std::vector<unsigned char> read_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace memsnap::test
