// SPDX-License-Identifier: Apache-2.0
//
// The building blocks of the description of a receipt.
#pragma once

#include "event.h"
#include "receipt_shape.h"

namespace memsnap::shape {

using Members = std::vector<Member>;

inline constexpr Wide kMost = UINT64_MAX;  // of bytes, tickets and counts

inline ReceiptShape plain(ReceiptShape::Type type) {
    ReceiptShape shape;
    shape.type = type;
    return shape;
}

inline ReceiptShape object(Members members) {
    ReceiptShape shape = plain(ReceiptShape::Type::object);
    shape.members = std::move(members);
    return shape;
}

inline ReceiptShape of(ReceiptShape::Type type, ReceiptShape item) {
    ReceiptShape shape = plain(type);
    shape.items.push_back(std::move(item));
    return shape;
}

inline ReceiptShape list(ReceiptShape item) {
    return of(ReceiptShape::Type::list, std::move(item));
}

inline ReceiptShape keyed(Words keys, ReceiptShape item) {
    ReceiptShape shape = of(ReceiptShape::Type::keyed, std::move(item));
    shape.words = keys;
    return shape;
}

inline ReceiptShape table(Vocabulary columns, std::vector<ReceiptShape> cells) {
    ReceiptShape shape = plain(ReceiptShape::Type::table);
    shape.words = words(columns);
    shape.items = std::move(cells);
    return shape;
}

inline ReceiptShape between(Wide least, Wide most) {
    ReceiptShape shape = plain(ReceiptShape::Type::integer);
    shape.least = least;
    shape.most = most;
    return shape;
}

// Bytes, tickets, counts.
inline ReceiptShape number() {
    return between(0, kMost);
}

// A difference of a few numbers, or a sum of many.
inline ReceiptShape wide() {
    return between(-(Wide{1} << 100), Wide{1} << 100);
}

inline ReceiptShape word(Vocabulary vocabulary) {
    ReceiptShape shape = plain(ReceiptShape::Type::word);
    shape.words = words(vocabulary);
    return shape;
}

inline ReceiptShape token_of(std::string_view prefix) {
    ReceiptShape shape = plain(ReceiptShape::Type::token);
    shape.prefix = prefix;
    return shape;
}

inline ReceiptShape boolean() {
    return plain(ReceiptShape::Type::boolean);
}

inline ReceiptShape or_null(ReceiptShape shape) {
    shape.nullable = true;
    return shape;
}

inline ReceiptShape device() {
    return between(0, kDeviceCapacity - 1);
}

// Of a record that need not know its device.
inline ReceiptShape device_or_none() {
    return between(-1, kDeviceCapacity - 1);
}

inline ReceiptShape uint32() {
    return between(0, UINT32_MAX);
}

inline ReceiptShape int32() {
    return between(INT32_MIN, INT32_MAX);
}

// One member for each name, all of one shape.
inline Members each(Words names, const ReceiptShape& shape) {
    Members members;
    for (const std::string_view name : names)
        members.push_back({name, shape});
    return members;
}
inline Members each(std::initializer_list<std::string_view> names, const ReceiptShape& shape) {
    return each(Words(names.begin(), names.size()), shape);
}

inline Members joined(Members first, Members second) {
    first.insert(first.end(), second.begin(), second.end());
    return first;
}

// Part of the whole.
ReceiptShape evidence();

}  // namespace memsnap::shape
