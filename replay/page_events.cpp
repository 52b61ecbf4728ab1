// SPDX-License-Identifier: Apache-2.0
//
// The choice of the range, and its rows.
#include "page_events.h"

#include <algorithm>
#include <iterator>

#include "ledger_row.h"
#include "page_begin.h"
#include "page_places.h"
#include "page_words.h"
#include "replay.h"
#include "window_builder.h"

namespace memsnap {
namespace {

constexpr uint64_t kPartBehindFailure = 8;
constexpr uint64_t kPassed_most = 16;

struct LedgerColumn {
    PageColumn shape;
    Column source;
};

// clang-format off
constexpr LedgerColumn kObserved[] = {
    {{"ticket", Coding::delta}, Column::ticket},
    {{"kind", Coding::plain, PageType::kind}, Column::kind},
    {{"device", Coding::runs}, Column::device},
    {{"allocation", Coding::back}, Column::allocation},
    {{"size_bytes", Coding::born}, Column::size_bytes},
    {{"op", Coding::runs, PageType::op}, Column::op},
    {{"thread", Coding::runs}, Column::thread},
    {{"library", Coding::runs}, Column::library},
    {{"object", Coding::runs, PageType::object}, Column::object},
    {{"segment", Coding::born}, Column::segment},
    {{"offset_bytes", Coding::born}, Column::offset_bytes},
    {{"value", Coding::sparse}, Column::value},
    {{"dimension", Coding::sparse}, Column::dimension},
    {{"site", Coding::born}, Column::site},
    {{"phase", Coding::runs}, Column::phase},
    {{"step", Coding::runs}, Column::step},
    {{"code", Coding::runs}, Column::code},
    {{"cause", Coding::sparse}, Column::cause},
    {{"allocated_bytes", Coding::moved}, Column::allocated_bytes},
    {{"reserved_bytes", Coding::device}, Column::reserved_bytes},
    {{"device_total_bytes", Coding::sparse}, Column::device_total_bytes},
    {{"device_free_bytes", Coding::sparse}, Column::device_free_bytes},
    {{"others_bytes", Coding::sparse}, Column::others_bytes},
};
constexpr PageColumn kOwn[] = {
    {"flags", Coding::runs},    {"place_bytes", Coding::based}, {"memory", Coding::sparse},
    {"stream", Coding::sparse}, {"pool", Coding::sparse},      {"time_ns", Coding::delta},
};
constexpr LedgerColumn kDerived[] = {
    {{"active_bytes", Coding::moved}, Column::active_bytes},
    {{"deferred_bytes", Coding::device}, Column::deferred_bytes},
    {{"segment_bytes", Coding::device}, Column::segment_bytes},
    {{"free_bytes", Coding::freed}, Column::free_bytes},
    {{"outside_bytes", Coding::sparse}, Column::outside_bytes},
    {{"held_bytes", Coding::device}, Column::held_bytes},
    {{"own_outside_bytes", Coding::device}, Column::own_outside_bytes},
    {{"other_processes_bytes", Coding::device}, Column::other_processes_bytes},
    {{"unattributed_bytes", Coding::device}, Column::unattributed_bytes},
    {{"expected_free_bytes", Coding::device}, Column::expected_free_bytes},
    {{"parameter_bytes", Coding::device}, Column::parameter_bytes},
    {{"gradient_bytes", Coding::device}, Column::gradient_bytes},
    {{"optimizer_state_bytes", Coding::device}, Column::optimizer_state_bytes},
    {{"buffer_bytes", Coding::device}, Column::buffer_bytes},
    {{"input_bytes", Coding::device}, Column::input_bytes},
    {{"activation_bytes", Coding::device}, Column::activation_bytes},
};
// clang-format on

std::vector<PageColumn> shapes_of(std::span<const LedgerColumn> columns, std::span<const PageColumn> more) {
    std::vector<PageColumn> shapes;
    for (const LedgerColumn& column : columns)
        shapes.push_back(column.shape);
    shapes.insert(shapes.end(), more.begin(), more.end());
    return shapes;
}

PageCell cell_of(const LedgerRow& row, const LedgerColumn& column) {
    if (!row.has(column.source)) return {};
    const uint64_t value = row.value(column.source);
    switch (kCsvColumns[static_cast<size_t>(column.source)].type) {
        case CellType::number:
        case CellType::flag:
            return value;
        case CellType::integer:
            return static_cast<int64_t>(value);
        case CellType::kind:
            return word_index(static_cast<Kind>(value));
        case CellType::op:
            return word_index(static_cast<Op>(value));
        case CellType::object:
            return word_index(static_cast<Object>(value));
    }
    return {};
}

// Behind it a call, or a free that the torch tap told of, may be half told.
bool leaves_more_to_tell(Kind kind) {
    return kind == Kind::try_call || kind == Kind::fail || kind == Kind::free || kind == Kind::tap_alloc ||
           kind == Kind::tap_free_requested || kind == Kind::tap_free_completed;
}

bool tells_pool(Kind kind) {
    return kind == Kind::tap_segment_alloc || kind == Kind::tap_segment_map || kind == Kind::tap_oom;
}

class TableMaker {
  public:
    TableMaker(const Capture& capture, const Window& window, const Analysis& analysis,
               const ExactRange& range)
        : capture_(capture),
          window_(window),
          range_(range),
          places_(window),
          rows_(window, analysis),
          events_(shapes_of(kObserved, kOwn), {kind_words(), op_words(), object_words()}),
          derived_(shapes_of(kDerived, {}), {}) {
        event_cells_.resize(std::size(kObserved) + std::size(kOwn));
        derived_cells_.resize(std::size(kDerived));
    }

