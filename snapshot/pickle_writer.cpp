// SPDX-License-Identifier: Apache-2.0
//
// Opcodes of the values, the shortest form of each.
#include "pickle_writer.h"

#include <bit>

namespace memsnap::snapshot {
namespace {

constexpr size_t kBuffer_bytes = 65536;
constexpr uint32_t kBatch_items_most = 1000;  // the viewer hands a batch to one call as its arguments

enum Opcode : uint8_t {
    kProto = 0x80,
    kMark = '(',
    kStop = '.',
    kNone = 'N',
    kTrue = 0x88,
    kFalse = 0x89,
    kInt = 'J',
    kInt1 = 'K',
    kInt2 = 'M',
    kLong1 = 0x8a,
    kFloat = 'G',
    kShortText = 0x8c,
    kText = 'X',
    kEmptyDictionary = '}',
    kSetItems = 'u',
    kEmptyList = ']',
    kAppends = 'e',
    kPair = 0x86,
    kMemoize = 0x94,
    kGet = 'h',
    kLongGet = 'j',
};

}  // namespace

PickleWriter::PickleWriter(ByteSink sink) : sink_(std::move(sink)) {
    byte(kProto);
    byte(4);
}

void PickleWriter::little_endian(uint64_t value, int bytes) {
    for (int at = 0; at < bytes; ++at)
        byte(static_cast<uint8_t>(value >> (8 * at)));
}

void PickleWriter::none() {
    byte(kNone);
}

void PickleWriter::boolean(bool value) {
    byte(value ? kTrue : kFalse);
}

void PickleWriter::number(uint64_t value) {
    if (value <= INT64_MAX) {
        signed_number(static_cast<int64_t>(value));
        return;
    }
    byte(kLong1);
    byte(9);
    little_endian(value, 8);
    byte(0);  // the sign
}

void PickleWriter::signed_number(int64_t value) {
    if (value >= 0 && value <= UINT8_MAX) {
        byte(kInt1);
        little_endian(static_cast<uint64_t>(value), 1);
    } else if (value >= 0 && value <= UINT16_MAX) {
        byte(kInt2);
        little_endian(static_cast<uint64_t>(value), 2);
    } else if (value >= INT32_MIN && value <= INT32_MAX) {
        byte(kInt);
        little_endian(static_cast<uint64_t>(value), 4);
    } else {
        int bytes = 5;
        while (bytes < 8 && (value >> (8 * bytes - 1)) != 0 && (value >> (8 * bytes - 1)) != -1)
            ++bytes;
        byte(kLong1);
        byte(static_cast<uint8_t>(bytes));
        little_endian(static_cast<uint64_t>(value), bytes);
    }
}

void PickleWriter::real(double value) {
    byte(kFloat);
    const auto bits = std::bit_cast<uint64_t>(value);
    for (int shift = 56; shift >= 0; shift -= 8)
        byte(static_cast<uint8_t>(bits >> shift));
}

void PickleWriter::text(std::string_view value) {
    if (const auto found = texts_.find(value); found != texts_.end()) {
        recall(found->second);
        return;
    }
    if (value.size() <= UINT8_MAX) {
        byte(kShortText);
        little_endian(value.size(), 1);
    } else {
        byte(kText);
        little_endian(value.size(), 4);
    }
    buffer_ += value;
    texts_.emplace(value, remember());
}

void PickleWriter::pair(uint64_t first, uint64_t second) {
    number(first);
    number(second);
    byte(kPair);
}

void PickleWriter::open_dictionary() {
    byte(kEmptyDictionary);
    byte(kMark);
}

void PickleWriter::close_dictionary() {
    byte(kSetItems);
    if (buffer_.size() >= kBuffer_bytes) flush();
}

void PickleWriter::open_list() {
    byte(kEmptyList);
    list_counts_.push_back(0);
}

void PickleWriter::item() {
    uint32_t& count = list_counts_.back();
    if (count == kBatch_items_most) {
        byte(kAppends);
        count = 0;
    }
    if (count++ == 0) byte(kMark);
}

void PickleWriter::close_list() {
    if (list_counts_.back() != 0) byte(kAppends);
    list_counts_.pop_back();
}

PickleWriter::Memo PickleWriter::remember() {
    byte(kMemoize);
    return memo_count_++;
}

void PickleWriter::recall(Memo memo) {
    if (memo <= UINT8_MAX) {
        byte(kGet);
        little_endian(memo, 1);
    } else {
        byte(kLongGet);
        little_endian(memo, 4);
    }
}

void PickleWriter::flush() {
    if (open_ && !buffer_.empty()) open_ = sink_(buffer_);
    buffer_.clear();
}

bool PickleWriter::finish() {
    byte(kStop);
    flush();
    return open_;
}

}  // namespace memsnap::snapshot
