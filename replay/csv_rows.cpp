// SPDX-License-Identifier: Apache-2.0
//
// Rows as lines of text.
#include "csv_rows.h"

#include <fmt/format.h>

#include "ledger_row.h"
#include "replay.h"

namespace memsnap {
namespace {

constexpr size_t kChunk_bytes = 65536;

class LineWriter {
  public:
    LineWriter(const Window& window, const Analysis& analysis, const LineSink& sink)
        : rows_(window, analysis), sink_(sink) {
        chunk_ = csv_header();
    }

    void operator()(const Event& event, const Ledger& ledger, const Change& change) {
        if (!open_) return;
        write(rows_.take(event, ledger, change));
        if (chunk_.size() >= kChunk_bytes) flush();
    }

    bool finish() {
        flush();
        return open_;
    }

  private:
    void write(const LedgerRow& row) {
        for (size_t at = 0; at < kCsvColumnCount; ++at) {
            if (at != 0) chunk_.push_back(',');
            if (row.has(static_cast<Column>(at))) write_cell(kCsvColumns[at].type, row.values[at]);
        }
        chunk_.push_back('\n');
    }

    void write_cell(CellType type, uint64_t value) {
        switch (type) {
            case CellType::number:
            case CellType::flag:
                return write_number(fmt::format_int(value));
            case CellType::integer:
                return write_number(fmt::format_int(static_cast<int64_t>(value)));
            case CellType::kind:
                chunk_ += name(static_cast<Kind>(value));
                return;
            case CellType::op:
                chunk_ += name(static_cast<Op>(value));
                return;
            case CellType::object:
                chunk_ += name(static_cast<Object>(value));
                return;
        }
    }

    void write_number(const fmt::format_int& number) { chunk_.append(number.data(), number.size()); }

    void flush() {
        if (open_ && !chunk_.empty()) open_ = sink_(chunk_);
        chunk_.clear();
    }

    LedgerRows rows_;
    const LineSink& sink_;
    std::string chunk_;
    bool open_ = true;
};

}  // namespace

std::string csv_header() {
    std::string line;
    for (const CsvColumn& column : kCsvColumns) {
        if (!line.empty()) line.push_back(',');
        line += column.name;
    }
    line.push_back('\n');
    return line;
}

Result<bool> write_rows(const Capture& capture, const Analysis& analysis, const LineSink& sink) {
    LineWriter writer(capture.window, analysis, sink);
    Ledger ledger(capture.window);
    if (auto outcome = replay(capture, capture.window, ledger, writer); !outcome)
        return failure(std::move(outcome.error()));
    return writer.finish();
}

}  // namespace memsnap