    Result<PageTables> make() {
        Ledger ledger(window_);
        if (!range_.before_ticket) begin_.take(ledger, rows_, numbers_, false);
        if (auto outcome = replay(capture_, window_, ledger, *this); !outcome)
            return failure(std::move(outcome.error()));
        PageTables tables;
        tables.begin = made(begin_.table(rows_, places_));
        tables.events = made(std::move(events_));
        tables.derived = made(std::move(derived_));
        tables.numbers = rows_.numbers();
        return tables;
    }

    void operator()(const Event& event, const Ledger& ledger, const Change& change) {
        if (!first_ns_) first_ns_ = capture_.monotonic_ns(event.time_counter);
        const LedgerRow& row = rows_.take(event, ledger, change);
        if (event.ticket >= range_.first_ticket && event.ticket < range_.end_ticket) add(event, ledger, row);
        if (event.ticket == range_.before_ticket) begin_.take(ledger, rows_, numbers_, true);
    }

  private:
    // What the window says happened with a row's bytes of live blocks.
    static Wide moved_bytes(const Event& event, const LedgerRow& row) {
        const bool born = event.kind == Kind::block_alloc || event.kind == Kind::initial;
        if (!born && event.kind != Kind::block_free) return 0;
        const Wide size = row.has(Column::size_bytes) ? Wide{row.value(Column::size_bytes)} : 0;
        if (size > kPageNumber_most) return 0;
        return born ? size : -size;
    }

    // Where the table's columns hold both the birth and what it is told by.
    std::optional<uint64_t> row_of(const Event& event, const LedgerRow& row) const {
        if (!row.has(Column::allocation) || event.ticket > kPageNumber_most) return std::nullopt;
        const uint64_t birth = row.value(Column::allocation);
        if (birth > event.ticket) return std::nullopt;
        const auto found = std::ranges::lower_bound(tickets_, birth);
        if (found == tickets_.end() || *found != birth) return std::nullopt;
        return static_cast<uint64_t>(found - tickets_.begin());
    }

    PageCell time_of(const Event& event) const {
        const auto at_ns = capture_.monotonic_ns(event.time_counter);
        return at_ns && first_ns_ ? PageCell(Wide{*at_ns} - *first_ns_) : PageCell{};
    }

