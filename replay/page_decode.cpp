// SPDX-License-Identifier: Apache-2.0
//
// Codes back to numbers, a column at a time.
#include "page_decode.h"

#include <fmt/format.h>
#include <rapidjson/document.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>

namespace memsnap {
namespace {

using rapidjson::Value;

class Codes {
  public:
    explicit Codes(std::string_view bytes) : bytes_(bytes) {}

    bool ended() const { return at_ == bytes_.size(); }
    bool failed() const { return failed_; }
    uint64_t next() {
        uint64_t code = 0;
        for (unsigned shift = 0; shift < 64; shift += 7) {
            if (ended()) break;
            const auto byte = static_cast<unsigned char>(bytes_[at_++]);
            code |= uint64_t{byte & 0x7fU} << shift;
            if (byte < 0x80) return code;
        }
        failed_ = true;
        return 0;
    }

  private:
    std::string_view bytes_;
    size_t at_ = 0;
    bool failed_ = false;
};

Wide unzigzag(uint64_t code) {
    return (code & 1) == 0 ? Wide{code / 2} : -Wide{code / 2} - 1;
}

std::string_view text_of(const Value& value) {
    return {value.GetString(), value.GetStringLength()};
}

const Value* member(const Value& object, const char* name) {
    const auto found = object.FindMember(name);
    return found == object.MemberEnd() ? nullptr : &found->value;
}

class Decoder {
  public:
    Decoder(std::string_view table, DecodedRows& rows) : table_(table), rows_(rows) {}

    DecodedTable run() {
        if (!read_head()) return refused("has no head");
        for (const Value& column : head_["columns"].GetArray()) {
            if (!read_column(column)) return refused(fmt::format("column {}", out_.sums.size() + 1));
        }
        if (!table_.empty()) return refused("is longer than its columns");
        take_large();
        take_words();
        return std::move(out_);
    }

  private:
    using Column = std::vector<std::optional<Wide>>;

    DecodedTable refused(std::string problem) {
        out_.problem = std::move(problem);
        return std::move(out_);
    }

    bool read_head() {
        if (table_.size() < 4) return false;
        size_t head_bytes = 0;
        for (size_t at = 0; at < 4; ++at)
            head_bytes |= static_cast<size_t>(static_cast<unsigned char>(table_[at])) << (8 * at);
        table_.remove_prefix(4);
        if (head_bytes > table_.size()) return false;
        head_.Parse(table_.data(), head_bytes);
        table_.remove_prefix(head_bytes);
        if (head_.HasParseError() || !head_.IsObject()) return false;
        const Value* const rows = member(head_, "rows");
        const Value* const columns = member(head_, "columns");
        if (rows == nullptr || !rows->IsUint64() || columns == nullptr || !columns->IsArray()) return false;
        out_.row_count = rows->GetUint64();
        return true;
    }

    bool read_column(const Value& shape) {
        const Value* const name = member(shape, "name");
        const Value* const coding = member(shape, "coding");
        const Value* const type = member(shape, "type");
        const Value* const bytes = member(shape, "bytes");
        if (name == nullptr || coding == nullptr || type == nullptr || bytes == nullptr ||
            bytes->GetUint64() > table_.size())
            return false;
        Codes codes(table_.substr(0, bytes->GetUint64()));
        table_.remove_prefix(bytes->GetUint64());
        Column values(out_.row_count);
        const bool whole = text_of(*coding) == "sparse" ? sparse(codes, values)
                           : text_of(*coding) == "runs" ? runs(codes, values)
                                                        : every(codes, text_of(*coding), values);
        if (!whole || codes.failed() || !codes.ended()) return false;
        out_.columns.push_back(fmt::format("{} {} {}", text_of(*name), text_of(*coding), text_of(*type)));
        ColumnSum& sum = out_.sums.emplace_back();
        for (size_t row = 0; row < values.size(); ++row) {
            if (values[row]) sum.take(row, *values[row]);
        }
        places_[std::string(text_of(*name))] = out_.sums.size() - 1;
        remember(text_of(*name), values);
        return true;
    }

    static bool sparse(Codes& codes, Column& values) {
        for (uint64_t row = 0; !codes.ended(); ++row) {
            row += codes.next();
            if (row >= values.size()) return false;
            values[row] = unzigzag(codes.next());
        }
        return true;
    }

    static bool runs(Codes& codes, Column& values) {
        uint64_t row = 0;
        while (!codes.ended()) {
            const uint64_t end = row + codes.next();
            const uint64_t code = codes.next();
            if (end > values.size()) return false;
            for (; row < end; ++row) {
                if (code != 0) values[row] = Wide{code} - 1;
            }
        }
        return row == values.size();
    }

