// SPDX-License-Identifier: Apache-2.0
//
// Codes of rows, and the head before them.
#include "page_table.h"

#include <fmt/format.h>

#include "json.h"

namespace memsnap {
namespace {

constexpr int64_t kNoValue = INT64_MIN;

uint64_t zigzag(Wide x) {
    return static_cast<uint64_t>(x >= 0 ? 2 * x : -2 * x - 1);
}

size_t device_slot(int device) {
    return static_cast<size_t>(device + 1);
}

}  // namespace

std::string_view name(Coding coding) {
    constexpr std::string_view kNames[] = {"plain", "delta", "device", "sparse", "runs",
                                           "back",  "born",  "moved",  "freed",  "based"};
    return kNames[static_cast<size_t>(coding)];
}

std::string_view name(PageType type) {
    constexpr std::string_view kNames[] = {"number", "flag",  "kind",     "op",
                                           "object", "state", "category", "segment_kind"};
    return kNames[static_cast<size_t>(type)];
}

void ColumnSum::take(uint64_t row, Wide value) {
    ++filled_count;
    sum += value;
    mixed += (static_cast<uint64_t>(value) ^ row * 0x9E3779B97F4A7C15ULL) * 0xBF58476D1CE4E5B9ULL;
}

void ColumnCoder::put(uint64_t code) {
    for (; code >= 0x80; code >>= 7)
        bytes_.push_back(static_cast<char>(code | 0x80));
    bytes_.push_back(static_cast<char>(code));
}

void ColumnCoder::run_of(uint64_t code) {
    if (run_count_ != 0 && code != run_code_) {
        put(run_count_);
        put(run_code_);
        run_count_ = 0;
    }
    run_code_ = code;
    ++run_count_;
}

bool ColumnCoder::holds(const PageRow& facts, Wide value) const {
    switch (shape_.coding) {
        case Coding::plain:
        case Coding::runs:
            return value >= 0 && value <= kPageNumber_most;
        case Coding::back:
            return value >= 0 && value <= facts.ticket && facts.ticket <= kPageNumber_most;
        case Coding::delta:
        case Coding::device:
        case Coding::sparse:
        case Coding::born:
        case Coding::moved:
        case Coding::freed:
        case Coding::based:
            return value >= -kPageNumber_most && value <= kPageNumber_most;
    }
    return false;
}

// Of the birth where it can be read, else the value before.
Wide ColumnCoder::last_born(const PageRow& facts) const {
    const bool known = facts.born_at_row && rows_[*facts.born_at_row] != kNoValue;
    return known ? rows_[*facts.born_at_row] : last_[0];
}

// Codes what the row does not tell by itself.
void ColumnCoder::take_difference(const PageRow& facts, int64_t value) {
    int64_t& last =
        last_[shape_.coding == Coding::delta || shape_.coding == Coding::born ? 0
                                                                              : device_slot(facts.device)];
    Wide expected = last;
    if (shape_.coding == Coding::born) expected = last_born(facts);
    if (shape_.coding == Coding::moved) expected += facts.moved_bytes;
    if (shape_.coding == Coding::freed) expected -= facts.moved_bytes;
    put(zigzag(value - expected) + 1);
    last = value;
}

void ColumnCoder::take(uint64_t row, const PageRow& facts, const PageCell& cell) {
    const bool held = cell.filled && holds(facts, cell.value);
    if (cell.filled) sum_.take(row, cell.value);
    if (cell.filled && !held) {
        if (!large_.empty()) large_.push_back(',');
        large_ += "[" + std::to_string(row) + ",\"" + to_decimal(cell.value) + "\"]";
    }
    if (shape_.coding == Coding::born) rows_.push_back(held ? static_cast<int64_t>(cell.value) : kNoValue);
    if (!held) {
        if (shape_.coding == Coding::runs) {
            run_of(0);
        } else if (shape_.coding != Coding::sparse) {
            put(0);
        }
        return;
    }
    const auto value = static_cast<int64_t>(cell.value);
    switch (shape_.coding) {
        case Coding::plain:
            put(static_cast<uint64_t>(value) + 1);
            return;
        case Coding::runs:
            run_of(static_cast<uint64_t>(value) + 1);
            return;
        case Coding::back:
            put(facts.ticket - static_cast<uint64_t>(value) + 1);
            return;
        case Coding::sparse:
            put(row - behind_row_);
            put(zigzag(value));
            behind_row_ = row + 1;
            return;
        case Coding::delta:
        case Coding::born:
        case Coding::device:
        case Coding::moved:
        case Coding::freed:
            return take_difference(facts, value);
        case Coding::based: {
            Wide& base = bases_[facts.segment];
            put(zigzag(value - facts.offset_bytes - base) + 1);
            base = value - facts.offset_bytes;
            return;
        }
    }
}

void ColumnCoder::finish() {
    if (run_count_ == 0) return;
    put(run_count_);
    put(run_code_);
    run_count_ = 0;
}

PageTable::PageTable(std::span<const PageColumn> columns, std::vector<PageWords> words)
    : words_(std::move(words)) {
    for (const PageColumn& column : columns)
        columns_.emplace_back(column);
}

void PageTable::add(const PageRow& facts, std::span<const PageCell> cells) {
    for (size_t at = 0; at < columns_.size(); ++at)
        columns_[at].take(row_count_, facts, cells[at]);
    ++row_count_;
}

std::string PageTable::head() const {
    Json::Array columns;
    Json::Object large, words;
    for (const ColumnCoder& column : columns_) {
        const PageColumn& shape = column.shape();
        columns.push_back(Json::Object{{"name", shape.name},
                                       {"coding", name(shape.coding)},
                                       {"type", name(shape.type)},
                                       {"bytes", uint64_t{column.bytes().size()}}});
        if (!column.large().empty()) large.emplace(shape.name, Json::canonical("[" + column.large() + "]"));
    }
    for (const PageWords& vocabulary : words_)
        words.emplace(name(vocabulary.type), Json::Array(vocabulary.list.begin(), vocabulary.list.end()));
    return Json(Json::Object{{"rows", row_count_},
                             {"columns", std::move(columns)},
                             {"large", std::move(large)},
                             {"words", std::move(words)}})
        .text();
}

std::string PageTable::finish() {
    for (ColumnCoder& column : columns_)
        column.finish();
    const std::string head = this->head();
    std::string table;
    for (size_t at = 0; at < 4; ++at)
        table.push_back(static_cast<char>(head.size() >> (8 * at) & 0xff));
    table += head;
    for (const ColumnCoder& column : columns_)
        table += column.bytes();
    return table;
}

std::vector<std::string> PageTable::columns() const {
    std::vector<std::string> texts;
    for (const ColumnCoder& column : columns_) {
        const PageColumn& shape = column.shape();
        texts.push_back(fmt::format("{} {} {}", shape.name, name(shape.coding), name(shape.type)));
    }
    return texts;
}

std::vector<ColumnSum> PageTable::sums() const {
    std::vector<ColumnSum> sums;
    for (const ColumnCoder& column : columns_)
        sums.push_back(column.sum());
    return sums;
}

}  // namespace memsnap