    void add(const Event& event, const Ledger& ledger, const LedgerRow& row) {
        const Wide offset = row.has(Column::offset_bytes) ? Wide{row.value(Column::offset_bytes)} : 0;
        const PageRow facts{.ticket = event.ticket,
                            .device = event.device,
                            .moved_bytes = moved_bytes(event, row),
                            .segment = row.has(Column::segment) ? row.value(Column::segment) : 0,
                            .offset_bytes = offset > kPageNumber_most ? 0 : offset,
                            .born_at_row = row_of(event, row)};
        auto cell = event_cells_.begin();
        for (const LedgerColumn& column : kObserved)
            *cell++ = cell_of(row, column);
        *cell++ = page_flags(event.flags);
        *cell++ = row.address ? PageCell(places_.of(*row.address)) : PageCell{};
        *cell++ = memory_of(event, ledger);
        const bool pooled = tells_pool(event.kind);
        *cell++ = pooled ? numbers_.stream(event.stream()) : PageCell{};
        *cell++ = pooled ? numbers_.pool(event.pool()) : PageCell{};
        *cell++ = time_of(event);
        events_.add(facts, event_cells_);
        cell = derived_cells_.begin();
        for (const LedgerColumn& column : kDerived)
            *cell++ = cell_of(row, column);
        derived_.add(facts, derived_cells_);
        tickets_.push_back(event.ticket);
    }

    static PageCell memory_of(const Event& event, const Ledger& ledger) {
        if (event.kind != Kind::ok || !is_birth(event)) return {};
        const PhysicalMemory* const memory = ledger.memory_behind(event.ticket);
        return memory == nullptr || memory->birth_ticket == kNoTicket ? PageCell{}
                                                                      : PageCell(memory->birth_ticket);
    }

    const Capture& capture_;
    const Window& window_;
    const ExactRange& range_;
    const PagePlaces places_;
    LedgerRows rows_;
    PageTable events_, derived_;
    PageBegin begin_;
    TapNumbers numbers_;
    std::vector<PageCell> event_cells_, derived_cells_;
    std::vector<uint64_t> tickets_;  // of the rows
    std::optional<uint64_t> first_ns_;
};

// A few events later, where that is possible before `end_ticket`.
void begin_between_calls(const EventStream& events, uint64_t end_ticket, ExactRange& range) {
    uint64_t before_ticket = *range.before_ticket, passed_count = 0;
    for (uint64_t ticket = range.first_ticket; leaves_more_to_tell(events.kind(before_ticket)); ++ticket) {
        if (ticket + 1 >= end_ticket || passed_count == kPassed_most) return;
        if (!events.accepted(ticket)) continue;
        before_ticket = ticket;
        ++passed_count;
    }
    range.before_ticket = before_ticket;
    range.first_ticket = std::max(range.first_ticket, before_ticket + 1);
}

}  // namespace

MadeTable made(PageTable table) {
    std::string bytes = table.finish();
    return {std::move(bytes), table.row_count(), table.columns(), table.sums()};
}

ExactRange exact_range(const Window& window, std::optional<uint64_t> failure_ticket, uint64_t events_most) {
    const EventStream& events = window.events;
    const auto count = [&](uint64_t from, uint64_t to) {
        uint64_t accepted_count = 0;
        for (uint64_t ticket = from; ticket < to; ++ticket)
            accepted_count += events.accepted(ticket) ? 1 : 0;
        return accepted_count;
    };
    ExactRange range{events.begin_ticket(), events.end_ticket(), 0, std::nullopt};
    range.event_count = count(range.first_ticket, range.end_ticket);
    if (range.event_count <= events_most) return range;

    const bool placed =
        failure_ticket && *failure_ticket >= range.first_ticket && *failure_ticket < range.end_ticket;
    const uint64_t split = placed ? *failure_ticket + 1 : range.end_ticket;
    const uint64_t before_count = count(range.first_ticket, split);
    const uint64_t behind_count = range.event_count - before_count;
    const uint64_t kept_before =
        std::min(before_count, events_most - std::min(behind_count, events_most / kPartBehindFailure));
    uint64_t kept_behind = events_most - kept_before;
    uint64_t skipped_count = before_count - kept_before;

    range.end_ticket = split;
    for (; kept_behind != 0 && range.end_ticket < events.end_ticket(); ++range.end_ticket)
        kept_behind -= events.accepted(range.end_ticket) ? 1 : 0;
    for (; skipped_count != 0; ++range.first_ticket) {
        if (!events.accepted(range.first_ticket)) continue;
        range.before_ticket = range.first_ticket;
        --skipped_count;
    }
    if (range.before_ticket) begin_between_calls(events, split, range);
    range.event_count = count(range.first_ticket, range.end_ticket);
    return range;
}

Result<PageTables> page_tables(const Capture& capture, const Window& window, const Analysis& analysis,
                               const ExactRange& range) {
    return TableMaker(capture, window, analysis, range).make();
}

}  // namespace memsnap