    bool every(Codes& codes, std::string_view coding, Column& values) {
        std::array<Wide, kDeviceCapacity + 1> last = {};  // by device, or of the column
        const bool back = coding == "back", born = coding == "born", moved = coding == "moved",
                   freed = coding == "freed", based = coding == "based";
        const bool by_device = coding == "device" || moved || freed;
        const size_t count = values.size();
        const bool rows_known = (!back || rows_.tickets.size() == count) &&
                                (!born || rows_.born_at_row.size() == count) &&
                                (!by_device || rows_.devices.size() == count) &&
                                ((!moved && !freed) || rows_.moved_bytes.size() == count) &&
                                (!based || (segments_.size() == count && offsets_.size() == count));
        if (!rows_known) return false;
        for (size_t row = 0; row < values.size(); ++row) {
            const uint64_t code = codes.next();
            if (code == 0) continue;
            Wide value = 0;
            if (coding == "plain") {
                value = Wide{code} - 1;
            } else if (back) {
                if (rows_.tickets[row] == DecodedRows::kNoTicketRead) return false;
                value = rows_.tickets[row] - (Wide{code} - 1);
            } else if (based) {
                Wide& base = bases_[segments_[row]];
                base += unzigzag(code - 1);
                value = base + offsets_[row];
            } else {
                Wide& column_last = last[by_device ? static_cast<size_t>(rows_.devices[row] + 1) : 0];
                Wide before = column_last;
                if (born && values[rows_.born_at_row[row]]) before = *values[rows_.born_at_row[row]];
                value = before + unzigzag(code - 1) +
                        (moved   ? rows_.moved_bytes[row]
                         : freed ? -rows_.moved_bytes[row]
                                 : 0);
                column_last = value;
            }
            values[row] = value;
        }
        return true;
    }

    // What later columns look at.
    void remember(std::string_view name, const Column& values) {
        if (name == "ticket") {
            rows_.tickets.clear();
            for (const auto& value : values)
                rows_.tickets.push_back(value ? static_cast<uint64_t>(*value) : DecodedRows::kNoTicketRead);
        } else if (name == "device") {
            rows_.devices.clear();
            for (const auto& value : values)
                rows_.devices.push_back(static_cast<int>(value.value_or(-1)));
        } else if (name == "segment") {
            segments_.clear();
            for (const auto& value : values)
                segments_.push_back(static_cast<uint64_t>(value.value_or(0)));
        } else if (name == "offset_bytes") {
            offsets_.clear();
            for (const auto& value : values)
                offsets_.push_back(value.value_or(0));
        } else if (name == "kind") {
            kinds_.clear();
            for (const auto& value : values)
                kinds_.push_back(word("kind", value));
        } else if (name == "allocation" && rows_.tickets.size() == values.size()) {
            rows_.born_at_row.clear();
            for (size_t row = 0; row < values.size(); ++row)
                rows_.born_at_row.push_back(birth_row(row, values[row]));
        } else if (name == "size_bytes" && kinds_.size() == values.size()) {
            rows_.moved_bytes.clear();
            for (size_t row = 0; row < values.size(); ++row) {
                const bool born = kinds_[row] == "block_alloc" || kinds_[row] == "initial";
                const Wide size = values[row].value_or(0);
                rows_.moved_bytes.push_back(born ? size : kinds_[row] == "block_free" ? -size : 0);
            }
        }
    }

    uint64_t birth_row(size_t row, const std::optional<Wide>& birth) const {
        if (!birth) return row;
        const auto found =
            std::lower_bound(rows_.tickets.begin(), rows_.tickets.begin() + static_cast<std::ptrdiff_t>(row),
                             static_cast<uint64_t>(*birth));
        const auto at = static_cast<uint64_t>(found - rows_.tickets.begin());
        return at < row && rows_.tickets[at] == *birth ? at : row;
    }

    std::string_view word(const char* list, const std::optional<Wide>& index) const {
        const Value* const words = member(head_, "words");
        const Value* const of_list = words == nullptr ? nullptr : member(*words, list);
        if (!index || of_list == nullptr || *index >= of_list->Size()) return {};
        return text_of((*of_list)[static_cast<rapidjson::SizeType>(*index)]);
    }

    void take_large() {
        const Value* const large = member(head_, "large");
        if (large == nullptr) return;
        for (const auto& [name, list] : large->GetObject()) {
            ColumnSum& sum = out_.sums[places_[std::string(text_of(name))]];
            for (const Value& pair : list.GetArray()) {
                Wide value = 0;
                std::string_view digits = text_of(pair[1]);
                const bool negative = digits.starts_with('-');
                for (const char digit : digits.substr(negative ? 1 : 0))
                    value = value * 10 + (digit - '0');
                sum.take(pair[0].GetUint64(), negative ? -value : value);
                out_.texts.emplace_back(digits);
            }
        }
    }

    void take_words() {
        const Value* const words = member(head_, "words");
        if (words == nullptr) return;
        for (const auto& [type, list] : words->GetObject()) {
            for (const Value& one : list.GetArray())
                out_.texts.emplace_back(text_of(one));
        }
    }

    std::string_view table_;
    DecodedRows& rows_;
    rapidjson::Document head_;
    std::vector<std::string_view> kinds_;
    std::vector<uint64_t> segments_;
    std::vector<Wide> offsets_;
    std::map<uint64_t, Wide> bases_;  // by segment
    std::map<std::string, size_t> places_;
    DecodedTable out_;
};

}  // namespace

DecodedTable decode_table(std::string_view table, DecodedRows& rows) {
    return Decoder(table, rows).run();
}

}  // namespace memsnap
