// SPDX-License-Identifier: Apache-2.0
//
// Rows of the table `begin`, first as the ledger has them, then as the page may.
#include "page_begin.h"

#include <algorithm>
#include <tuple>

namespace memsnap {
namespace {

constexpr uint64_t kSmallBlock_bytes_most = uint64_t{1} << 20;

// clang-format off
constexpr PageColumn kColumns[] = {
    {"object", Coding::runs, PageType::object},  {"op", Coding::runs, PageType::op},
    {"allocation", Coding::delta},               {"device", Coding::runs},
    {"library", Coding::runs},                   {"place_bytes", Coding::delta},
    {"size_bytes", Coding::delta},               {"site", Coding::delta},
    {"phase", Coding::runs},                     {"step", Coding::delta},
    {"state", Coding::runs, PageType::state},    {"category", Coding::runs, PageType::category},
    {"from_torch", Coding::runs, PageType::flag}, {"flags", Coding::runs},
    {"segment_kind", Coding::runs, PageType::segment_kind},
    {"large", Coding::runs, PageType::flag},     {"stream", Coding::runs},
    {"pool", Coding::runs},                      {"memory", Coding::sparse},
    {"requested_bytes", Coding::sparse},
};
// clang-format on

}  // namespace

struct PageBegin::Row {
    BeginState state = BeginState::other;
    Object object = Object::none;
    Op op = Op::none;
    Category category = Category::none;
    int device = -1;
    uint16_t library = 0;
    uint16_t phase = 0;
    std::optional<uint64_t> allocation, address;
    PageCell size_bytes;
    SiteKey site;
    std::optional<uint32_t> step;
    std::optional<uint8_t> flags;
    std::optional<SegmentKind> segment_kind;
    bool large = false;
    std::optional<uint64_t> told_stream;  // as the tap told it
    uint16_t told_pool = kPoolUnknown;
    PageCell stream, pool, requested_bytes;
    std::optional<uint64_t> memory;
};

uint64_t page_flags(uint8_t event_flags) {
    const auto bit = [&](EventFlag flag, unsigned at) {
        return (event_flags & flag) != 0 ? uint64_t{1} << at : uint64_t{0};
    };
    return bit(kNested, 0) | bit(kCapturing, 1) | bit(kFromTorch, 2) | bit(kImported, 3) |
           bit(kUnavailable, 4);
}

namespace {

uint8_t flags_of(const PhysicalMemory& memory) {
    return static_cast<uint8_t>((memory.from_torch ? kFromTorch : 0) | (memory.imported ? kImported : 0));
}

std::optional<uint64_t> known(uint64_t ticket) {
    return ticket == kNoTicket ? std::nullopt : std::optional(ticket);
}

}  // namespace

PageBegin::PageBegin() = default;
PageBegin::~PageBegin() = default;

PageBegin::Row& PageBegin::add(BeginState state, int device) {
    Row& row = rows_.emplace_back();
    row.state = state;
    row.device = device;
    return row;
}

void PageBegin::take(const Ledger& ledger, const LedgerRows& rows, TapNumbers& numbers, bool inside) {
    if (inside) {
        if (ledger.tap_seen()) add(BeginState::tap, -1);
        for (int device = 0; device < kDeviceCapacity; ++device)
            take_told(ledger, rows, device);
    }
    take_memory(ledger);
    const auto first_object = static_cast<std::ptrdiff_t>(rows_.size());
    ledger.for_each_object([&](const DriverObject& object) { take_object(ledger, object); });
    take_blocks(ledger);
    const auto key = [](const Row& row) {
        const bool last = row.object == Object::block;
        return std::tuple(last, row.object, row.address.value_or(0), row.allocation.value_or(kNoTicket));
    };
    std::stable_sort(rows_.begin() + first_object, rows_.end(),
                     [&](const Row& a, const Row& b) { return key(a) < key(b); });
    for (Row& row : rows_) {
        if (!row.told_stream) continue;
        row.stream = numbers.stream(*row.told_stream);
        row.pool = numbers.pool(row.told_pool);
    }
}

void PageBegin::take_told(const Ledger& ledger, const LedgerRows& rows, int device) {
    const DeviceTotals& totals = ledger.device(device);
    if (totals.reported_reserved_bytes) {
        Row& report = add(BeginState::totals, device);
        report.size_bytes = *totals.reported_reserved_bytes;
        report.allocation = known(totals.report_ticket);
        add(BeginState::gap, device).size_bytes = totals.unseen_reserved_bytes;
    }
    const AnchorLog& log = rows.answers(device);
    if (const auto& answer = log.last()) {
        Row& row = add(BeginState::answer, device);
        row.size_bytes = answer->total_bytes;
        row.allocation = answer->ticket;
        add(BeginState::residual, device).size_bytes = answer->residual_bytes;
        if (answer->others_bytes) add(BeginState::others_then, device).size_bytes = *answer->others_bytes;
    }
    if (const auto others = log.others_bytes()) add(BeginState::others, device).size_bytes = *others;
    if (const uint64_t address = ledger.tap_requested_address(device))
        add(BeginState::free_requested, device).address = address;
    if (const uint64_t address = ledger.tap_completed_address(device))
        add(BeginState::free_completed, device).address = address;
}

void PageBegin::take_memory(const Ledger& ledger) {
    ledger.for_each_memory([&](const PhysicalMemory& memory) {
        if (!memory.lives()) return;
        Row& row = add(BeginState::memory, memory.device);
        row.allocation = known(memory.birth_ticket);
        row.size_bytes = memory.size_bytes;
        row.library = memory.library;
        row.flags = flags_of(memory);
    });
}

void PageBegin::take_object(const Ledger& ledger, const DriverObject& object) {
    Row& row = add(BeginState::other, object.device);
    row.object = object.object;
    row.op = object.op;
    row.allocation = known(object.birth_ticket);
    row.library = object.library;
    row.size_bytes = object.size_bytes;
    row.site.site = object.site;
    row.phase = object.phase;
    row.step = object.step;
    row.flags = object.flags;
    if (const PhysicalMemory* const memory = ledger.memory_behind(object.birth_ticket))
        row.memory = known(memory->birth_ticket);
    if (!is_region_class(object.object)) return;
    row.address = object.address;
    const Segment* const segment = object.imported() ? nullptr : ledger.segment_of(object.address);
    const bool is_of_it = segment != nullptr && (segment->kind == SegmentKind::expandable
                                                     ? object.object == Object::mapping
                                                     : segment->birth_ticket == object.birth_ticket);
    if (!is_of_it) return;
    switch (segment->state) {
        case SegmentState::foreign:
            row.state = BeginState::foreign;
            return;
        case SegmentState::candidate:
            row.state = BeginState::candidate;
            break;
        case SegmentState::segment:
            row.state = BeginState::segment;
            break;
        case SegmentState::direct:
            row.state = BeginState::direct;
            break;
    }
    row.segment_kind = segment->kind;
    row.large = segment->largest_block_bytes > kSmallBlock_bytes_most;
    if (!segment->tap_known) return;
    row.told_stream = segment->stream;
    row.told_pool = segment->pool;
}

void PageBegin::take_blocks(const Ledger& ledger) {
    for (int device = -1; device < kDeviceCapacity; ++device) {
        ledger.for_each_block(device, [&](const Block& block) {
            Row& row = add(BeginState::block, device);
            row.object = Object::block;
            row.allocation = known(block.birth_ticket);
            row.address = block.address;
            row.size_bytes = block.size_bytes;
            row.site = site_key(block.site, block.size_bytes);
            row.phase = block.phase;
            row.step = block.step;
            row.category = block.category;
            row.flags = uint8_t{0};
            if (block.told) row.requested_bytes = block.requested_bytes;
        });
    }
    for (const DeferredBlock& block : ledger.deferred()) {
        Row& row = add(BeginState::deferred, block.device);
        row.object = Object::block;
        row.address = block.address;
        row.size_bytes = block.size_bytes;
    }
}

PageTable PageBegin::table(LedgerRows& rows, const PagePlaces& places) const {
    PageTable table(
        kColumns, {object_words(), op_words(), category_words(), begin_state_words(), segment_kind_words()});
    for (const Row& row : rows_) {
        const bool lives = row.object != Object::none;
        const auto of_life = [&](uint64_t number) { return lives ? PageCell(number) : PageCell{}; };
        const auto place = row.address ? places.of(*row.address) : std::nullopt;
        const PageCell cells[] = {
            word_index(row.object),
            word_index(row.op),
            row.allocation,
            row.device < 0 ? PageCell{} : PageCell(row.device),
            lives || row.library != 0 ? PageCell(rows.library_ordinal(row.library)) : PageCell{},
            place,
            row.size_bytes,
            of_life(rows.site_ordinal(row.site)),
            of_life(rows.phase_ordinal(row.phase)),
            row.step,
            static_cast<uint64_t>(row.state),
            row.state == BeginState::block ? PageCell(word_index(row.category)) : PageCell{},
            row.flags ? PageCell(uint64_t{(*row.flags & kFromTorch) != 0}) : PageCell{},
            row.flags ? PageCell(page_flags(*row.flags)) : PageCell{},
            row.segment_kind ? PageCell(static_cast<uint64_t>(*row.segment_kind)) : PageCell{},
            row.segment_kind ? PageCell(uint64_t{row.large}) : PageCell{},
            row.stream,
            row.pool,
            row.memory,
            row.requested_bytes,
        };
        table.add({}, cells);
    }
    return table;
}

}  // namespace memsnap
